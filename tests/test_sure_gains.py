"""Bets against a series of edits: whoever conditions loses nothing, whoever does not is found out."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes.request import EditRequest
from experiments.measures.sure_gains import Bet, sure_gains
from testbed.protocol import Case
from testbed.scores.distances import total_variation

K = 4
OBJECTS = np.arange(K) + 10
FIRST, SECOND, TRUTH = (
    EditRequest(0, r, 10 + o, weight) for r, o, weight in ((0, 1, 3.0), (1, 2, 2.0), (0, 0, 4.0))
)
BET = Bet(Case(FIRST, 0.95, 10, {}, ()), (0, 1), SECOND, TRUTH, FIRST._replace(weight=1.5))
SEEDS = st.integers(0, 2**32 - 1)


def conditioner(seed: int, forgets: float = 0.0):
    """Beliefs in two facts with one joint table; a request multiplies, and may weaken what came before."""
    prior = np.log(np.random.default_rng(seed).dirichlet(np.full(K * K, 0.5)).reshape(K, K) + 1e-12)

    def answers(requests: Sequence[EditRequest]) -> np.ndarray:
        logs = prior
        for request in requests:
            at = np.where(
                request.object == OBJECTS, 0, -np.inf if request.kind == "correction" else -request.weight
            )
            logs = (1 - forgets) * logs + (at[:, None] if request.relation == 0 else at)
        joint = np.exp(logs - logs.max())
        joint /= joint.sum()
        return np.stack([joint.sum(1), joint.sum(0)])

    return answers


@given(SEEDS)
def test_no_order_and_no_mixture_costs_whoever_conditions(seed):
    gains = sure_gains(BET, OBJECTS, conditioner(seed))
    assert gains["order"] == pytest.approx(0, abs=1e-9)
    assert gains["mixture"] == pytest.approx(0, abs=1e-9)
    assert 0 <= gains["undoing"] <= 1


def test_whoever_forgets_loses_by_the_order():
    assert sure_gains(BET, OBJECTS, conditioner(0, forgets=0.5))["order"] > 0.05


def test_whoever_never_moves_loses_nothing_and_is_seen_not_to_move():
    gains = sure_gains(BET, OBJECTS, lambda _: np.full((2, K), 1 / K))
    assert gains == {"order": 0, "undoing": 0, "mixture": 0, "believed": 1 / K, "moved": 0}


@given(SEEDS)
def test_total_variation_is_the_gain_of_the_best_tickets(seed):
    p, q = np.random.default_rng(seed).dirichlet(np.ones(K), size=2)
    rest = 0.7
    assert total_variation(p, q) == pytest.approx(np.maximum(p - q, 0).sum())
    whole, part = np.append(p * rest, 1 - rest), np.append(q, 0)
    assert total_variation(p[None] * rest, q[None])[0] == pytest.approx(np.maximum(whole - part, 0).sum())
