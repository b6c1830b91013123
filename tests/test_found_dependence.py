"""What a search for dependences found, counted by hand."""

import numpy as np
import pytest

from experiments.measures.dependence_search import compare_forests, search_dependence
from lm.editors.self_bayes.beliefs import Beliefs


def beliefs(effects: int, subjects: int, rng: np.random.Generator) -> Beliefs:
    """Of one cause and some effects that follow it, and one relation that follows nothing; all often said."""
    relations, objects = effects + 2, 6
    best = np.empty((relations, subjects), np.int32)
    best[0] = rng.integers(0, objects, subjects)
    for r in range(1, effects + 1):
        best[r] = rng.permutation(objects)[best[0]]
    best[-1] = rng.integers(0, objects, subjects)
    top = (best[:, :, None] + np.arange(objects)) % objects
    p = np.broadcast_to(np.array([0.95] + [0.01] * 5, np.float32), top.shape)
    return Beliefs(np.arange(subjects)[:, None], np.arange(objects)[:, None], top, p, p[:, :, 0])


def test_a_world_that_is_clear_is_found():
    world = beliefs(1, 200, np.random.default_rng(0))
    found = search_dependence(world, np.array([-1, 0, -1]))
    assert found.pairs == (1, 2)
    # Each of the two tells the other, so either may be taken for the cause.
    assert (found.auc, found.found) == (1.0, 1)
    assert found.brier < 1 / 3 * 2 / 3, "better than a constant"
    other = search_dependence(world, np.array([-1, -1, 0]))
    assert (other.auc, other.right) == (0.5, 0)


def test_a_dependence_turned_round_is_found_but_not_right():
    linked = np.array([[0, 0.9, 0.1], [0.9, 0, 0.2], [0.1, 0.2, 0]])
    one = compare_forests(np.array([-1, 0, -1]), linked, np.array([1, -1, -1]))
    assert (one.found, one.false, one.right, one.auc, one.persists) == (1, 0, 0, 1.0, None)
    assert one.brier == pytest.approx((0.1**2 + 0.1**2 + 0.2**2) / 3)
