"""Beliefs about one subject's facts, summed over what other subjects in doubt may be.

A state of theirs has a weight, and changes the rows that all share by what it draws from them.
What a state weighs is known only when all trees have been seen, since one tree may make likely what another
alone does not. A tree never weighs more than its ceiling, though, so that a state of the others is left out
only where even this could not lift it.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from bayes.change import change_beliefs
from bayes.known import Draw, KnownEvidence
from bayes.tree import Tree, normalise_rows
from corpus.errors import InputError

MOST_STATES = 2_000_000
# A state of other trees whose weight, in logs, is this far below that of one state is left out. Even two
# million of them together change no answer by more than 1e-13.
NEGLIGIBLE = -45.0

Draws = list[tuple[Draw, float]]


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
            log_p = log_p | change_beliefs(subject, log_p, changed, *done[changed])
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
    # The log-weight of one state: of each tree in turn the likely one, given those before it.
    draws = without
    log_weight, tree = 0.0, alone[0]
    for following in alone[1:]:
        weight, new_draws = tree.likely_state()
        log_weight, draws = log_weight + weight, [*draws, *new_draws]
        tree = Tree(following.known, following.facts, draws)
    least = (log_weight + tree.log_weight) + NEGLIGIBLE
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
