"""Statements of every form: equal to a reweighting of all worlds, in any order, without a Dutch book."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bayes.exact import fit_exact
from bayes.paper import Evidence, evidence_from
from bayes.request import EditRequest
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.text.language import Atom, Kind
from corpus.text.sentences import concatenate_sentences, make_sentences
from tests.enumeration import Enumeration
from tests.examples import holds_for
from tests.naive import mentions_truth
from tests.test_agent import RELATIONS, SIZE, SUBJECTS, agent_of, beliefs, items
from tests.test_exact_agent import (
    assert_same,
    belief,
    certificates,
    expected,
    facts_of,
    own_fact,
    tiny_world,
    worlds,
)
from tests.test_exact_agent import beliefs as exact_beliefs
from tests.test_logic import assert_no_dutch_book

TOLERANCE = 1e-10
FORMS = ("denial", "true", "false", "probability", "disjunction", "source", "replacement")
# Random worlds that each sees: 232 in all, and 1,800 in the slow tests.
TOLD = {"few": 100, "many": 500}
RETRACTED = {"few": 60, "many": 400}
PROPERTY = {"few": 12, "many": 150}


def doubtful_world(world):
    """A world in which subjects 0 and 1 are in doubt, its agent, and a stream for what is said."""
    seed, config, upstream = world
    graph, _, sentences = tiny_world(seed, config, [0, 1], upstream)
    agent = fit_exact(graph, config, sentences).with_focus([0, 1])
    return agent, sentences, np.random.default_rng(seed)


def random_request(rng, agent, forms=FORMS, certain=True):
    """A statement of some form about a fact of subjects 0 and 1 that has a truth of its own."""
    fact = int(rng.choice([f for f in facts_of(agent.graph, [0, 1]) if own_fact(agent, f)]))
    s, r = int(agent.graph.subject[fact]), int(agent.graph.relation[fact])
    o, *others = rng.permutation(agent.graph.candidates_of(r)).tolist()
    form = str(rng.choice(forms))
    unsure = [0.05, 0.3, 0.8] if form in ("source", "probability") or not certain else [0.3, 1.0]
    names = others[:1] if form in ("disjunction", "replacement") else []
    return EditRequest(s, r, o, 1.0, "evidence", 1.0, form, float(rng.choice(unsure)), tuple(names))


def reweight_worlds(config, graph, every, request):
    """float[worlds]: probabilities after a statement, by its definition; None where no world is left."""
    s, r, o, _, _, _, form, p, others, _ = request
    z, size = every.z[every.fact[s, r]], len(graph.candidates_of(r))
    is_it, among = z == o, np.isin(z, [o, *others])
    if form in ("denial", "probability", "disjunction"):
        event, q = {
            "denial": (~is_it, p), "probability": (is_it, p), "disjunction": (among, p)
        }[form]  # fmt: skip
        parts = [(event, q), (~event, 1 - q)]
        if any(chance > 0 and every.p[part].sum() == 0 for part, chance in parts):
            return None
        return sum(chance * every.p * part / every.p[part].sum() for part, chance in parts if chance > 0)
    mention, wrong = mentions_truth(config, graph, every.fact[s, r]), config.label_noise
    named = np.where(is_it, mention, (1 - mention) / (size - 1))
    likelihood = {
        "true": named * np.where(is_it, 1 - wrong, wrong),
        "false": named * np.where(is_it, wrong, 1 - wrong),
        "source": np.where(is_it, p, (1 - p) / (size - 1)),
        "replacement": np.where(is_it, 1 - config.noise, config.noise / (size - 1)) * ~np.isin(z, others),
    }[form]
    total = (likelihood * every.p).sum()
    return likelihood * every.p / total if total > 0 else None


@holds_for(worlds, st.integers(1, 3), **TOLD)
def test_statements_of_every_form_equal_a_reweighting_of_all_worlds(world, count):
    """Everybody is asked: who was spoken of, and who shares rows with them."""
    agent, sentences, rng = doubtful_world(world)
    every = Enumeration(agent.graph, agent.config, sentences)
    for _ in range(count):
        request = random_request(rng, agent)
        after = reweight_worlds(agent.config, agent.graph, every, request)
        if after is None:
            with pytest.raises(InputError, match="rules this request out"):
                agent.with_edit(request)
            continue
        agent, every.p = agent.with_edit(request), after
    assert_same(exact_beliefs(agent), expected(every))


@holds_for(worlds, st.sampled_from([Kind.ATOMIC, Kind.TRUTH, Kind.NOT]), st.booleans(), **PROPERTY)
def test_a_statement_is_one_more_sentence_of_the_corpus(world, kind, label):
    """An assertion, a label and a denial are to the agent what it would have read."""
    assume(kind != Kind.NOT or label)
    agent, sentences, rng = doubtful_world(world)
    form = {Kind.ATOMIC: "assertion", Kind.TRUTH: str(label).lower(), Kind.NOT: "denial"}[kind]
    request = random_request(rng, agent, ("true",))._replace(form=form, probability=1.0)
    more = make_sentences(kind, np.array([request[:3]]))
    more.label[:] = label
    every = Enumeration(agent.graph, agent.config, sentences)
    assume(form == "assertion" or reweight_worlds(agent.config, agent.graph, every, request) is not None)
    read = fit_exact(agent.graph, agent.config, concatenate_sentences(sentences, more)).with_focus([0, 1])
    assert_same(exact_beliefs(agent.with_edit(request)), exact_beliefs(read))


@holds_for(worlds, st.booleans(), **RETRACTED)
def test_a_retraction_equals_never_having_read_it(world, whole):
    """As a downdate and refitted: one object of who is in doubt, or all that was said of any fact."""
    # Subjects in doubt have no connectives here, which an agent cannot know of a world that has some.
    world = world if whole else (world[0], replace(world[1], logical=0.0), world[2])
    agent, sentences, rng = doubtful_world(world)
    graph, config = agent.graph, agent.config
    fact = int(rng.choice(len(graph) if whole else facts_of(graph, [0, 1])))
    s, r = int(graph.subject[fact]), int(graph.relation[fact])
    objects = graph.candidates_of(r).tolist() if whole else [int(rng.choice(graph.candidates_of(r)))]
    names = [
        (atoms[:, :2] == (s, r)).all(axis=1) & np.isin(atoms[:, 2], objects)
        for atoms in (sentences.a, sentences.b)
    ]
    left = sentences.take(~(names[0] | names[1]))
    downdated = agent.with_edit(EditRequest(s, r, objects[0], form="retraction", others=tuple(objects[1:])))
    doubtful = sorted({0, 1, s})
    wanted = expected(Enumeration(graph, config, left))
    assert_same(exact_beliefs(downdated.with_focus(doubtful)), wanted)
    assert_same(exact_beliefs(fit_exact(graph, config, left).with_focus(doubtful)), wanted)


@holds_for(worlds, **PROPERTY)
def test_what_was_told_and_withdrawn_leaves_nothing(world):
    """Where nothing else names the object."""
    agent, _, rng = doubtful_world(world)
    request = random_request(rng, agent, ("source",))
    fact = int(agent.graph.find(*request[:2]))
    place = int(np.searchsorted(agent.graph.candidates_of(request.relation), request.object))
    assume(place not in agent.known.evidence_about(fact))
    after = agent.with_edit(request).with_edit(EditRequest(*request[:3], form="retraction"))
    assert_same(exact_beliefs(after), exact_beliefs(agent))


@holds_for(worlds, st.sampled_from(["source", "true", "false"]), st.sampled_from([0.3, 0.9]), **PROPERTY)
def test_beliefs_are_a_martingale(world, form, reliability):
    """The mean of what will be believed, over what may be said, is what is believed."""
    agent, _, rng = doubtful_world(world)
    s, r, *_ = random_request(rng, agent)
    candidates, fact = agent.graph.candidates_of(r).tolist(), int(agent.graph.find(s, r))
    own, size, config = belief(agent, fact), len(candidates), agent.config
    before, mean, total = exact_beliefs(agent), None, 0.0
    for form_said in ("source",) if form == "source" else ("true", "false"):
        for place, o in enumerate(candidates):
            mention, wrong = mentions_truth(config, agent.graph, fact), config.label_noise
            right = {"source": reliability, "true": mention * (1 - wrong), "false": mention * wrong}[
                form_said
            ]
            other = {
                "source": 1 - reliability, "true": (1 - mention) * wrong, "false": (1 - mention) * (1 - wrong)
            }[form_said] / (size - 1)  # fmt: skip
            chance = right * own[place] + other * (1 - own[place])
            total += chance
            if chance > 0:
                told = agent.with_edit(EditRequest(s, r, o, form=form_said, probability=reliability))
                part = [chance * p for p in exact_beliefs(told)]
                mean = part if mean is None else [x + y for x, y in zip(mean, part, strict=True)]
    assert total == pytest.approx(1, abs=TOLERANCE)
    assert_same(mean, before)


@holds_for(worlds, **PROPERTY)
def test_the_order_of_what_is_said_does_not_matter(world):
    """But of beliefs that are set (Jeffrey's rule), of which the last one about a fact holds."""
    agent, _, rng = doubtful_world(world)
    said = [random_request(rng, agent, ("true", "false", "source", "replacement")) for _ in range(3)]
    try:
        in_order = exact_beliefs(_tell(agent, said))
    except InputError:
        return
    for order in permutations(said):
        assert_same(exact_beliefs(_tell(agent, order)), in_order)


@holds_for(worlds, st.sampled_from([0.1, 0.6]), st.sampled_from([0.2, 0.9]), **PROPERTY)
def test_the_last_probability_holds_and_conditionals_stay(world, first, last):
    """Jeffrey's rule: what is believed given the statement, and given its denial, stays as it was."""
    agent, _, rng = doubtful_world(world)
    request = random_request(rng, agent, ("probability",))
    before = float(agent.probability(*request[:3]))
    assume(1e-9 < before < 1 - 1e-9)
    told = _tell(agent, [request._replace(probability=p) for p in (first, last)])
    assert float(told.probability(*request[:3])) == pytest.approx(last, abs=TOLERANCE)
    assert_same(exact_beliefs(told), exact_beliefs(agent.with_edit(request._replace(probability=last))))
    for certain in ("correction", "denial"):
        change = (
            {"kind": "correction", "form": "assertion"} if certain == "correction" else {"form": "denial"}
        )
        given = request._replace(probability=1.0, **change)
        assert_same(exact_beliefs(told.with_edit(given)), exact_beliefs(agent.with_edit(given)), 1e-9)


@holds_for(worlds, **PROPERTY)
def test_no_dutch_book_after_what_was_said(world):
    agent, _, rng = doubtful_world(world)
    try:
        agent = _tell(agent, [random_request(rng, agent, certain=False) for _ in range(2)])
    except InputError:
        return
    a, b = (Atom(*random_request(rng, agent)[:3]) for _ in range(2))
    assert_no_dutch_book(agent, a, b)


def test_what_has_no_meaning_is_refused():
    agent, _, rng = doubtful_world((3, ExactConfig(noise=0.3, logical=0.4), (-1, 0, -1)))
    request = random_request(rng, agent, ("denial",))
    for change, message in (
        ({"probability": 1.5}, "between 0 and 1"),
        ({"form": "disjunction"}, "name other objects"),
        ({"form": "poem"}, "no form"),
        ({"weight": 0.0, "form": "true"}, "weight"),
        ({"kind": "do"}, "is evidence"),
    ):
        with pytest.raises(InputError, match=message):
            agent.with_edit(request._replace(**change))
    settled = agent.with_edit(request._replace(probability=1.0))
    with pytest.raises(InputError, match="before that request"):
        settled.with_edit(request._replace(form="retraction"))


def test_a_retraction_that_leaves_connectives_is_refused():
    """Of a settled fact they were never counted, so that they cannot count now."""
    config = ExactConfig(noise=0.3, logical=0.4)
    graph, _, sentences = tiny_world(5, config, [])
    fact = int(np.flatnonzero([len(graph.candidates_of(r)) > 2 for r in graph.relation])[0])
    agent = fit_exact(graph, config, concatenate_sentences(sentences, certificates(graph, np.array([fact]))))
    triple = (int(graph.subject[fact]), int(graph.relation[fact]), int(graph.object[fact]))
    with pytest.raises(InputError, match="retract all objects"):
        agent.with_edit(EditRequest(*triple, form="retraction"))
    others = [o for o in graph.candidates_of(triple[1]).tolist() if o != triple[2]]
    agent.with_edit(EditRequest(*triple, form="retraction", others=tuple(others)))


triples = st.tuples(st.integers(0, SUBJECTS - 1), st.integers(0, RELATIONS - 1), st.integers(0, SIZE - 2))


@given(items, triples, st.sampled_from([0.0, 0.2, 0.7, 1.0]))
def test_the_papers_agent_takes_each_form_for_its_items(rows, triple, p):
    """What it is in a corpus, which then was read: equal to a fit of it all."""
    s, r, o = triple
    agent = agent_of(rows)
    weights = {
        "denial": [-1.0], "probability": [p or -1.0], "true": [1.0], "false": [-1.0],
        "disjunction": [2 / 3, 2 / 3],
    }  # fmt: skip
    for form, item_weights in weights.items():
        others = (o + 1,) if form == "disjunction" else ()
        told = agent.with_edit(EditRequest(s, r, o, form=form, probability=p, others=others))
        read = agent_of([*rows, *((w, s, r, o + i) for i, w in enumerate(item_weights))])
        np.testing.assert_allclose(beliefs(told), beliefs(read), atol=TOLERANCE)


def test_the_items_are_those_of_the_papers_sentences():
    """-1 for what is denied or false, +1 for what is true (design.md 5.1)."""
    atom = np.array([[0, 0, 1]])
    for kind, label, weight in ((Kind.TRUTH, True, 1), (Kind.TRUTH, False, -1), (Kind.NOT, True, -1)):
        sentence = make_sentences(kind, atom)
        sentence.label[:] = label
        assert evidence_from(sentence) == Evidence(weight, 0, 0, 1)


@pytest.mark.parametrize("form", ["source", "replacement", "retraction"])
def test_the_papers_agent_says_what_it_has_no_rule_for(form):
    with pytest.raises(InputError, match=f"no rule for a request of form '{form}'"):
        agent_of([(1.0, 0, 0, 0)]).with_edit(EditRequest(0, 0, 0, form=form))


def _tell(agent, requests):
    for request in requests:
        agent = agent.with_edit(request)
    return agent
