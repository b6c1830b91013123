"""Beliefs about one subject's facts, summed over what other subjects in doubt may be.

A state of theirs has a weight, and changes the rows that all share by what it draws from them.
What a state weighs is known only when all trees have been seen, since one tree may make likely what another
alone does not. A tree never weighs more than its ceiling, though, so that a state of the others is left out
only where even this could not lift it.

After the world changed, what depends on a fact that was set is drawn again, down the subject's tree.
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

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bayes.known import Draw, KnownEvidence
from bayes.tree import Tree, normalise_rows
from corpus.errors import InputError

MOST_STATES = 2_000_000
# A state of other trees whose weight, in logs, is this far below that of one state is left out. Even two
# million of them together change no answer by more than 1e-13.
NEGLIGIBLE = -45.0

Draws = list[tuple[Draw, float]]


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


def _change_beliefs(
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


def log_beliefs(
    known: KnownEvidence, focus: Iterable[int], done: Mapping[int, tuple[int, float]], facts: Sequence[int]
) -> dict[int, np.ndarray]:
    """Log p(k) of the candidates of each fact's relation, of facts that are of one tree.

    Args:
        focus, done: see `bayes.exact.ExactAgent`.
        asked: the facts, at least one.

    Raises:
        InputError: too many states of subjects in doubt.
    """
    tree, family = known.tree_of(facts[0]), known.root_relation(facts[0])
    doubtful = {t[0]: t for t in map(known.tree_of, (*known.edited, *focus)) if t != tree}
    others = [
        t for t in doubtful.values() if known.root_relation(t[0]) == family and not known.has_given_rows
    ]
    log_total: dict[int, np.ndarray] = {}
    changes = done.keys() & set(tree)
    for log_state, draws in _weigh_states(known, others, tree, once=not changes):
        subject = Tree(known, tree, draws)
        log_z, log_p = subject.compute_marginals(facts)
        for changed in changes:
            log_p = log_p | _change_beliefs(subject, log_p, changed, *done[changed])
        for fact in facts:
            here = log_state + log_z + log_p[fact]
            log_total[fact] = np.logaddexp(log_total[fact], here) if fact in log_total else here
    return {fact: normalise_rows(total) for fact, total in log_total.items()}


def _weigh_states(
    known: KnownEvidence, trees: list[list[int]], facts: list[int], once: bool
) -> Iterator[tuple[float, Draws]]:
    """Log-weight of every state of the given trees, and how it changes the resolved rows.

    What is asked is linear in the probabilities of each relation's rows, if it draws from them once. Where
    one tree is in doubt, what its last facts may be is therefore summed beforehand: they draw shares.

    Args:
        trees: the facts of each tree in doubt, as `KnownEvidence.tree_of` lists them.
        asked: the tree of whoever is asked about, whose own draws are taken out of the rows too.
        once: whether no fact of it is drawn again.

    Raises:
        InputError: more than MOST_STATES of them.
    """
    without = [(draw, -n) for tree in (*trees, facts) for draw, n in known.draws_of(tree)]
    if not trees:
        yield 0.0, without
        return
    alone = [Tree(known, tree, without) for tree in (*trees, facts)]
    least = _weight_of_a_likely_state(alone, without) + NEGLIGIBLE
    ceilings = [tree.bound_weight() for tree in alone]
    options = [
        tree.likely_places(least - sum(ceilings) + ceiling)
        for tree, ceiling in zip(alone[:-1], ceilings[:-1], strict=True)
    ]
    summed = alone[0].last_facts() if once and len(trees) == 1 else frozenset()
    told_apart = [places for tree in options for fact, places in tree.items() if fact not in summed]
    count = math.prod(map(len, told_apart))
    if count > MOST_STATES:
        raise InputError(
            f"{count:,} states of subjects in doubt are more than {MOST_STATES:,}; "
            "ask about the edited subject, edit fewer facts at once, or focus on fewer subjects"
        )
    # What the weight of the trees seen must reach at least, given the ceilings of those that follow.
    floors = least - np.cumsum(ceilings[:0:-1])[::-1]
    yield from _extend_state(known, 0.0, without, list(zip(trees, options, floors, strict=True)), summed)


def _extend_state(
    known: KnownEvidence,
    log_weight: float,
    draws: Draws,
    trees: list[tuple[list[int], dict[int, np.ndarray], float]],
    summed: frozenset[int],
) -> Iterator[tuple[float, Draws]]:
    if not trees:
        yield log_weight, draws
        return
    (facts, options, floor), *rest = trees
    for weight, new_draws in Tree(known, facts, draws).weigh_states(options, summed):
        if log_weight + weight >= floor:
            yield from _extend_state(known, log_weight + weight, [*draws, *new_draws], rest, summed)


def _weight_of_a_likely_state(alone: Sequence[Tree], draws: Draws) -> float:
    """Log-weight of one state: of each tree in turn the likely one, given those before it.

    Args:
        alone: the trees in doubt, each against rows changed by `draws`, and that of whoever is asked about.
    """
    log_weight, tree = 0.0, alone[0]
    for following in alone[1:]:
        weight, new_draws = tree.likely_state()
        log_weight, draws = log_weight + weight, [*draws, *new_draws]
        tree = Tree(following.known, following.facts, draws)
    return log_weight + tree.log_weight
