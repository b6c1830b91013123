"""One temperature for all answers: what it leaves alone, and what it finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.scores.distances import total_variation, with_remainder
from testbed.scores.temperature import nearest_temperatures, temper
from tests.random_answers import distributions

SEEDS = st.integers(0, 2**32 - 1)
TEMPERATURES = st.floats(0.2, 5)


@given(SEEDS, TEMPERATURES, TEMPERATURES)
def test_temperatures_multiply_and_keep_the_order(seed, first, second):
    p = distributions(np.random.default_rng(seed), 7)
    once = temper(p, first)
    np.testing.assert_allclose(with_remainder(once).sum(-1), 1)
    np.testing.assert_allclose(temper(once, second), temper(p, first * second), atol=1e-9)
    assert (once.argmax(-1) == p.argmax(-1)).all()
    np.testing.assert_array_equal(temper(p, 1.0), p)


def test_by_hand_and_what_is_nothing_stays_so():
    np.testing.assert_allclose(temper(np.array([0.8, 0.2, 0.0]), 0.5), [0.64 / 0.68, 0.04 / 0.68, 0])
    np.testing.assert_array_equal(temper(np.zeros((2, 3)), 3.0), np.zeros((2, 3)))


def nearest(p, goal):
    """The temperature of all rows together."""
    return nearest_temperatures(p, goal, np.zeros(len(p), int))[0]


@given(SEEDS, TEMPERATURES)
def test_the_temperature_that_made_the_goal_is_found(seed, temperature):
    p = distributions(np.random.default_rng(seed), 30)
    assert nearest(p, temper(p, temperature)) == pytest.approx(temperature, rel=0.01)
    assert nearest(p, p) == 1


@given(SEEDS)
def test_no_temperature_of_a_fine_grid_is_nearer(seed):
    rng = np.random.default_rng(seed)
    p, goal = distributions(rng, 2, 40)
    found = total_variation(temper(p, nearest(p, goal)), goal).sum()
    assert found <= total_variation(p, goal).sum()
    tried = [total_variation(temper(p, t), goal).sum() for t in np.geomspace(1 / 32, 32, 201)]
    assert found <= min(tried) * 1.005


@given(SEEDS, st.floats(1, 5))
def test_from_all_that_differ_by_a_temperature_the_same_is_found(seed, temperature):
    """Of what is sharpened, small remainders are lost to rounding."""
    rng = np.random.default_rng(seed)
    p, goal = distributions(rng, 2, 20)
    there = [temper(x, nearest(x, goal)) for x in (p, temper(p, temperature))]
    sums = [total_variation(x, goal).sum() for x in there]
    assert sums[0] == pytest.approx(sums[1], rel=1e-3)


@given(SEEDS)
def test_groups_are_fitted_each_for_itself(seed):
    rng = np.random.default_rng(seed)
    (p, goal), group = distributions(rng, 2, 40), rng.integers(0, 4, 40)
    group[:4] = np.arange(4)
    together = nearest_temperatures(p, goal, group)
    np.testing.assert_allclose(together, [nearest(p[group == g], goal[group == g]) for g in range(4)])
