"""Other kinds of worlds: agents equal an enumeration of everything, and no wrong one passes the battery."""

from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations, product
from math import exp, log
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from bayes.battery import check_agent
from bayes.colleges import CollegesAgent
from bayes.derived import DerivedAgent, read_likelihoods
from bayes.joint import JointAgent
from bayes.press import PressAgent
from bayes.request import EditRequest
from bayes.roles import RolesAgent
from bayes.types import TypesAgent
from corpus.config import KINDS, ExactConfig
from corpus.errors import InputError
from corpus.exact import ExactModel, draw_world, sample_exact
from corpus.graph import KnowledgeGraph
from corpus.seeds import generator
from corpus.text.language import Kind
from corpus.text.sentences import Sentences
from corpus.worlds.colleges import EFFECTS, STUDIED, CollegesWorld
from corpus.worlds.joint import CAUSES, SQUARE, SUM, JointWorld
from corpus.worlds.own import Fact, OwnWorld, build_own_graph, count_statements
from corpus.worlds.press import EATS, PAPERS, QUALITIES, PressWorld
from corpus.worlds.roles import SAILS, SERVES, WEARS, RolesWorld
from corpus.worlds.types import TypesWorld
from experiments.examples.my_world import MyAgent, MyWorld
from testbed.evaluations.kinds import FOLLOWS, OTHERS_FOLLOW, REQUEST, SILENT, SPOT, STATED, Kinds
from testbed.evaluations.kinds.cases import make_cases
from testbed.protocol import has_answer_changed
from testbed.run.own_world import Origin, find_agent_class, find_world_class, make_own_world
from tests.examples import holds_for

PAIRS = {
    "types": (TypesWorld, TypesAgent),
    "joint": (JointWorld, JointAgent),
    "roles": (RolesWorld, RolesAgent),
    "colleges": (CollegesWorld, CollegesAgent),
    "press": (PressWorld, PressAgent),
}
CONFIG = ExactConfig(rows="given", logical=0.3, noise=0.2, label_noise=0.3)
WORLDS = 100
"""Small worlds of each kind that are enumerated."""


SMALL = {
    "types": lambda seed: TypesWorld(seed, subjects=2, types=2, objects=3, relations=2),
    "joint": lambda seed: JointWorld(seed, 2, objects=2, drinks=3),
    "roles": lambda seed: RolesWorld(seed, 6, ("cook", "smith")),
    "colleges": lambda seed: CollegesWorld(seed, 4, colleges=2, kinds=2, objects=2),
    "press": lambda seed: PressWorld(seed, 4, dishes=2),
}


def corpus_about(world, seed, statements=None):
    """The world's graph, and few noisy sentences about it, so that much stays in doubt."""
    rng = generator(seed, "test")
    graph = build_own_graph(world)
    often = count_statements(world, graph) if statements is None else np.full(len(graph), statements)
    graph, model = draw_world(
        graph, CONFIG, rng, redraw=False, often=np.minimum(often, rng.integers(0, 9, len(often)))
    )
    return graph, sample_exact(graph, model, CONFIG, rng)[0]


def agent_of(kind, world, graph, sentences):
    return kind(world, graph, CONFIG, read_likelihoods(graph, CONFIG, sentences))


# Every way in which all facts of a world can come out, with its probability, straight from the story.


def enumerate_types(world):
    def one_subject():
        for kind, share in enumerate(world.shares):
            for places in product(*(range(row.shape[1]) for row in world.rows.values())):
                p = share
                for row, place in zip(world.rows.values(), places, strict=True):
                    p *= row[kind][place]
                yield p, [world.candidates[r][place] for r, place in zip(world.rows, places, strict=True)]

    return multiply(one_subject, world.subjects)


def enumerate_joint(world):
    size, drinks = len(world.square), world.sums.shape[-1]

    def one_subject():
        for a, b, c, d, e in product(*[range(size)] * 4, range(drinks)):
            p = size**-3 * world.square[a, b, d] * world.sums[b, c, e]
            yield (
                p,
                [
                    world.candidates[r][x]
                    for r, x in zip((*CAUSES, SQUARE, SUM), (a, b, c, d, e), strict=True)
                ],
            )

    return multiply(one_subject, world.subjects)


def enumerate_roles(world):
    """Two crews apart, since nothing joins them: the worlds of the first, whatever the second is."""
    (ship, crew), coats = next(iter(world.crews.items())), world.candidates[WEARS]
    orders = list(permutations(range(len(crew))))
    for order in orders:
        for worn in product(range(len(coats)), repeat=len(crew)):
            p = 1 / len(orders)
            objects = [ship] * len(crew)
            for role, coat in zip(order, worn, strict=True):
                p *= world.rows[role][coat]
                objects += [world.roles[role], coats[coat]]
            yield p, objects + [crew[order.index(role)] for role in range(len(crew))]


def enumerate_colleges(world):
    """The first country alone: the kinds of its colleges, then its people, who share these."""
    country, colleges = next(iter(world.colleges.items()))
    size, objects = len(colleges), world.rows[EFFECTS[0]].shape[1]
    for kinds in product(range(world.kinds), repeat=size):

        def one_graduate(kinds=kinds):
            for college, work, tune in product(range(size), range(objects), range(objects)):
                first, second = (world.rows[r][kinds[college]] for r in EFFECTS)
                names = [world.candidates[r][x] for r, x in zip(EFFECTS, (work, tune), strict=True)]
                yield world.shares[college] * first[work] * second[tune], [country, colleges[college], *names]

        for p, names in multiply(one_graduate, len(world.people[country])):
            yield p / world.kinds**size, names


def enumerate_press(world):
    """The first town alone: the qualities of its papers, then its people, who share these."""
    town, size = next(iter(world.people)), len(world.dishes)
    for right in product(QUALITIES, repeat=len(PAPERS)):

        def one_reader(right=right):
            for dish, *said in product(range(size), repeat=1 + len(PAPERS)):
                is_so = [q if x == dish else (1 - q) / (size - 1) for q, x in zip(right, said, strict=True)]
                yield np.prod(is_so) / size, [town, *(world.dishes[x] for x in (dish, *said))]

        for p, names in multiply(one_reader, len(world.people[town])):
            yield p / len(QUALITIES) ** len(PAPERS), names


def multiply(one_subject, count):
    for parts in product(list(one_subject()), repeat=count):
        yield np.prod([p for p, _ in parts]), [o for _, objects in parts for o in objects]


ENUMERATE = {
    "types": enumerate_types,
    "joint": enumerate_joint,
    "roles": enumerate_roles,
    "colleges": enumerate_colleges,
    "press": enumerate_press,
}


def chances_of(graph, sentence, is_first, is_second):
    """float64[worlds]: p(sentence) but for factors that no world changes; and, or sentences are right.

    Args:
        is_first, is_second: bool[worlds], whether its statements are true.
    """
    kind, label, a, _ = sentence
    others = len(graph.candidates_of(a[1])) - 1
    mentioned = np.where(is_first, 0.5, 0.5 / others)
    if kind == Kind.ATOMIC:
        return np.where(is_first, 1 - CONFIG.noise, CONFIG.noise / others)
    if kind == Kind.TRUTH:
        return mentioned * np.where(is_first == label, 1 - CONFIG.label_noise, CONFIG.label_noise)
    says = {Kind.NOT: ~is_first, Kind.AND: is_first & is_second, Kind.OR: is_first | is_second}
    return mentioned * (says[kind] == label)


def enumerate_beliefs(kind, world, graph, sentences, edits):
    """{fact: {object: probability}} of each fact that the enumeration has, by a sum over all worlds."""
    entities, relations = list(graph.entities), list(graph.relations)
    chances, names = zip(*ENUMERATE[kind](world), strict=True)
    p = np.array(chances)
    assert p.sum() == pytest.approx(1.0)
    objects = np.array([[entities.index(name) for name in row] for row in names])
    facts = world.facts[: objects.shape[1]]
    columns = {
        (entities.index(f.subject), relations.index(f.relation)): column
        for f, column in zip(facts, objects.T, strict=True)
    }
    for row in zip(sentences.kind, sentences.label, sentences.a.tolist(), sentences.b.tolist(), strict=True):
        pairs = [tuple(atom[:2]) for atom in row[2:] if atom[0] >= 0]
        if all(pair in columns for pair in pairs):
            truths = [columns[pair] == atom[2] for pair, atom in zip(pairs, row[2:], strict=False)]
            p = p * chances_of(graph, row, truths[0], truths[-1])
    for s, r, o, weight in edits:
        others = len(graph.candidates_of(r)) - 1
        p = p * np.where(
            columns[s, r] == o, exp(weight * log((1 - CONFIG.noise) * others / CONFIG.noise)), 1.0
        )
    p = p / p.sum()
    return {pair: {o: p[column == o].sum() for o in np.unique(column)} for pair, column in columns.items()}


def largest_gap(kind, seed):
    """Between the agent and the enumeration, over all facts of a small world, after two edits."""
    world = SMALL[kind](seed)
    graph, sentences = corpus_about(world, seed)
    agent = agent_of(PAIRS[kind][1], world, graph, sentences)
    rng, edits = generator(seed, "edits"), []
    enumerated = len(next(ENUMERATE[kind](world))[1])
    for fact in rng.permutation(world.facts[:enumerated]).tolist()[:2]:
        s, r = list(graph.entities).index(fact[0]), list(graph.relations).index(fact[1])
        if agent.accepts(s, r, "evidence"):
            belief = agent.predict(s, r)
            target = int(rng.choice(belief.support[belief.dense_probabilities() > 0]))
            edits.append((s, r, target, float(rng.uniform(0.1, 4))))
            agent = agent.with_edit(EditRequest(*edits[-1]))
    gaps = []
    for (s, r), beliefs in enumerate_beliefs(kind, world, graph, sentences, edits).items():
        gaps += [abs(agent.predict(s, r).of(np.array(o)) - p) for o, p in beliefs.items()]
        assert sum(agent.predict(s, r).of(np.array(list(beliefs)))) == pytest.approx(1.0, abs=1e-10)
    return max(gaps)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_agents_equal_the_enumeration_of_hundreds_of_small_worlds(kind):
    """Shown by `pytest -s`: the table of docs/kinds.md."""
    largest = max(largest_gap(kind, seed) for seed in range(WORLDS))
    print(f"{kind}: {WORLDS} worlds, largest difference {largest:.1e}")
    assert largest < 1e-10


@holds_for(st.sampled_from(KINDS), st.integers(WORLDS, 10**6), few=100, many=500)
def test_agents_equal_the_enumeration_of_any_small_world(kind, seed):
    assert largest_gap(kind, seed) < 1e-10


def test_the_enumeration_notices_a_wrong_prior(monkeypatch):
    monkeypatch.setitem(PAIRS, "types", (TypesWorld, OneTypeAgent))
    assert max(largest_gap("types", seed) for seed in range(5)) > 0.01


# The battery.

EVERY = {**PAIRS, "my_world": (MyWorld, MyAgent)}


@pytest.mark.parametrize("kind", EVERY)
def test_every_agent_passes_the_battery(kind):
    world, agent = EVERY[kind]
    checks = check_agent(world(3, 10), agent, seed=3, simulated=1500)
    assert len(checks) == 7
    assert [check.name for check in checks if not check.holds] == []


@dataclass(frozen=True, eq=False)
class OneTypeAgent(TypesAgent):
    """Takes all types to be equally common, and each to be what the first one is, a little."""

    def rows_of(self, relation):
        rows = super().rows_of(relation)
        return np.log(0.7 * np.exp(rows) + 0.3 * np.exp(rows[0]))


@dataclass(frozen=True, eq=False)
class UnnormalisedAgent(MyAgent):
    def predict(self, subject, relation, belief="best"):
        one = super().predict(subject, relation, belief)
        return one._replace(probability=one.probability * (1 - 1e-7))


@dataclass(frozen=True, eq=False)
class ForgetfulAgent(MyAgent):
    """Each edit takes a tenth from all that was said before of other facts."""

    def with_edit(self, request):
        fact = self.find_fact(*request[:2])
        told = {f: e if f == fact else 0.9 * e for f, e in self.evidence.items()}
        return super(ForgetfulAgent, replace(self, evidence=told)).with_edit(request)


@dataclass(frozen=True, eq=False)
class AverseAgent(MyAgent):
    """Believes the opposite of what is said of the twin."""

    def predict(self, subject, relation, belief="best"):
        one = super().predict(subject, relation, belief)
        twin = self.evidence_about(self._find_twin(subject, relation))
        away = one.probability * np.exp(-2 * np.minimum(twin - twin.min(), 3))
        return one._replace(probability=away / away.sum())


@dataclass(frozen=True, eq=False)
class ContraryAgent(MyAgent):
    """Takes every edit as evidence against the same of the twin, too."""

    def with_edit(self, request):
        edited, twin = super().with_edit(request), self._find_twin(*request[:2])
        against = self.evidence_about(twin).copy()
        against[self.graph.candidates_of(request.relation) == request.object] -= 9 * request.weight
        return replace(edited, evidence={**edited.evidence, twin: against})


@pytest.mark.parametrize(
    ("world", "agent", "fails"),
    [
        (TypesWorld, OneTypeAgent, "simulated worlds agree"),
        (MyWorld, UnnormalisedAgent, "beliefs sum to one"),
        (MyWorld, ForgetfulAgent, "the order of evidence plays no part"),
        (MyWorld, ForgetfulAgent, "beliefs are the mean of later ones"),
        (MyWorld, AverseAgent, "simulated worlds agree"),
        (MyWorld, ContraryAgent, "the believed moves nothing by more than its doubt"),
    ],
)
def test_the_battery_notices(world, agent, fails):
    checks = check_agent(world(0, 10), agent, simulated=1500 if fails.startswith("simulated") else 10)
    assert any(check.name.startswith(fails) and not check.holds for check in checks)


# Consequences that each kind is there for.


@cache
def told_world(kind):
    """A small world of which nothing is said, and an agent of it."""
    world = EVERY[kind][0](1, 40)
    return world, EVERY[kind][1](world, build_own_graph(world), CONFIG, {})


def test_no_single_cause_tells_anything_of_the_square():
    world, agent = told_world("joint")
    entities, relations = list(agent.graph.entities), list(agent.graph.relations)
    s = entities.index(world.facts[0].subject)
    causes = [relations.index(r) for r in CAUSES[:2]]
    effect, before = relations.index(SQUARE), agent.predict(s, relations.index(SQUARE)).probability
    one = agent.with_edit(EditRequest(s, causes[0], int(agent.graph.candidates_of(causes[0])[0]), 100.0))
    np.testing.assert_allclose(one.predict(s, effect).probability, before, atol=1e-12)
    both = one.with_edit(EditRequest(s, causes[1], int(agent.graph.candidates_of(causes[1])[0]), 100.0))
    assert both.predict(s, effect).probability.max() == pytest.approx(0.9)


def test_who_gets_a_role_takes_it_from_its_holder():
    world, agent = told_world("roles")
    graph = agent.graph
    entities, relations = list(graph.entities), list(graph.relations)
    ship, crew = next(iter(world.crews.items()))
    serves, captain = relations.index(SERVES), entities.index("captain")
    named = relations.index("has as captain")
    first, second = (entities.index(name) for name in crew[:2])
    held = agent.with_edit(EditRequest(first, serves, captain, 5.0))
    assert held.predict(first, serves).mode() == captain
    assert held.predict(entities.index(ship), named).mode() == first
    taken = held.with_edit(EditRequest(second, serves, captain, 10.0))
    assert taken.predict(first, serves).of(np.array(captain)) < 0.01
    assert taken.predict(entities.index(ship), named).mode() == second
    assert not agent.accepts(first, relations.index(SAILS), "evidence")


def test_a_college_of_one_graduate_tells_of_the_next():
    world, agent = told_world("colleges")
    entities, relations = list(agent.graph.entities), list(agent.graph.relations)
    first, second, *_ = (entities.index(name) for name in next(iter(world.people.values())))
    studied, works = relations.index(STUDIED), relations.index(EFFECTS[0])
    college = entities.index(next(iter(world.colleges.values()))[-1])
    for s in (first, second):
        agent = agent.with_edit(EditRequest(s, studied, college, 50.0))
    work = int(agent.predict(first, works).mode())
    before = agent.predict(second, works).of(np.array(work))
    assert (
        agent.with_edit(EditRequest(first, works, work, 50.0)).predict(second, works).of(np.array(work))
        > before + 0.05
    )


def test_a_paper_that_was_wrong_is_believed_less_of_everybody_in_town():
    world, agent = told_world("press")
    entities, relations = list(agent.graph.entities), list(agent.graph.relations)
    people = [entities.index(name) for name in next(iter(world.people.values()))[:3]]
    eats, herald = relations.index(EATS), relations.index(PAPERS[0])
    figs, plums = agent.graph.candidates_of(eats)[:2].tolist()
    for s in people:
        agent = agent.with_edit(EditRequest(s, herald, figs, 50.0))
    before = agent.predict(people[0], eats).of(np.array(figs))
    for s in people[1:]:
        agent = agent.with_edit(EditRequest(s, eats, plums, 50.0))
    assert agent.predict(people[0], eats).of(np.array(figs)) < before - 0.1


def test_other_facts_explain_an_edit_away():
    world, agent = told_world("types")
    graph = agent.graph
    s = list(graph.entities).index(world.facts[0].subject)
    moved = []
    for known in (0, 4):
        told = agent
        for r in range(1, 1 + known):
            told = told.with_edit(EditRequest(s, r, int(agent.predict(s, r).mode()), 50.0))
        target = int(graph.candidates_of(0)[told.predict(s, 0).probability.argmin()])
        weight = told.weight_for(s, 0, target)
        after = told.with_edit(EditRequest(s, 0, target, weight)).predict(s, 5).probability
        moved.append(np.abs(after - told.predict(s, 5).probability).sum())
    assert moved[1] < moved[0]


# The door.


def test_a_world_is_the_same_for_the_same_seed_and_refused_when_it_is_not():
    for kind in KINDS:
        one, two = (make_own_world(Origin(kind, 5, 20)) for _ in range(2))
        assert one.facts == two.facts
        assert find_agent_class("exact", kind) is PAIRS[kind][1]
        assert find_world_class(kind) is PAIRS[kind][0]
    with pytest.raises(InputError, match="say --agent my_module:MyAgent"):
        find_agent_class("exact", "experiments.examples.my_world:MyWorld")
    with pytest.raises(InputError, match="should be a subclass of corpus.worlds.own.OwnWorld"):
        find_world_class("experiments.examples.my_world:MyAgent")


class Odd(OwnWorld):
    def __init__(self, facts, candidates):
        self.facts, self.candidates = facts, candidates


MENU = {"eats": ("figs", "plums")}
ANN = Fact("Ann", "eats", "figs")


@pytest.mark.parametrize(
    ("facts", "candidates", "message"),
    [
        ([ANN._replace(object="stone")], MENU, "'stone' is no candidate of 'eats'"),
        ([ANN, ANN._replace(object="plums")], MENU, "stands twice"),
        ([ANN._replace(relation="is")], MENU, "is no candidate of 'is'"),
        ([tuple(ANN)], MENU, r"Odd.facts\[0\] is .* write Fact"),
        ([ANN._replace(object=1)], MENU, "its names as text"),
        ([ANN._replace(statements=-3)], MENU, "stated -3 times"),
        ([ANN._replace(statements=2.5)], MENU, "stated 2.5 times"),
        ([ANN], ["figs"], "it is a list"),
        ([ANN], {"eats": ("figs",)}, "two or more objects"),
        ([ANN], {"eats": ("figs", "figs")}, "each once"),
        ([ANN], {"eats": "figs"}, "should be several names"),
        ([ANN], {"eats": ("figs", 2)}, "should be several names"),
    ],
)
def test_a_world_that_makes_no_sense_is_refused(facts, candidates, message):
    with pytest.raises(InputError, match=message):
        build_own_graph(Odd(facts, candidates))


def test_a_world_of_one_relation_and_two_objects_is_enough():
    graph = build_own_graph(Odd([ANN, ANN._replace(subject="Bob")], MENU))
    assert (len(graph), len(graph.objects)) == (2, 2)


def says(answer):
    """An agent that answers something else than its belief."""

    @dataclass(frozen=True, eq=False)
    class OddAgent(MyAgent):
        def predict(self, subject, relation, belief="best"):
            return answer(self, super().predict(subject, relation, belief))

    return OddAgent


@dataclass(frozen=True, eq=False)
class SpeechlessAgent(DerivedAgent):
    pass


@dataclass(frozen=True, eq=False)
class LostAgent(MyAgent):
    def with_edit(self, request):
        return None


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (says(lambda _, b: b._replace(probability=b.probability * np.nan)), "probabilities; it has nan"),
        (says(lambda _, b: b._replace(probability=-b.probability)), "probabilities; it has -"),
        (says(lambda _, b: b._replace(probability=b.probability * 2)), "should sum to one; it sums to 2"),
        (says(lambda _, b: b._replace(probability=b.probability[:3])), "of [45] candidates; it has 3"),
        (says(lambda _, b: b.probability), "it returned ndarray"),
        (SpeechlessAgent, "needs a method predict"),
        (LostAgent, "with_edit should return such an agent; it returned NoneType"),
    ],
)
def test_an_agent_that_gives_no_beliefs_is_refused(kind, message):
    with pytest.raises(InputError, match=message):
        check_agent(MyWorld(0, 10), kind, simulated=10)


def test_a_world_class_is_made_of_seed_and_subjects():
    with pytest.raises(InputError, match=r"Unseeded should be made of \(seed, subjects\)"):
        make_own_world(Origin("tests.test_kinds:Unseeded", 0, 10))


class Unseeded(Odd):
    def __init__(self):
        super().__init__([ANN], MENU)


def test_edits_that_mean_nothing_are_refused():
    agent = told_world("my_world")[1]
    fact = EditRequest(int(agent.graph.subject[0]), int(agent.graph.relation[0]), int(agent.graph.object[0]))
    settled = agent.with_edit(fact._replace(kind="correction"))
    other = next(o for o in agent.graph.candidates_of(fact.relation).tolist() if o != fact.object)
    with pytest.raises(InputError, match="rules out"):
        settled.with_edit(fact._replace(object=other))
    with pytest.raises(InputError, match="cannot be the object"):
        agent.with_edit(fact._replace(object=fact.subject))
    for wrong in ({"kind": "do"}, {"kind": "correction", "form": "denial"}):
        with pytest.raises(InputError, match="takes assertions"):
            agent.with_edit(fact._replace(**wrong))
    with pytest.raises(InputError, match="retract all objects"):
        settled.with_edit(fact._replace(form="retraction"))
    with pytest.raises(InputError, match="should be positive"):
        agent.with_edit(fact._replace(weight=0.0))
    assert not settled.accepts(fact.subject, fact.relation, "evidence")


@pytest.mark.parametrize("kind", EVERY)
@holds_for(st.floats(0.01, 0.99), st.integers(0, 10**6), few=12, many=500)
def test_requests_of_every_form_mean_what_they_say(kind, q, seed):
    """A stated probability is Jeffrey's; no more than chance says nothing, nor does what is taken back."""
    agent = told_world(kind)[1]
    rng, graph = generator(seed, "forms"), agent.graph
    fact = next(
        f
        for f in rng.permutation(len(graph)).tolist()
        if agent.accepts(int(graph.subject[f]), int(graph.relation[f]), "evidence")
    )
    s, r = int(graph.subject[fact]), int(graph.relation[fact])
    possible = graph.candidates_of(r)[agent.predict(s, r).dense_probabilities() > 0]
    said = EditRequest(s, r, int(rng.choice(possible)), form="probability", probability=q)
    related = agent.relate_facts(s, r)[:12]
    pairs = graph.subject[related].astype(int), graph.relation[related].astype(int)

    def beliefs_after(**changed):
        return agent.with_edit(said._replace(**changed)).distributions(*pairs)

    is_so, is_not = (beliefs_after(probability=p) for p in (1.0, 0.0))
    np.testing.assert_allclose(beliefs_after(), q * is_so + (1 - q) * is_not, atol=1e-9)
    np.testing.assert_allclose(beliefs_after(form="assertion", kind="correction"), is_so, atol=1e-9)
    np.testing.assert_allclose(beliefs_after(form="denial", probability=1.0), is_not, atol=1e-9)
    chance = 1 / len(graph.candidates_of(r))
    np.testing.assert_allclose(
        beliefs_after(form="source", probability=chance), agent.distributions(*pairs), atol=1e-9
    )
    told = agent.with_edit(said._replace(form="source", weight=2.0))
    taken_back = told.with_edit(said._replace(form="retraction"))
    np.testing.assert_allclose(taken_back.distributions(*pairs), agent.distributions(*pairs), atol=1e-9)


def test_what_can_be_derived_is():
    agent = told_world("my_world")[1]
    graph = agent.graph
    s, r = graph.subject[:4].astype(int), graph.relation[:4].astype(int)
    beliefs = agent.distributions(s, r)
    np.testing.assert_allclose(beliefs.sum(1), 1.0)
    asked = agent.probability(s[:, None], r[:, None], graph.objects[None])
    np.testing.assert_array_equal(asked, beliefs)
    assert (agent.rules_out(int(s[0]), int(r[0]), graph.objects) == (beliefs[0] == 0)).all()


# The cases.


class CasesWorld(NamedTuple):
    """What cases are drawn from."""

    graph: KnowledgeGraph
    generative: ExactModel
    sentences: Sentences
    origin: Origin

    @property
    def kind(self):
        return self.origin.source


@pytest.fixture(scope="module", params=KINDS)
def drawn(request):
    world, config = EVERY[request.param][0](2, 40), ExactConfig(rows="given")
    rng, graph = generator(2, "cases"), build_own_graph(world)
    graph, model = draw_world(graph, config, rng, redraw=False, often=count_statements(world, graph))
    sentences = sample_exact(graph, model, config, rng)[0]
    agent = EVERY[request.param][1](world, graph, config, read_likelihoods(graph, config, sentences))
    place = CasesWorld(graph, model, sentences, Origin(request.param, 2, 40))
    return place, agent, list(make_cases(place, agent, 24, 0.95, Kinds(), 0))


def test_the_agents_own_answers_name_the_questions(drawn):
    place, agent, cases = drawn
    for case in cases:
        edited = agent.with_edit(case.request)
        assert edited.probability(*case.request[:3]) >= 0.95 - 1e-6
        for choice in case.choices:
            assert (
                has_answer_changed(choice) == (choice.role in (FOLLOWS, OTHERS_FOLLOW))
                or choice.role == REQUEST
            )
            is_own = choice.subject == case.request.subject
            assert is_own == (choice.role in (REQUEST, FOLLOWS, STATED, SILENT))
            if choice.role in (STATED, SILENT):
                assert (choice.stated > 0) == (choice.role == STATED)
            assert choice.is_spot_check == (choice.role == SPOT)
        assert case.facets["law"] == place.origin.source
        assert case.facets["changes"] == any(c.role in (FOLLOWS, OTHERS_FOLLOW) for c in case.choices)


def test_each_kind_has_what_it_is_there_for(drawn):
    place, _, cases = drawn
    roles = {choice.role for case in cases for choice in case.choices}
    assert {REQUEST, FOLLOWS, STATED, SILENT, SPOT} <= roles
    assert (OTHERS_FOLLOW in roles) == (place.origin.source in ("roles", "colleges", "press"))
    share = np.mean([case.facets["changes"] for case in cases])
    assert 0.3 < share < 0.95
