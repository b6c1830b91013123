"""After the world changed: what depends on a fact that was set is drawn again, down the subject's tree.

The change sets a fact a. Each fact that depends on a fact which was set or drawn again is drawn again itself
with probability `redraw`, from the row of what that one has become, and otherwise stays as it was; where a
fact stays, so does all below it. So a fact at depth n below the change is drawn again with probability
redraw ** n, all between drawn again too, and else is what it was.

A row remembers its earlier draws, the subject's own among them. The new draw therefore depends on the old
ones where, and only where, the fact above was and is the same:

    p(is x | above is a, above was a, was y) = (mass / K + N[a, x] + (x = y)) / (mass + N[a] + 1)
    p(is x | above is a, above was b, was y) = (mass / K + N[a, x]) / (mass + N[a])

So a fact is judged by the joint distribution of what the fact above it was and is. Rows that are given
remember nothing: there p(is x | above is a) is the row's share, whatever was.
"""

from typing import NamedTuple

import numpy as np

from bayes.tree import Tree


class Turn(NamedTuple):
    """p(was = a, is = b) = sum_i was[a, i] now[b, i] + same[a] (a = b), over the candidates of a fact.

    Attributes:
        was, now: float64[K, terms]; one term for the fact that was set, two for what depends on it.
        same: float64[K].
    """

    was: np.ndarray
    now: np.ndarray
    same: np.ndarray

    def is_now(self) -> np.ndarray:
        """float64[K]: p(is = a)."""
        return self.now @ self.was.sum(axis=0) + self.same

    def was_and_is(self) -> np.ndarray:
        """float64[K]: p(was = a, is = a)."""
        return (self.was * self.now).sum(axis=1) + self.same


def change_beliefs(
    tree: Tree, log_before: dict[int, np.ndarray], changed: int, place: int, redraw: float
) -> dict[int, np.ndarray]:
    """Log p(k) of the facts that a change may have moved: the one that was set, and what depends on it.

    Args:
        log_before: log p(k) before the change, of the facts asked about and all that they depend on.
        changed, place: the fact that was set, and to what.
        redraw: probability of drawing again what depends directly on a fact that was set or drawn again.
    """
    after: dict[int, np.ndarray] = {}
    turns: dict[int, Turn] = {}
    depth = {changed: 0}
    parents = set(tree.graph.upstream_fact[list(log_before)].tolist())
    for fact in filter(log_before.__contains__, tree.facts):
        up, before = int(tree.graph.upstream_fact[fact]), np.exp(log_before[fact])
        if fact == changed:
            set_to = (np.arange(len(before)) == place).astype(float)
            after[fact] = set_to
            turns[fact] = Turn(before[:, None], set_to[:, None], np.zeros(len(before)))
        elif up in depth:
            depth[fact] = depth[up] + 1
            again = redraw ** depth[fact]
            after[fact] = again * _draw_again(tree, fact, turns[up]) + (1 - again) * before
            if fact in parents:
                turns[fact] = _turn_row(tree, fact, turns[up])
    with np.errstate(divide="ignore"):
        return {fact: np.log(p) for fact, p in after.items()}


def _draw_again(tree: Tree, fact: int, above: Turn) -> np.ndarray:
    """float64[K]: p(is = k) of a fact drawn from the row of what the fact above it is now."""
    totals, was_before = tree.known.row_mass + tree.row_totals(fact), above.was_and_is()
    if tree.known.has_truth(fact):
        inside, messages = tree.inside_and_messages(fact)
        # Where the row is still the same, the earlier draw is one of its draws.
        earlier = 0.0 if tree.known.has_given_rows else 1.0
        repeats = earlier * was_before / (totals + earlier)
        repeated = inside * tree.spread_shares(fact, repeats / (messages * totals))
    else:
        evidence = tree.known.evidence_about(fact)
        earlier = sum(evidence.values())
        repeated = np.zeros(tree.known.count_candidates(fact))
        for k, count in evidence.items():
            repeated[k] = count * (was_before / (totals + earlier)).sum()
    return (
        tree.spread_shares(fact, (above.is_now() - was_before) / totals + was_before / (totals + earlier))
        + repeated
    )


def _turn_row(tree: Tree, fact: int, above: Turn) -> Turn:
    """What a fact was and is, drawn from the row of what the fact above it is now."""
    totals = tree.known.row_mass + tree.row_totals(fact)
    inside, messages = tree.inside_and_messages(fact)
    repeats = np.zeros_like(totals) if tree.known.has_given_rows else above.was_and_is() / (totals + 1)
    # The diagonal is as many further terms, but few of a change's own are not 0.
    alike = above.same - repeats
    terms = np.eye(len(alike))[:, np.flatnonzero(alike)]
    was = np.hstack([above.was, terms])
    now = np.hstack([above.now, terms * alike[:, None]])
    scale = (messages * totals)[:, None]
    return Turn(
        inside[:, None] * tree.spread_shares(fact, was / scale),
        tree.spread_shares(fact, now / totals[:, None]),
        inside * tree.spread_shares(fact, repeats / (messages * totals)),
    )
