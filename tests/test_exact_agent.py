"""The exact agent equals brute-force enumeration of every world, before and after edits, and obeys Bayes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from scipy.stats import chisquare

from bayes.exact import fit_exact
from bayes.request import EditRequest
from bayes.tree import Tree
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.exact import draw_world, sample_exact
from corpus.graph import build_graph
from corpus.text.language import Kind
from corpus.text.sentences import Sentences, concatenate_sentences
from tests.enumeration import Enumeration
from tests.examples import holds_for
from tests.test_exact import tiny_graph

TOLERANCE = 1e-10
# Random worlds that each comparison with enumeration sees.
RESOLVED = {"few": 40, "many": 200}
EDITED = {"few": 160, "many": 700}
RIPPLES = {"few": 100, "many": 400}
FOCAL_SETS = {"few": 80, "many": 300}
CONJUNCTIONS = {"few": 50, "many": 200}
CHANGED = {"few": 90, "many": 350}
CARRIED = {"few": 30, "many": 120}
# Properties that mostly compare the agent with itself.
PROPERTY = {"few": 25, "many": 60}
# Which relation each of the three depends on: a pair and one apart, two dependents of one, or a chain.
PAIR, FORK, CHAIN = (-1, 0, -1), (-1, 0, 0), (-1, 0, 1)
# The same of four relations: three children, two grandchildren, one of two children, or a longer chain.
DEEP = ((-1, 0, 0, 0), (-1, 0, 1, 1), (-1, 0, 0, 1), (-1, 0, 1, 2))


def certificates(graph, facts):
    """One sentence for each fact that settles it."""
    n, none = len(facts), np.full((len(facts), 3), -1, np.int32)
    atoms = np.column_stack([graph.subject, graph.relation, graph.object])[facts].astype(np.int32)
    return Sentences(
        np.full(n, Kind.NOT, np.int8),
        np.zeros(n, bool),
        graph.subject[facts],
        atoms,
        none,
        np.zeros(n, np.int16),
    )


def tiny_world(seed, config, open_subjects, upstream=PAIR):
    """A world whose facts are settled but for those of the open subjects, which say little."""
    rng = np.random.default_rng(seed)
    # Fewer subjects where there are more relations: their worlds are enumerated.
    subjects = 2 + seed % (4 if len(upstream) == 3 else 2)
    graph = tiny_graph(rng, subjects, (2, 3, 3)[seed // 4 % 3], upstream)
    graph, model = draw_world(graph, config, rng, redraw=True)
    sentences, _ = sample_exact(graph, model, config, rng)
    # Few sentences about each open subject, and no connectives, which would settle it.
    touched = np.isin(sentences.a[:, 0], open_subjects) | np.isin(sentences.b[:, 0], open_subjects)
    few = (rng.random(len(sentences)) < rng.choice([0.05, 0.15, 0.4])) & (sentences.kind <= Kind.NOT)
    sentences = sentences.take(few | ~touched)
    spoken = np.unique(graph.find(sentences.a[:, 0], sentences.a[:, 1]))
    has_truth = (graph.upstream_fact < 0) | (config.persistence == "fact")
    settled = spoken[has_truth[spoken] & ~np.isin(graph.subject[spoken], open_subjects)]
    # What a settled fact hangs on is settled too.
    above = graph.upstream_fact[np.flatnonzero(~np.isin(graph.subject, open_subjects))]
    settled = np.union1d(settled, above[above >= 0])
    return graph, model, concatenate_sentences(sentences, certificates(graph, settled))


seeds = st.integers(0, 10**6)
configs = st.builds(
    ExactConfig,
    persistence=st.sampled_from(["fact", "sentence"]),
    noise=st.sampled_from([0.05, 0.3]),
    label_noise=st.sampled_from([0.0, 0.1]),
    root_mass=st.sampled_from([0.5, 4.0]),
    row_mass=st.sampled_from([0.3, 3.0]),
    mention=st.sampled_from(["coin", "uniform"]),
    logical=st.sampled_from([0.0, 0.4]),
    statements=st.just(8),
)
# Under persistence "sentence" nothing depends on what itself depends on another.
worlds = st.tuples(seeds, configs, st.sampled_from([PAIR, FORK, CHAIN])).filter(
    lambda w: w[1].persistence == "fact" or w[2] != CHAIN
)


def agent_in_doubt(world, open_subjects=(0,)):
    """An agent exact about everybody though these subjects are in doubt, and a stream for what to do."""
    seed, config, upstream = world
    graph, _, sentences = tiny_world(seed, config, open_subjects, upstream)
    agent = fit_exact(graph, config, sentences).with_focus(open_subjects)
    return agent, np.random.default_rng(seed)


def facts_of(graph, subjects):
    return np.flatnonzero(np.isin(graph.subject, subjects)).tolist()


def own_fact(agent, fact):
    """Whether a fact has a truth of its own."""
    return agent.config.persistence == "fact" or agent.graph.upstream_fact[fact] < 0


def belief(agent, fact):
    return agent.predict(
        int(agent.graph.subject[fact]), int(agent.graph.relation[fact])
    ).dense_probabilities()


def beliefs(agent):
    return [belief(agent, f) for f in range(len(agent.graph))]


def request(agent, fact, place, weight=1.0, kind="evidence", redraw=1.0):
    r = int(agent.graph.relation[fact])
    o = int(agent.graph.candidates_of(r)[place])
    return EditRequest(int(agent.graph.subject[fact]), r, o, weight, kind, redraw)


def assert_same(ours, wanted, tolerance=TOLERANCE):
    for p, q in zip(ours, wanted, strict=True):
        np.testing.assert_allclose(p, q, rtol=0, atol=tolerance)


def expected(every):
    """What every fact is, or what is stated next of those without a truth of their own, per fact."""
    by_fact = every.posterior() | every.statements()
    return [list(by_fact[f].values()) for f in range(len(by_fact))]


def assert_equals_enumeration(agent, sentences, asked, extra=()):
    wanted = expected(Enumeration(agent.graph, agent.config, sentences, extra))
    assert_same([belief(agent, f) for f in asked], [wanted[f] for f in asked])


def random_edit(rng, agent, facts):
    """A request about one of the facts, and the same as evidence for the enumeration."""
    f = int(rng.choice(facts))
    candidates = agent.graph.candidates_of(int(agent.graph.relation[f]))
    place, others, noise = int(rng.integers(len(candidates))), len(candidates) - 1, agent.config.noise
    o = int(candidates[place])
    if not own_fact(agent, f):
        count = float(rng.choice([1, 2, 3, 30]))
        return request(agent, f, place, count), (f, o, count)
    if rng.random() < 0.4:
        return request(agent, f, place, kind="correction"), (f, o, np.inf)
    weight = float(rng.choice([0.3, 1.0, 2.5, 20.0]))
    return request(agent, f, place, weight), (f, o, weight * np.log((1 - noise) * others / noise))


def edit(rng, agent, facts, count):
    """The agent after requests about these facts, and these as evidence, but for those it refuses."""
    extra = []
    for _ in range(count):
        asked, evidence = random_edit(rng, agent, facts)
        try:
            agent = agent.with_edit(asked)
        except InputError:
            continue
        extra.append(evidence)
    return agent, extra


def upstream_facts(graph, fact):
    """All that a fact depends on, nearest first."""
    above = []
    while graph.upstream_fact[fact] >= 0:
        fact = int(graph.upstream_fact[fact])
        above.append(fact)
    return above


def root(graph, fact):
    return [fact, *upstream_facts(graph, fact)][-1]


def family(graph, fact):
    """The relation that a fact's relation depends on in the end."""
    r = int(graph.relation[fact])
    while graph.upstream[r] >= 0:
        r = int(graph.upstream[r])
    return r


@holds_for(worlds, **RESOLVED)
def test_beliefs_about_everybody_in_a_resolved_world_equal_enumeration(world):
    seed, config, upstream = world
    graph, _, sentences = tiny_world(seed, config, [], upstream)
    assert_equals_enumeration(fit_exact(graph, config, sentences), sentences, range(len(graph)))


@holds_for(worlds, st.integers(0, 3), **EDITED)
def test_edits_equal_enumeration(world, count):
    seed, config, upstream = world
    graph, _, sentences = tiny_world(seed, config, [0], upstream)
    facts = facts_of(graph, [0])
    agent, extra = edit(np.random.default_rng(seed), fit_exact(graph, config, sentences), facts, count)
    assert_equals_enumeration(agent, sentences, facts, extra)


@holds_for(worlds, st.integers(1, 3), st.booleans(), **RIPPLES)
def test_the_ripple_of_an_edit_on_other_subjects_equals_enumeration(world, count, focus):
    """Subjects 0 and 1 are in doubt, and 0 is edited; anybody but 1 is asked with 1 in focus."""
    seed, config, upstream = world
    graph, _, sentences = tiny_world(seed, config, [0, 1], upstream)
    agent = fit_exact(graph, config, sentences)
    agent, extra = edit(np.random.default_rng(seed), agent, facts_of(graph, [0]), count)
    # What subject 0 has that no edit touched is taken as resolved, which it is not.
    touched = {root(graph, f) for f, _, _ in extra}
    doubtful = {family(graph, f) for f in facts_of(graph, [0]) if root(graph, f) not in touched}
    asked = facts_of(graph, graph.subjects if focus else [1])
    asked = [f for f in asked if family(graph, f) not in doubtful]
    assume(asked)
    assert_equals_enumeration(agent.with_focus([1]) if focus else agent, sentences, asked, extra)


@holds_for(worlds, st.integers(0, 3), **FOCAL_SETS)
def test_a_focal_set_of_subjects_equals_enumeration(world, count):
    """Subjects 0 and 1 are in doubt, either may be edited, and everybody is asked."""
    seed, config, upstream = world
    graph, _, sentences = tiny_world(seed, config, [0, 1], upstream)
    agent = fit_exact(graph, config, sentences).with_focus([0, 1])
    agent, extra = edit(np.random.default_rng(seed), agent, facts_of(graph, [0, 1]), count)
    assert_equals_enumeration(agent, sentences, range(len(graph)), extra)


@holds_for(worlds, st.integers(0, 1), **CONJUNCTIONS)
def test_conjunctions_equal_enumeration(world, count):
    """p(f = a and g = b) = p(f = a) p(g = b | f = a), the condition being a correction."""
    seed, config, upstream = world
    rng = np.random.default_rng(seed)
    graph, _, sentences = tiny_world(seed, config, [0, 1], upstream)
    agent = fit_exact(graph, config, sentences).with_focus([0, 1])
    agent, extra = edit(rng, agent, facts_of(graph, [0, 1]), count)
    every = Enumeration(graph, config, sentences, extra)
    z, p = every.z, every.p
    f, g = rng.choice([f for f in facts_of(graph, [0, 1]) if f in z], 2, replace=False)
    first, second = (graph.candidates_of(int(graph.relation[h])) for h in (f, g))
    for place, chance in enumerate(belief(agent, f)):
        joint = np.zeros(len(second))
        if chance > 0:
            joint = chance * belief(agent.with_edit(request(agent, f, place, kind="correction")), g)
        wanted = [p[(z[f] == first[place]) & (z[g] == o)].sum() for o in second]
        np.testing.assert_allclose(joint, wanted, rtol=0, atol=TOLERANCE)


def test_what_only_the_other_subject_makes_likely_equals_enumeration():
    """Two subjects are all but known to share an upstream object, until their statements say they do not."""
    triples = np.array([(0, 0, 2), (0, 1, 4), (1, 0, 2), (1, 1, 4)])
    candidates = [np.array([2, 3]), np.array([4, 5])]
    graph = build_graph(triples, list("stabjk"), ["u", "d"], np.array([-1, 0]), None, candidates)
    config = ExactConfig(persistence="sentence", root_mass=0.5, row_mass=0.3)
    nothing = certificates(graph, np.array([], int))
    agent, extra = fit_exact(graph, config, nothing), []
    for s, r, o, weight in ((0, 0, 2, 14.0), (1, 0, 2, 13.0), (0, 1, 4, 40.0), (1, 1, 5, 40.0)):
        agent = agent.with_edit(EditRequest(s, r, o, weight))
        strength = np.log((1 - config.noise) / config.noise) if r == 0 else 1.0
        extra.append((int(graph.find(s, r)), o, weight * strength))
    assert_equals_enumeration(agent, nothing, range(len(graph)), extra)


def test_a_fact_known_by_exclusion_is_resolved_and_settled():
    """That it is not the one object says that it is the other, to everybody else too."""
    triples = np.array([(s, r, 4 + 2 * r) for s in range(4) for r in range(2)])
    candidates = [np.array([4, 5]), np.array([6, 7])]
    graph = build_graph(triples, list("stvwabjk"), ["u", "d"], np.array([-1, 0]), None, candidates)
    config = ExactConfig(root_mass=0.5, row_mass=0.3)
    denied = certificates(graph, np.arange(len(graph)))
    denied = replace(denied, label=np.ones(len(graph), bool))
    agent = fit_exact(graph, config, denied)
    nobody = denied.take(denied.about > 0)
    assert_equals_enumeration(agent, denied, range(len(graph)))
    assert_equals_enumeration(fit_exact(graph, config, nobody), nobody, range(len(graph)))
    assert not any(agent.accepts(int(s), int(r), "evidence") for s, r, _ in triples)


def assert_a_change_equals_enumeration(rng, agent, sentences, extra, redraw, after=0):
    """A change of some fact of subject 0, and evidence about subject 1 after it."""
    graph = agent.graph
    changed = int(rng.choice([f for f in facts_of(graph, [0]) if own_fact(agent, f)]))
    candidates = graph.candidates_of(int(graph.relation[changed]))
    place = int(rng.integers(len(candidates)))
    agent = agent.with_edit(request(agent, changed, place, kind="do", redraw=redraw))
    agent, more = edit(rng, agent, facts_of(graph, [1]), after)
    extra = [*extra, *more]
    every = Enumeration(graph, agent.config, sentences, extra)
    wanted, moved = expected(every), every.after_do(changed, candidates[place], redraw)
    assert set(moved) == {f for f in range(len(graph)) if changed in (f, *upstream_facts(graph, f))}
    for f, after_it in moved.items():
        wanted[f] = list(after_it.values())
    assert_same(beliefs(agent), wanted)


@holds_for(worlds, st.sampled_from([0.0, 0.4, 1.0]), st.integers(0, 2), st.integers(0, 1), **CHANGED)
def test_a_change_of_the_world_equals_enumeration(world, redraw, before, after):
    """A change of subject 0, evidence about anybody coming before, and evidence about others also after."""
    seed, config, upstream = world
    rng = np.random.default_rng(seed)
    graph, _, sentences = tiny_world(seed, config, [0, 1], upstream)
    agent = fit_exact(graph, config, sentences).with_focus([0, 1])
    agent, extra = edit(rng, agent, facts_of(graph, [0, 1]), before)
    assert_a_change_equals_enumeration(rng, agent, sentences, extra, redraw, after)


@holds_for(seeds, configs, st.sampled_from(DEEP), st.sampled_from([0.4, 1.0]), st.integers(0, 2), **CARRIED)
def test_a_change_carried_down_a_tree_equals_enumeration(seed, config, upstream, redraw, before):
    """Four relations: three children of one, children of a child, and a chain down to the fourth."""
    rng = np.random.default_rng(seed)
    config = replace(config, persistence="fact")
    graph, _, sentences = tiny_world(seed, config, [0], upstream)
    agent, extra = edit(rng, fit_exact(graph, config, sentences), facts_of(graph, [0]), before)
    agent = agent.with_focus([0])
    assert_a_change_equals_enumeration(rng, agent, sentences, extra, redraw)


@holds_for(worlds, st.integers(0, 2), **PROPERTY)
def test_only_what_is_impossible_cannot_be_corrected(world, count):
    seed, config, upstream = world
    graph, _, sentences = tiny_world(seed, config, [0], upstream)
    agent = fit_exact(graph, config, sentences)
    agent, extra = edit(np.random.default_rng(seed), agent, facts_of(graph, [0]), count)
    for f, chances in Enumeration(graph, config, sentences, extra).posterior().items():
        for place, chance in enumerate(chances.values()):
            correction = request(agent, f, place, kind="correction")
            if chance > 0:
                agent.with_edit(correction)
            else:
                with pytest.raises(InputError, match="rules out"):
                    agent.with_edit(correction)


@holds_for(worlds, st.integers(0, 2), **PROPERTY)
def test_beliefs_are_distributions(world, count):
    agent, rng = agent_in_doubt(world)
    agent, _ = edit(rng, agent, facts_of(agent.graph, [0]), count)
    for p in beliefs(agent):
        assert (p >= 0).all()
        assert p.sum() == pytest.approx(1, abs=1e-12)


@holds_for(worlds, **PROPERTY)
def test_the_order_of_evidence_does_not_matter(world):
    seed, config, upstream = world
    graph, _, sentences = tiny_world(seed, config, [0], upstream)
    shuffled = sentences.take(np.random.default_rng(seed).permutation(len(sentences)))
    assert_same(
        beliefs(fit_exact(graph, config, shuffled).with_focus([0])),
        beliefs(fit_exact(graph, config, sentences).with_focus([0])),
    )


@holds_for(worlds, **PROPERTY)
def test_two_edits_commute(world):
    agent, rng = agent_in_doubt(world)
    (a, _), (b, _) = (random_edit(rng, agent, facts_of(agent.graph, [0])) for _ in range(2))
    try:
        one, other = agent.with_edit(a).with_edit(b), agent.with_edit(b).with_edit(a)
    except InputError:
        for first, second in ((a, b), (b, a)):
            with pytest.raises(InputError, match="rules out"):
                agent.with_edit(first).with_edit(second)
        return
    assert_same(beliefs(one), beliefs(other))


@holds_for(worlds, st.floats(0.01, 20.0), **PROPERTY)
def test_two_edits_of_half_the_weight_equal_one(world, weight):
    agent, rng = agent_in_doubt(world)
    whole = random_edit(rng, agent, facts_of(agent.graph, [0]))[0]._replace(kind="evidence", weight=weight)
    half = whole._replace(weight=weight / 2)
    assert_same(beliefs(agent.with_edit(half).with_edit(half)), beliefs(agent.with_edit(whole)))


@holds_for(worlds, **PROPERTY)
def test_a_vanishing_weight_changes_nothing(world):
    agent, rng = agent_in_doubt(world)
    nothing = random_edit(rng, agent, facts_of(agent.graph, [0]))[0]._replace(kind="evidence", weight=1e-13)
    assert_same(beliefs(agent.with_edit(nothing)), beliefs(agent))


@holds_for(worlds, st.integers(1, 3), **PROPERTY)
def test_edits_leave_the_fitted_agent_as_it_was(world, count):
    agent, rng = agent_in_doubt(world)
    before = beliefs(agent)
    beliefs(edit(rng, agent, facts_of(agent.graph, [0]), count)[0])
    changed = int(agent.graph.find(0, 0))
    belief(agent.with_edit(request(agent, changed, 0, kind="do")), changed)
    assert_same(beliefs(agent), before, tolerance=0.0)


@holds_for(worlds, **PROPERTY)
def test_belief_in_what_is_requested_grows_with_the_weight(world):
    agent, rng = agent_in_doubt(world)
    for f in facts_of(agent.graph, [0]):
        place = int(rng.integers(len(belief(agent, f))))
        if agent.accepts(0, int(agent.graph.relation[f]), "evidence") and belief(agent, f)[place] > 0:
            weights = [0.1, 0.5, 1.0, 2.0, 5.0, 15.0]
            edited = [agent.with_edit(request(agent, f, place, w)) for w in weights]
            p = np.array([belief(a, f)[place] for a in (agent, *edited)])
            # Next to 1 there may be no larger float.
            assert (np.diff(p) > np.where(p[:-1] < 1 - 1e-9, 0, -1e-12)).all()


@holds_for(worlds, **PROPERTY)
def test_belief_in_what_is_requested_tends_to_certainty(world):
    agent, rng = agent_in_doubt(world)
    for f in facts_of(agent.graph, [0]):
        place = int(rng.integers(len(belief(agent, f))))
        if agent.accepts(0, int(agent.graph.relation[f]), "evidence") and belief(agent, f)[place] > 0:
            # The next statement stays a draw, however many there were: certainty comes slowly.
            weight = 200.0 if own_fact(agent, f) else 1e9
            assert belief(agent.with_edit(request(agent, f, place, weight)), f)[place] > 1 - 1e-6


@holds_for(worlds, st.floats(0.05, 0.99), **PROPERTY)
def test_the_weight_reaches_the_credence(world, credence):
    agent, _ = agent_in_doubt(world)
    for f in facts_of(agent.graph, [0]):
        before, r = belief(agent, f), int(agent.graph.relation[f])
        place = int(np.argmin(before))
        if before[place] < 1e-9:
            continue
        wanted = credence if before[place] < credence else (1 + before[place]) / 2
        target = int(agent.graph.candidates_of(r)[place])
        asked = request(agent, f, place, agent.weight_for(0, r, target, credence))
        assert belief(agent.with_edit(asked), f)[place] == pytest.approx(wanted, abs=TOLERANCE)


@holds_for(worlds, **PROPERTY)
def test_belief_is_a_martingale(world):
    """Averaged over what the agent expects to be told, its posterior about everybody is its prior."""
    agent, rng = agent_in_doubt(world)
    before = beliefs(agent)
    f = int(rng.choice(facts_of(agent.graph, [0])))
    noise = agent.config.noise if own_fact(agent, f) else 0.0
    told = before[f] * (1 - noise) + (1 - before[f]) * noise / (len(before[f]) - 1)
    average = [np.zeros_like(p) for p in before]
    for place, chance in enumerate(told):
        # What cannot be told needs no answer.
        if chance > 0:
            after = beliefs(agent.with_edit(request(agent, f, place)))
            average = [a + chance * p for a, p in zip(average, after, strict=True)]
    assert_same(average, before)


@holds_for(worlds, **PROPERTY)
def test_corrections_obey_bayes_rule_both_ways(world):
    """P(g = b | f = a) / P(g = b) = P(f = a | g = b) / P(f = a)."""
    agent, rng = agent_in_doubt(world, [0, 1])
    facts = [f for f in facts_of(agent.graph, [0, 1]) if own_fact(agent, f)]
    f, g = rng.choice(facts, 2, replace=False).tolist()
    of_f, of_g = belief(agent, f), belief(agent, g)
    for a in np.flatnonzero(of_f > 1e-9).tolist():
        for b in np.flatnonzero(of_g > 1e-9).tolist():
            given_f = belief(agent.with_edit(request(agent, f, a, kind="correction")), g)[b]
            given_g = belief(agent.with_edit(request(agent, g, b, kind="correction")), f)[a]
            assert given_f / of_g[b] == pytest.approx(given_g / of_f[a], rel=1e-8)


@holds_for(worlds, **PROPERTY)
def test_a_downstream_belief_is_the_sum_over_upstream_objects(world):
    agent, _ = agent_in_doubt(world)
    graph = agent.graph
    for f in [f for f in facts_of(graph, [0]) if graph.upstream_fact[f] >= 0]:
        up = int(graph.upstream_fact[f])
        total = sum(
            chance * belief(agent.with_edit(request(agent, up, a, kind="correction")), f)
            for a, chance in enumerate(belief(agent, up))
            if chance > 0
        )
        assert_same([total], [belief(agent, f)])


@holds_for(worlds, st.integers(0, 2), **PROPERTY)
def test_relabelled_objects_have_relabelled_beliefs(world, count):
    seed, config, upstream = world
    rng = np.random.default_rng(seed)
    graph, _, sentences = tiny_world(seed, config, [0], upstream)
    new = np.arange(len(graph.entities), dtype=np.int32)
    new[graph.objects] = rng.permutation(graph.objects)
    relations = range(len(graph.relations))
    candidates = [np.sort(new[graph.candidates_of(r)]) for r in relations]
    other_graph = replace(graph, object=new[graph.object], candidates=np.concatenate(candidates))

    def renamed(atoms):
        atoms = atoms.copy()
        atoms[:, 2] = np.where(atoms[:, 2] < 0, -1, new[atoms[:, 2]])
        return atoms

    other_sentences = replace(sentences, a=renamed(sentences.a), b=renamed(sentences.b))
    agent = fit_exact(graph, config, sentences).with_focus([0])
    other = fit_exact(other_graph, config, other_sentences).with_focus([0])
    for _ in range(count):
        asked, _ = random_edit(rng, agent, facts_of(graph, [0]))
        asked = asked._replace(kind="evidence")
        agent, other = agent.with_edit(asked), other.with_edit(asked._replace(object=int(new[asked.object])))
    for s, r in zip(graph.subject.tolist(), graph.relation.tolist(), strict=True):
        objects = graph.candidates_of(r)
        assert_same([other.predict(s, r).of(new[objects])], [agent.predict(s, r).of(objects)])


@holds_for(worlds, st.integers(1, 2), **PROPERTY)
def test_evidence_about_a_subject_moves_others_in_its_family_of_relations_only(world, count):
    agent, rng = agent_in_doubt(world)
    before = beliefs(agent)
    graph = agent.graph
    one = family(graph, int(rng.choice(facts_of(graph, [0]))))
    facts = [f for f in facts_of(graph, [0]) if family(graph, f) == one]
    after = beliefs(edit(rng, agent, facts, count)[0])
    apart = [f for f in range(len(graph)) if family(graph, f) != one]
    assert_same([after[f] for f in apart], [before[f] for f in apart], tolerance=0.0)


@holds_for(worlds, st.sampled_from([0.0, 0.4, 1.0]), **PROPERTY)
def test_a_changed_fact_is_what_it_was_set_to(world, redraw):
    agent, _ = agent_in_doubt(world)
    for f in [f for f in facts_of(agent.graph, [0]) if own_fact(agent, f)]:
        for place, wanted in enumerate(np.eye(len(belief(agent, f)))):
            changed = agent.with_edit(request(agent, f, place, kind="do", redraw=redraw))
            assert_same([belief(changed, f)], [wanted], tolerance=0.0)


@holds_for(worlds, st.sampled_from([0.0, 0.4, 1.0]), **PROPERTY)
def test_a_change_moves_nothing_that_does_not_depend_on_it(world, redraw):
    agent, rng = agent_in_doubt(world)
    graph = agent.graph
    f = int(rng.choice([f for f in facts_of(graph, [0]) if own_fact(agent, f)]))
    changed = agent.with_edit(request(agent, f, 0, kind="do", redraw=redraw))
    apart = [g for g in range(len(graph)) if f not in (g, *upstream_facts(graph, g))]
    assert_same([belief(changed, g) for g in apart], [belief(agent, g) for g in apart])


@holds_for(worlds, **PROPERTY)
def test_nothing_after_a_change_is_modelled(world):
    agent, _ = agent_in_doubt(world)
    graph = agent.graph
    changed = agent.with_edit(request(agent, int(graph.find(0, 0)), 0, kind="do"))
    for f in [f for f in facts_of(graph, [0]) if root(graph, f) == graph.find(0, 0)]:
        s, r, o, *_ = asked = request(agent, f, 0)
        assert not changed.accepts(s, r, "do")
        with pytest.raises(InputError, match="changed already"):
            changed.with_edit(asked)
        with pytest.raises(InputError, match="changed already"):
            changed.weight_for(s, r, o)


@pytest.mark.slow
@pytest.mark.parametrize("persistence", ["fact", "sentence"])
def test_credences_are_calibrated(persistence):
    """On worlds drawn from the prior, truths fall where the posterior says (randomised ranks)."""
    config = ExactConfig(persistence=persistence, noise=0.3, logical=0.0, root_mass=2.0, row_mass=1.0)
    ranks = []
    for seed in range(1500):
        graph, model, sentences = tiny_world(seed, config, [0])
        agent = fit_exact(graph, config, sentences)
        rng = np.random.default_rng([7, seed])
        for f in np.flatnonzero(graph.subject == 0):
            if agent.has_truth(int(f)):
                r = int(graph.relation[f])
                p = agent.predict(0, r).dense_probabilities()
                at = int(np.searchsorted(graph.candidates_of(r), model.truth[f]))
                ranks.append(p[:at].sum() + rng.random() * p[at])
    counts = np.histogram(ranks, 20, (0, 1))[0]
    # A calibrated agent fails once in a million seeds.
    assert chisquare(counts).pvalue > 1e-6


def test_too_many_states_are_refused(monkeypatch):
    monkeypatch.setattr("bayes.enumeration.MOST_STATES", 1)
    config = ExactConfig(logical=0.0)
    graph, _, sentences = tiny_world(5, config, [0])
    edited = fit_exact(graph, config, sentences).with_edit(
        EditRequest(0, 0, int(graph.candidates_of(0)[0]), 1.0)
    )
    assert edited.predict(0, 0).dense_probabilities().sum() == pytest.approx(1)
    with pytest.raises(InputError, match="states"):
        edited.predict(1, 0).dense_probabilities()


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("upstream", [PAIR, FORK, CHAIN])
def test_what_is_summed_beforehand_changes_no_answer(upstream, changed, monkeypatch):
    """About one subject, after an edit of another, and perhaps after the first one changed."""
    config = ExactConfig(noise=0.3, row_mass=0.3, root_mass=0.5, statements=8, logical=0.0)

    def answers():
        for seed in range(8):
            graph, _, sentences = tiny_world(seed, config, (0, 1), upstream)
            agent = fit_exact(graph, config, sentences)
            for fact in facts_of(graph, [1]):
                relation = int(graph.relation[fact])
                objects = graph.candidates_of(relation)
                edited = agent.with_edit(EditRequest(1, relation, int(objects[seed % len(objects)]), 1.5))
                if changed and graph.find(0, 0) >= 0:
                    set_to = int(graph.candidates_of(0)[seed // 2 % len(graph.candidates_of(0))])
                    edited = edited.with_edit(EditRequest(0, 0, set_to, 1.0, "do", 0.5))
                for own in facts_of(graph, [0]):
                    yield edited.predict(0, int(graph.relation[own])).probability

    summed = list(answers())
    monkeypatch.setattr(Tree, "last_facts", lambda tree: frozenset())
    for one, other in zip(summed, answers(), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)
