"""Shares of the variance of D_d: all orders by brute force, known worlds, and what adds up."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from testbed.evaluations.seesaw.attribution import REST, attribute_variance


def r_squared(outcome, columns):
    """By numpy's least squares, of centred numbers."""
    if not columns:
        return 0.0
    x = np.column_stack(columns)
    x = x - x.mean(axis=0)
    y = outcome - outcome.mean()
    return 1 - ((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2).sum() / (y**2).sum()


@given(st.integers(0, 2**32 - 1))
@hypothesis_settings(max_examples=20)
def test_shares_are_means_over_all_orders_and_add_up(seed):
    rng = np.random.default_rng(seed)
    n = 60
    blocks = {"a": rng.normal(size=(n, 2)), "b": rng.normal(size=(n, 1)), "c": rng.normal(size=(n, 1))}
    blocks["c"] += blocks["a"][:, :1]
    outcome = blocks["a"].sum(1) + 0.5 * blocks["b"][:, 0] + rng.normal(size=n)
    shares = attribute_variance(outcome, blocks, np.arange(n) // 2, np.zeros(n, int))
    for name in blocks:
        added = [
            r_squared(outcome, [blocks[one] for one in order[: order.index(name) + 1]])
            - r_squared(outcome, [blocks[one] for one in order[: order.index(name)]])
            for order in itertools.permutations(blocks)
        ]
        assert shares[name].value == pytest.approx(np.mean(added), abs=1e-9)
    assert sum(share.value for share in shares.values()) == pytest.approx(1)
    assert all(share.low <= share.high for share in shares.values())


def test_what_decides_has_the_share_and_worlds_have_means_of_their_own():
    rng = np.random.default_rng(0)
    n = 400
    world, group = rng.integers(0, 2, (2, n))
    frequency = rng.normal(size=n)
    blocks = {"group": group[:, None].astype(float), "frequency": frequency[:, None]}
    outcome = 100.0 * world + frequency + 0.1 * rng.normal(size=n)
    shares = attribute_variance(outcome, blocks, np.arange(n) // 4, world)
    assert shares["frequency"].value > 0.95
    assert shares["group"].value < 0.02
    assert shares[REST].value < 0.05
    assert shares["frequency"].cases == 100


def test_a_column_that_does_not_vary_has_no_share():
    rng = np.random.default_rng(1)
    blocks = {"constant": np.ones((50, 1)), "x": rng.normal(size=(50, 1))}
    shares = attribute_variance(blocks["x"][:, 0] * 2, blocks, np.arange(50), np.zeros(50, int))
    assert shares["constant"].value == pytest.approx(0, abs=1e-9)
    assert shares["x"].value == pytest.approx(1)
