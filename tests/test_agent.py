"""The paper's agent: equal to its dense twin, and everything design.md 5.4 asks of every agent."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes.counts import observation_counts
from bayes.paper import Evidence, evidence_from, fit_paper
from bayes.request import EditRequest
from corpus.errors import InputError
from tests.naive import DenseAgent, evidence

SUBJECTS, RELATIONS, SIZE = 4, 4, 6
UPSTREAM = np.array([-1, 0, -1, 2])
TOLERANCE = 1e-10

weights = st.sampled_from([1.0, -1.0, 1 / 3, 2 / 3, 3.0])
items = st.lists(
    st.tuples(weights, st.integers(0, SUBJECTS - 1), st.integers(0, RELATIONS - 1), st.integers(0, SIZE - 1)),
    min_size=1,
    max_size=25,
)
edits = st.tuples(
    st.integers(0, SUBJECTS - 1), st.integers(0, RELATIONS - 1), st.integers(0, SIZE - 1), st.floats(1, 3000)
)
settings = st.tuples(st.sampled_from([0.1, 0.5, 1.0, 6.0, 10.0]), st.sampled_from([1.0, 5.0]))
everything = [(s, r) for s in range(SUBJECTS) for r in range(RELATIONS)]
objects = np.arange(SIZE)


def agent_of(rows, mass=1.0, copies=1.0, upstream=UPSTREAM):
    return fit_paper(
        Evidence(*map(np.array, zip(*rows, strict=True))), upstream, SUBJECTS, objects, mass, copies
    )


def beliefs(agent):
    s, r = np.array(everything).T[:, :, None]
    return np.array([agent.probability(s, r, objects, b) for b in ("best", "direct")])


def assert_equals_twin(agent, twin):
    got = [
        [agent.probability(s, r, objects, "direct"), agent.probability(s, r, objects)] for s, r in everything
    ]
    expected = [[twin.direct_belief(s, r), twin.best(s, r)] for s, r in everything]
    np.testing.assert_allclose(got, expected, atol=TOLERANCE)


@given(items, settings)
def test_equals_the_dense_twin(rows, setting):
    assert_equals_twin(agent_of(rows, *setting), DenseAgent(rows, UPSTREAM, SIZE, *setting))


@given(items, st.lists(edits, min_size=1, max_size=3), settings)
def test_edits_in_sequence_equal_the_dense_twin(rows, requests, setting):
    agent, twin = agent_of(rows, *setting), DenseAgent(rows, UPSTREAM, SIZE, *setting)
    for s, r, o, w in requests:
        agent = agent.with_edit(EditRequest(s, r, o, w))
        twin.observe(w, s, r, o)
        assert_equals_twin(agent, twin)


@given(items)
def test_beliefs_are_distributions(rows):
    p = beliefs(agent_of(rows))
    assert (p >= 0).all()
    assert (p <= 1).all()
    np.testing.assert_allclose(p.sum(-1), 1, atol=TOLERANCE)


@given(items, st.randoms())
def test_the_order_of_evidence_does_not_matter(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    np.testing.assert_allclose(beliefs(agent_of(rows)), beliefs(agent_of(shuffled)), atol=TOLERANCE)


@given(items, st.lists(edits, min_size=2, max_size=2))
def test_the_order_of_edits_does_not_matter(rows, requests):
    a, b = (EditRequest(*r) for r in requests)
    agent = agent_of(rows)
    np.testing.assert_allclose(
        beliefs(agent.with_edit(a).with_edit(b)), beliefs(agent.with_edit(b).with_edit(a)), atol=1e-9
    )


@given(items, edits)
def test_an_edit_leaves_the_fitted_agent_alone(rows, request):
    agent = agent_of(rows)
    before = beliefs(agent)
    edited = agent.with_edit(EditRequest(*request))
    assert (beliefs(agent) == before).all()
    assert (beliefs(edited.with_edit(EditRequest(0, 0, 0, 5.0))) >= 0).all()
    assert (beliefs(agent) == before).all()


@given(items, edits)
def test_a_vanishing_weight_changes_nothing(rows, request):
    s, r, o, _ = request
    agent = agent_of(rows)
    change = np.abs(beliefs(agent.with_edit(EditRequest(s, r, o, 1e-13))) - beliefs(agent)).max(-1)
    best, direct = change.reshape(2, SUBJECTS, RELATIONS)
    assert direct.max() < TOLERANCE
    # Tables are filled by mention, so an upstream edit moves its downstream beliefs at any weight.
    assert best.max() < TOLERANCE or r in (0, 2)


@given(items, edits)
def test_belief_in_the_request_rises_with_weight_towards_one(rows, request):
    s, r, o, _ = request
    agent = agent_of(rows)
    p = [agent.probability(s, r, np.array([o]), "direct")[0]]
    for w in (1.0, 2.0, 10.0, 1e3, 1e9):
        p.append(agent.with_edit(EditRequest(s, r, o, w)).probability(s, r, np.array([o]), "direct")[0])
    assert (np.diff(p) > 0).all()
    assert p[-1] > 1 - 1e-6


@given(items, edits, st.floats(0.5, 0.99))
def test_the_weight_reaches_the_credence(rows, request, credence):
    s, r, o, _ = request
    agent = agent_of(rows)
    before = agent.probability(s, r, np.array([o]), "direct")[0]
    weight = agent.weight_for(s, r, o, credence)
    # Also where the belief has the credence already: it is brought halfway to 1.
    assert weight > 0
    after = agent.with_edit(EditRequest(s, r, o, weight)).probability(s, r, np.array([o]), "direct")[0]
    goal = credence if before <= credence else (1 + before) / 2
    # The weight is rounded up to a whole count, so the credence is reached and hardly passed.
    assert after >= goal - TOLERANCE
    rest = agent._observed_row(agent._row_key(s, r)).total + agent.prior_mass
    assert after <= goal + 1 / (rest * (1 - before) / (1 - goal))


def test_an_agent_told_a_weight_gives_every_edit_that():
    agent = replace(agent_of([(1.0, 0, 0, 0)]), edit_weight=1000.0)
    edited = agent.with_edit(EditRequest(0, 0, 1, agent.weight_for(0, 0, 1)))
    assert (agent.weight_for(0, 0, 1), edited.weight_for(0, 0, 0)) == (1000, 1000)
    assert edited.probability(0, 0, 1, "direct") > 0.99


def test_belief_can_be_raised_again_and_again():
    """Until 1 less the belief is too small to be a number, and beyond."""
    agent = agent_of([(1.0, 0, 0, 0)])
    for _ in range(70):
        agent = agent.with_edit(EditRequest(0, 0, 0, agent.weight_for(0, 0, 0)))
    assert agent.probability(0, 0, 0) == pytest.approx(1, abs=1e-12)
    for credence in (0.0, 1.0):
        with pytest.raises(InputError, match="inside"):
            agent.weight_for(0, 0, 0, credence)


@given(items, edits)
def test_others_move_only_through_shared_tables(rows, request):
    s, r, o, w = request
    agent = agent_of(rows)
    change = np.abs(beliefs(agent.with_edit(EditRequest(s, r, o, w))) - beliefs(agent)).max(-1)
    pair = {0: (0, 1), 1: (1,), 2: (2, 3), 3: (3,)}[r]
    for b, belief in enumerate(("best", "direct")):
        for i, (s2, r2) in enumerate(everything):
            if s2 != s and (belief == "direct" or r2 not in pair or UPSTREAM[r2] < 0):
                assert change[b, i] == 0
            if s2 == s and r2 not in pair:
                assert change[b, i] < TOLERANCE


@given(items)
def test_the_marginal_is_the_sum_over_upstream_objects(rows):
    agent = agent_of(rows)
    for s, r in everything:
        if UPSTREAM[r] >= 0 and agent.has_seen(s, UPSTREAM[r]):
            up = agent.probability(s, UPSTREAM[r], objects, "direct")
            tables = np.array([agent.conditional(r, a).of(objects) for a in range(SIZE)])
            np.testing.assert_allclose(agent.probability(s, r, objects), up @ tables, atol=TOLERANCE)


@given(items, st.permutations(range(SIZE)))
def test_relabelling_objects_relabels_the_answer(rows, order):
    renamed = [(w, s, r, order[o]) for w, s, r, o in rows]
    np.testing.assert_allclose(
        beliefs(agent_of(renamed))[..., order], beliefs(agent_of(rows)), atol=TOLERANCE
    )


def test_evidence_from_sentences(world):
    columns = evidence_from(world.sentences)
    got = sorted(zip(*(column.tolist() for column in columns), strict=True))
    assert got == sorted((float(w), *atom) for w, *atom in evidence(world.sentences))


def test_the_agent_knows_the_ground_truth(world):
    graph = world.graph
    agent = fit_paper(evidence_from(world.sentences), graph.upstream, len(graph.entities), graph.objects)
    answers = [
        agent.predict(s, r, "direct").mode() for s, r in zip(graph.subject, graph.relation, strict=True)
    ]
    np.testing.assert_array_equal(answers, world.generative.truth)


@pytest.mark.parametrize("weight", [0.0, -0.5, -2.0, float("nan"), float("inf")])
def test_meaningless_weights_are_refused(weight):
    with pytest.raises(InputError, match="evidence weight"):
        observation_counts(np.array([weight]), SIZE)


def test_a_belief_about_nothing_is_uniform():
    agent = agent_of([(1.0, 0, 0, 0)])
    np.testing.assert_allclose(agent.probability(3, 2, objects), 1 / SIZE)
    assert agent.predict(3, 2).top(5).tolist() == []
