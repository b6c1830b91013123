"""Slopes of truth over stating the edit: within editors, by hand, and with intervals that hold the truth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from experiments.measures.slopes import TRUTHS, Point, correlate_ranks, estimate_slopes
from testbed.scores.metric import Metric


def points_of(stated, slope, intercept, rng, cases=60):
    """An editor in a world: shares of each case scatter about a line."""
    subject = np.arange(cases) // 2
    one = np.ones(cases)
    points = []
    for share in stated:
        x = np.full(cases, share)
        y = intercept + slope * share + 0.02 * rng.normal(size=cases)
        points.append(Point(Metric(x, one), [Metric(y, one)] * len(TRUTHS), subject))
    return points


def test_slopes_are_within_groups():
    """Groups fall, and lie the higher the more they state: over all points truth would seem to rise."""
    rng = np.random.default_rng(0)
    groups = [points_of(start + np.linspace(0, 0.2, 5), -0.5, 2 * start, rng) for start in (0.1, 0.4, 0.7)]
    for slope, rank in estimate_slopes(groups, "x").values():
        assert slope.value == pytest.approx(-0.5, abs=0.05)
        assert slope.low < -0.5 < slope.high < 0
        assert rank.value < -0.8
        assert slope.cases == 180


def test_a_flat_line_has_no_slope():
    rng = np.random.default_rng(1)
    slope, _ = estimate_slopes([points_of(np.linspace(0.1, 0.9, 5), 0.0, 0.8, rng)], "x")[TRUTHS[0]]
    assert slope.low < 0 < slope.high


@given(st.integers(0, 2**32 - 1), st.integers(3, 8))
def test_rank_correlations_are_spearmans(seed, n):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 4, (2, 3, n)).astype(float)
    ours = correlate_ranks(x, y)
    for row, a, b in zip(ours, x, y, strict=True):
        if np.ptp(a) and np.ptp(b):
            assert row == pytest.approx(spearmanr(a, b).statistic)
        else:
            assert np.isnan(row)
