"""The posterior over structures equals a sum over every forest, at any size of score."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import dirichlet_multinomial

from bayes.structure import log_dirichlet_multinomial, structure_posterior
from corpus.config import ExactConfig
from corpus.exact import draw_world
from corpus.forests import forest_posterior, likeliest_forest
from tests.examples import holds_for
from tests.worlds import make_world


def every_forest(n):
    """Parents of each relation, -1 for none, without cycles."""
    for parents in itertools.product(range(-1, n), repeat=n):
        for start in range(n):
            seen, at = set(), start
            while at >= 0 and at not in seen:
                seen.add(at)
                at = parents[at]
            if at >= 0:
                break
        else:
            yield parents


def by_enumeration(scores):
    n = len(scores)
    forests = list(every_forest(n))
    logs = np.array([sum(scores[p, c] for c, p in enumerate(f) if p >= 0) for f in forests])
    weight = np.exp(logs - logsumexp(logs))
    chance = np.zeros((n + 1, n))
    for f, w in zip(forests, weight, strict=True):
        for c, p in enumerate(f):
            chance[p, c] += w
    return chance[:n], chance[n]


def test_there_are_as_many_forests_as_cayley_says():
    # Rooted forests of n labelled nodes number (n + 1) ** (n - 1).
    assert [len(list(every_forest(n))) for n in (1, 2, 3, 4)] == [1, 3, 16, 125]


@holds_for(st.integers(0, 10**6), st.sampled_from([0.1, 3.0, 1000.0]), st.integers(1, 4), few=100, many=200)
def test_equals_the_sum_over_all_forests(seed, spread, n):
    scores = np.random.default_rng(seed).normal(0, spread, (n, n))
    np.fill_diagonal(scores, -np.inf)
    posterior = forest_posterior(scores)
    depends, alone = by_enumeration(scores)
    np.testing.assert_allclose(posterior.depends, depends, atol=1e-10)
    np.testing.assert_allclose(posterior.alone, alone, atol=1e-10)
    np.testing.assert_allclose(posterior.depends.sum(axis=0) + posterior.alone, 1, atol=1e-10)
    best = max(sum(scores[p, c] for c, p in enumerate(f) if p >= 0) for f in every_forest(n))
    likeliest = likeliest_forest(scores)
    assert sum(scores[p, c] for c, p in enumerate(likeliest.tolist()) if p >= 0) == pytest.approx(best)


@given(st.lists(st.integers(0, 8), min_size=2, max_size=5), st.floats(0.1, 20))
def test_a_row_is_what_scipy_says(counts, mass):
    if sum(counts) == 0:
        return
    objects = np.repeat(np.arange(len(counts)), counts)
    log_p = log_dirichlet_multinomial(np.zeros(len(objects), int), objects, mass, len(counts))
    expected = dirichlet_multinomial.logpmf(counts, np.full(len(counts), mass / len(counts)), sum(counts))
    # scipy counts sets of draws, this one draws in their order.
    orders = math.lgamma(sum(counts) + 1) - sum(math.lgamma(c + 1) for c in counts)
    assert log_p == pytest.approx(expected - orders, rel=1e-9, abs=1e-9)


def test_the_structure_of_a_drawn_world_is_found():
    graph = make_world(subjects=400, upstream_objects=8, downstream_objects=6).graph
    graph, _ = draw_world(graph, ExactConfig(root_mass=8.0), np.random.default_rng(0), redraw=True)
    posterior = structure_posterior(graph, [8.0], [2.0])
    for down, up in enumerate(graph.upstream):
        if up >= 0:
            # A pair is found; which of the two depends on the other can be hard to tell.
            assert posterior.depends[up, down] + posterior.depends[down, up] > 0.99
