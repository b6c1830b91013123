"""What both agents promise through one interface: whole distributions, single numbers and views agree."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes import kernels
from bayes.exact import fit_exact
from bayes.interface import Distribution
from bayes.paper import evidence_from, fit_paper
from bayes.request import EditRequest
from corpus.compiled import compile_kernel
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.exact import FULLY
from tests.naive import DenseAgent, evidence
from tests.test_exact import world_of
from tests.worlds import make_world


@pytest.fixture(params=["plain", "compiled"])
def way(request, monkeypatch):
    """Both ways to run a kernel."""
    monkeypatch.setattr("corpus.compiled.LEAST_WORK", 0 if request.param == "compiled" else 10**12)


@pytest.fixture(scope="module")
def exact_world():
    return world_of(ExactConfig(logical=0.2), subjects=30)


@pytest.fixture(params=["paper", "exact"])
def agent(request, exact_world):
    graph, _, sentences, _ = exact_world
    if request.param == "paper":
        return fit_paper(evidence_from(sentences), graph.upstream, len(graph.entities), graph.objects)
    return fit_exact(graph, ExactConfig(logical=0.2), sentences)


def edited(agent, graph, model):
    """The agent after evidence that contradicts the first fact that takes it."""
    for f in np.flatnonzero(model.stratum == FULLY):
        s, r = int(graph.subject[f]), int(graph.relation[f])
        if agent.accepts(s, r, "evidence") and graph.downstream(r):
            o = int(next(o for o in graph.candidates_of(r) if o != model.truth[f]))
            return agent.with_edit(EditRequest(s, r, o, agent.weight_for(s, r, o, 0.9)))
    raise AssertionError("there is a fact to be edited")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("after", [False, True])
def test_arrays_of_questions_are_answered_like_single_ones(agent, exact_world, after):
    graph, model, _, _ = exact_world
    agent = edited(agent, graph, model) if after else agent
    whole = agent.distributions(graph.subject, graph.relation)
    assert whole.shape == (len(graph), len(agent.objects))
    np.testing.assert_allclose(whole.sum(axis=1), 1, atol=1e-10)
    triples = agent.probability(graph.subject[:, None], graph.relation[:, None], agent.objects)
    np.testing.assert_allclose(triples, whole, atol=1e-12)
    for row, s, r in zip(whole, graph.subject.tolist(), graph.relation.tolist(), strict=True):
        single = agent.predict(s, r)
        np.testing.assert_allclose(single.of(agent.objects), row, atol=1e-12)
        assert single.mode() == agent.objects[np.argmax(row)]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("belief", ["best", "direct"])
@pytest.mark.parametrize("seed", [3, 50])
def test_the_kernels_equal_the_dense_twin(belief, seed):
    world = make_world(subjects=8, seed=seed)
    graph = world.graph
    place = {int(o): i for i, o in enumerate(graph.objects)}
    items = [(w, s, r, place[o]) for w, s, r, o in evidence(world.sentences)]
    twin = DenseAgent(items, graph.upstream, len(graph.objects), 1.0, 5.0)
    agent = fit_paper(evidence_from(world.sentences), graph.upstream, len(graph.entities), graph.objects)
    for f in np.flatnonzero(np.isin(graph.relation, graph.upstream_relations))[:3]:
        s, r, o = int(graph.subject[f]), int(graph.relation[f]), int(graph.objects[0])
        agent = agent.with_edit(EditRequest(s, r, o, 40.0))
        twin.observe(40.0, s, r, place[o])
    asked = {"best": twin.best, "direct": twin.direct_belief}[belief]
    want = np.array([asked(s, r) for s, r in zip(graph.subject, graph.relation, strict=True)])
    distributions = agent.distributions(graph.subject, graph.relation, belief)
    np.testing.assert_allclose(distributions, want, atol=1e-10)
    one_by_one = agent.probability(graph.subject[:, None], graph.relation[:, None], graph.objects, belief)
    np.testing.assert_allclose(one_by_one, want, atol=1e-10)


@pytest.mark.parametrize("kernel", [kernels.rank_most_probable, compile_kernel(kernels.rank_most_probable)])
def test_the_most_probable_are_those_that_a_sort_puts_first(kernel):
    rng = np.random.default_rng(0)
    for size, count in ((7, 1), (7, 3), (7, 7), (40, 11)):
        # Few different values, so that there are ties.
        values = rng.integers(0, 5, (6, size)) / 5
        out = np.empty((6, count), np.int64)
        kernel(0, 6, values, count, out)
        np.testing.assert_array_equal(out, np.argsort(-values, axis=1, kind="stable")[:, :count])


@given(
    st.sets(st.integers(0, 30), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
    st.floats(0, 0.02),
)
def test_distributions_answer_alike_sparse_and_dense(support, random, remainder):
    support = np.array(sorted(support))
    named = np.array(sorted(random.sample(support.tolist(), random.randint(0, len(support)))), np.int64)
    d = Distribution(named, np.array([random.random() for _ in named]), remainder, support)
    np.testing.assert_array_equal(d.of(support), d.dense_probabilities())
    outside = np.setdiff1d(np.arange(-2, 35), support)
    assert (d.of(outside) == 0).all()
    assert d.of(np.array([[d.mode()]])) == d.dense_probabilities().max()
    assert set(d.top(5)) <= set(named.tolist())


def test_a_mode_may_be_an_object_that_nothing_names():
    d = Distribution(np.array([2]), np.array([0.1]), 0.3, np.array([1, 2, 5, 7]))
    assert d.mode() == 1


@pytest.mark.parametrize("weight", [0.0, -1.0, math.nan, math.inf])
def test_evidence_needs_a_positive_finite_weight(agent, exact_world, weight):
    graph = exact_world[0]
    s, r, o = int(graph.subject[0]), int(graph.relation[0]), int(graph.object[0])
    with pytest.raises(InputError, match="should be positive and"):
        agent.with_edit(EditRequest(s, r, o, weight))


def test_requests_that_an_agent_has_no_notion_of_are_refused(exact_world):
    graph, _, sentences, _ = exact_world
    paper = fit_paper(evidence_from(sentences), graph.upstream, len(graph.entities), graph.objects)
    s, r, o = int(graph.subject[0]), int(graph.relation[0]), int(graph.object[0])
    for kind in ("correction", "do"):
        assert not paper.accepts(s, r, kind)
        with pytest.raises(InputError, match="evidence"):
            paper.with_edit(EditRequest(s, r, o, 1.0, kind))
    stranger = int(np.setdiff1d(np.arange(len(graph.entities)), graph.objects)[0])
    with pytest.raises(InputError, match="not one of the world"):
        paper.probability(s, r, stranger)
    unknown = [((-1, r), "entity"), ((10**6, r), "entity"), ((s, -1), "relation"), ((s, 10), "relation")]
    for wrong, name in unknown:
        message = f"there is no {name} {wrong[name == 'relation']} in this world"
        for ask in (paper.predict, lambda s, r: paper.weight_for(s, r, o)):
            with pytest.raises(InputError, match=message):
                ask(*wrong)
        with pytest.raises(InputError, match=message):
            paper.with_edit(EditRequest(*wrong, o))


def test_what_is_not_there_is_refused_by_name(exact_world):
    graph, _, sentences, _ = exact_world
    agent = fit_exact(graph, ExactConfig(logical=0.2), sentences)
    s, r, o = int(graph.subject[0]), int(graph.relation[0]), int(graph.object[0])
    # A relation beyond the last is not the next subject's first.
    for wrong in ((s, len(graph.relations)), (s, -1), (10**6, r)):
        with pytest.raises(InputError, match="there is no fact"):
            agent.probability(*wrong, o)
    for object_id in (10**6, -3):
        with pytest.raises(InputError, match=f"'{object_id}' cannot be the object of"):
            agent.with_edit(EditRequest(s, r, object_id))
    with pytest.raises(InputError, match="evidence, correction, do"):
        agent.with_edit(EditRequest(s, r, o, 1.0, "wish"))
    with pytest.raises(InputError, match="at most 1e"):
        agent.with_edit(EditRequest(s, r, o, 1e18))
    with pytest.raises(InputError, match="cannot be in focus"):
        agent.with_focus([10**6])


def test_writing_to_an_answer_does_not_change_the_agent(agent, exact_world):
    graph = exact_world[0]
    s, r = int(graph.subject[0]), int(graph.relation[0])
    before = agent.predict(s, r)
    copy = Distribution(*(np.array(x) for x in before))
    for array in (before.objects, before.probability, before.support):
        if array.flags.writeable:
            array[:] = 0
    after = agent.predict(s, r)
    for x, y in zip(after, copy, strict=True):
        np.testing.assert_array_equal(x, y)


def test_every_agent_says_how_exact_it_is(agent):
    kind, bound, why = agent.exactness
    assert kind == "approximation"
    assert bound is None
    assert why
