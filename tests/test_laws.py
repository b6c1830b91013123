"""A law is tried on kinds of worlds that it was not fitted to."""

import numpy as np
import pandas as pd
import pytest

from experiments.measures.laws import divide_sums, fit_law, predict_other_kinds, read_effect


def test_a_law_predicts_other_kinds_if_it_holds_there():
    """What holds in all kinds has an R2 near 1; what turns its sign in one has less than 0 there."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"support": rng.normal(size=90), "kind": [*"abc"] * 30, "model": np.arange(90) // 3})
    rows["follows"] = 2 * rows["support"] + 0.1 * rng.normal(size=90)
    turned = rows.assign(follows=rows["follows"] * np.where(rows["kind"] == "c", -1, 1))
    r2, _ = predict_other_kinds(rows, "follows ~ support")
    assert 0.95 < r2.low <= r2.value <= r2.high < 1
    assert predict_other_kinds(turned, "follows ~ support")[1]["c"] < 0
    effect = read_effect(fit_law(rows, "follows ~ support"), "support")
    assert effect.low < 2 < effect.high
    assert effect.value == pytest.approx(2, abs=0.1)


def test_an_agent_that_never_moves_has_no_propagation_ratio():
    """What is left of a belief after a request that moves nothing is rounding and measures no editor."""
    belief = np.array([0.1, 0.2, 0.7])
    moved = belief / belief.sum() - belief
    assert np.isnan(divide_sums(0.3, float(moved @ moved)))
    assert np.isnan(divide_sums(0.0, 0.0))
    assert divide_sums(0.5, 2.0) == 0.25
