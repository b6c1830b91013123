"""The generative distributions against their naive twin, and sampling against the distributions."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from corpus.generative import generative_model, other_objects
from tests.naive import generative
from tests.worlds import make_world, random_graph

FALSE_ALARM = 1e-6


@given(st.integers(0, 10_000))
def test_tables_equal_the_naive_twin(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    model = generative_model(graph, rng)
    tables = [
        dict(zip(model.objects[a:b].tolist(), model.probability[a:b], strict=True))
        for a, b in zip(model.offsets[:-1], model.offsets[1:], strict=True)
    ]
    share = [tables[t].get(o, 0) for t, o in zip(model.table, graph.object, strict=True)]
    expected = generative(graph, model.distractor, share)
    for i in range(len(graph)):
        assert tables[model.table[i]] == pytest.approx(expected[i], abs=1e-12)
        assert sum(expected[i].values()) == pytest.approx(1)
        assert max(expected[i].values()) >= 0.6 - 1e-12
        best = max(expected[i].values())
        assert model.truth[i] == min(o for o, p in expected[i].items() if p >= best - 1e-12)
        assert model.mode_share[i] == pytest.approx(best)


@given(st.integers(0, 10_000))
def test_root_facts_have_a_true_object_and_another(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    model = generative_model(graph, rng)
    root = graph.upstream_fact < 0
    assert (model.truth[root] == graph.object[root]).all()
    assert (model.distractor[root] != graph.object[root]).all()
    assert np.isin(model.distractor[root], graph.objects).all()
    assert (model.distractor[~root] == -1).all()


def test_same_relation_distractors_stay_in_the_relation(world):
    graph = world.graph
    model = generative_model(graph, np.random.default_rng(0), "same-relation")
    for i in np.flatnonzero(graph.upstream_fact < 0):
        pool = set(graph.object[graph.relation == graph.relation[i]])
        assert model.distractor[i] in pool or len(pool) == 1


def test_cumulative_probabilities_are_of_their_table():
    model = make_world(seed=3).generative
    for low, high in itertools.pairwise(model.offsets):
        expected = np.cumsum(model.probability[low:high])
        np.testing.assert_allclose(model.cumulative[low:high], expected, rtol=1e-12)
        assert model.cumulative[high - 1] == 1.0


@given(st.sets(st.integers(0, 30), min_size=2), st.integers(-5, 40), st.integers(0, 99))
def test_other_objects_are_uniform_over_the_others(pool, avoid, seed):
    pool = np.array(sorted(pool))
    drawn = other_objects(pool, np.full(3000, avoid), np.random.default_rng(seed))
    others = pool[pool != avoid]
    counts = (drawn[:, None] == others).sum(0)
    assert counts.sum() == 3000
    assert len(others) == 1 or chisquare(counts).pvalue > FALSE_ALARM
