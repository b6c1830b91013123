"""Do rankings agree? What is resampled, which models are compared, and what agreement comes to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.measures.agreement import CASES, agreement_by_factor, decision_accuracy, weighted_ratios
from testbed.scores.metric import Metric
from testbed.scores.statistics import Estimate, kendall_tau


def test_ratios_weigh_cases():
    metric = Metric(np.array([1.0, 0.0, 3.0]), np.array([1.0, 1.0, 2.0]))
    values = weighted_ratios([metric, metric], np.array([[1.0, 1, 1], [0, 2, 1], [0, 0, 0]]))
    np.testing.assert_allclose(values[:2], [[1.0, 1.0], [3 / 4, 3 / 4]])
    assert np.isnan(values[2]).all()


def test_agreement_by_hand():
    """Three models: the second ranks as the first, the third the other way round; no resample differs."""
    up = np.arange(4.0)
    ranked = np.stack([up, up, -up])[None].repeat(3, axis=0)
    halves = ranked[:, :, None].repeat(2, axis=2)
    which = {"seed": [(0, 1)], "depth": [(0, 2), (1, 2)], "world": [(0, 1), (0, 2)]}
    by_factor = agreement_by_factor(ranked, halves, which, 10)
    assert by_factor["seed"][:4] == (1, 1, 1, 10)
    assert by_factor["depth"].value == -1
    assert by_factor["world"].value == 0
    assert by_factor[CASES][:4] == (1, 1, 1, 5)


def test_a_model_that_ranks_nobody_is_left_out():
    ranked = np.stack([np.arange(3.0), np.arange(3.0), np.ones(3)])[None].repeat(2, axis=0)
    by_factor = agreement_by_factor(
        ranked, ranked[:, :, None].repeat(2, axis=2), {"seed": [(0, 1), (0, 2)]}, 10
    )
    assert by_factor["seed"].value == 1
    nobody = agreement_by_factor(ranked, ranked[:, :, None].repeat(2, axis=2), {"seed": [(0, 2)]}, 10)["seed"]
    assert np.isnan(nobody.value)


def test_the_interval_is_of_the_mean_over_pairs():
    rng = np.random.default_rng(0)
    ranked = rng.normal(size=(201, 4, 5))
    both = [(0, 1), (2, 3)]
    of_seeds = agreement_by_factor(ranked, ranked[:, :, None].repeat(2, axis=2), {"seed": both}, 10)["seed"]
    naive = [np.mean([kendall_tau(r[i], r[j]) for i, j in both]) for r in ranked]
    assert of_seeds.value == pytest.approx(naive[0])
    assert of_seeds[1:3] == pytest.approx(np.quantile(naive[1:], [0.025, 0.975]))


def interval(value, low, high):
    return Estimate(value, low, high, 1)


def intervals(half):
    values = st.lists(st.floats(0, 1), min_size=2, max_size=6, unique=True)
    return values.map(lambda of: {str(i): interval(x, x - half, x + half) for i, x in enumerate(of)})


@given(intervals(0.1))
def test_a_model_decides_as_itself_and_never_as_its_reverse(model):
    share, pairs = decision_accuracy(model, model)
    turned = {name: interval(-x.value, -x.high, -x.low) for name, x in model.items()}
    assert share == (1 if pairs else None)
    assert decision_accuracy(turned, model) == (0 if pairs else None, pairs)


@given(intervals(1.0), intervals(0.1))
def test_what_the_large_model_does_not_tell_apart_counts_for_nothing(large, small):
    assert decision_accuracy(small, large) == (None, 0)


def test_decisions_by_hand():
    large = {"a": interval(0.9, 0.8, 1.0), "b": interval(0.5, 0.4, 0.6), "c": interval(0.45, 0.3, 0.5)}
    small = {name: interval(value, 0, 1) for name, value in (("a", 0.3), ("b", 0.2), ("c", 0.6))}
    assert decision_accuracy(small, large) == (0.5, 2), "a above b, not above c; b and c are not told apart"
