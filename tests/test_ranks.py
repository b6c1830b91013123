"""Kendall's tau-b against SciPy's, by its symmetries, and where it has no value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from testbed.scores.statistics import kendall_tau, rank_values

rankings = st.integers(2, 8).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)
)


@given(rankings)
def test_it_is_scipys(pair):
    first, second = np.array(pair, float)
    np.testing.assert_allclose(kendall_tau(first, second), kendalltau(first, second).statistic, atol=1e-12)


@given(rankings)
def test_turning_a_ranking_round_turns_the_sign(pair):
    first, second = np.array(pair, float)
    np.testing.assert_array_equal(kendall_tau(first, second), kendall_tau(second, first))
    np.testing.assert_allclose(kendall_tau(-first, second), -kendall_tau(first, second))
    if len(set(first)) > 1:
        assert kendall_tau(first, first) == pytest.approx(1)


def test_by_hand():
    # Of the six pairs five are in the same order and one is not.
    assert kendall_tau(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 4, 3])) == pytest.approx(4 / 6)
    assert np.isnan(kendall_tau(np.ones(3), np.arange(3.0)))
    assert np.isnan(kendall_tau(np.array([1.0, np.nan]), np.arange(2.0)))
    many = np.stack([np.arange(4.0), np.arange(4.0)[::-1]])
    np.testing.assert_allclose(kendall_tau(many, many[:1]), [1, -1])


def test_better_is_higher():
    values = np.array([0.2, 0.9, 1.3])
    assert rank_values(values, "high").argmax() == 2
    assert rank_values(values, "low").argmax() == 0
    assert rank_values(values, "one").argmax() == 1
