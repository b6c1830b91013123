"""LEME's nine questions about passages, answered by what their sentences say (Rosati et al. 2024, §3.1).

Each answer is a share, NaN where a passage says nothing that the question is about: it is neutral. Whatever
is held against the agent's beliefs holds under one reading of the request, that of the standard.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from corpus.text.consistency import Fact, count_most_true, facts_of
from corpus.text.language import Atom, Sentence
from corpus.text.reading import Line
from testbed.evaluations.leme.standard import Standard
from testbed.evaluations.leme.statements import Lines, Statement, agree, sentences_of
from testbed.protocol import ABSENT

MOST = 10**6
"""Objects of relations that were not asked about; more than any passage names."""
IMPOSSIBLE, KNOWN = 0.05, 0.5
"""What the belief in a statement falls below, and was above, where a request makes it impossible."""


def share_of_true(true: Iterable[bool]) -> float:
    """The share of some truths; NaN of none."""
    values = [*true]
    return sum(values) / len(values) if values else math.nan


def edit_said_share(statements: Sequence[Statement], standard: Standard) -> float:
    """Of the statements about the edited fact, the share that says the new object.

    That it is not the new object says that it is another; that it is not another one says nothing.
    """
    new = standard.request[2]
    mine = [one for one in statements if one.fact == standard.edited_fact]
    return share_of_true(one.holds and one.object == new for one in mine if one.holds or one.object == new)


def still_possible_share(statements: Sequence[Statement], standard: Standard) -> float:
    """1 minus the share of statements that the request makes impossible and that were believed before it."""

    def refuted(one: Statement) -> bool:
        p, q = (standard.beliefs[one.fact].probability(one.object, before) for before in (True, False))
        p, q = (p, q) if one.holds else (1 - p, 1 - q)
        return q < IMPOSSIBLE and p > KNOWN

    return share_of_true(not refuted(one) for one in statements if one.fact in standard.beliefs)


def is_right(one: Statement, standard: Standard) -> bool:
    """Whether a statement is what is most probably so after the request."""
    return standard.beliefs[one.fact].is_most_probable(one.object) == one.holds


def select_judged(statements: Sequence[Statement], standard: Standard, everything: bool) -> list[Statement]:
    """The statements about facts of which the belief stays, or about all facts that were asked about."""
    return [
        one
        for one in statements
        if (belief := standard.beliefs.get(one.fact)) is not None
        and (everything or (one.fact != standard.edited_fact and not belief.has_moved))
    ]


def factual_share(statements: Sequence[Statement], standard: Standard, everything: bool = False) -> float:
    """The share of statements that are most probably so: about facts that stay, or about everything."""
    return share_of_true(is_right(one, standard) for one in select_judged(statements, standard, everything))


def mean_belief(statements: Sequence[Statement], standard: Standard) -> float:
    """The mean belief in what is said of facts that stay."""
    beliefs = [
        p if one.holds else 1 - p
        for one in select_judged(statements, standard, everything=False)
        for p in [standard.beliefs[one.fact].probability(one.object)]
    ]
    return sum(beliefs) / len(beliefs) if beliefs else math.nan


class DriftShares(NamedTuple):
    """Shares of what is said of facts that the request moved, the edited one apart."""

    new: float
    old: float
    third: float


def drift_shares(statements: Sequence[Statement], standard: Standard) -> DriftShares:
    """What is said of facts of which the belief moved: what is now most probable, what was, or neither."""
    said = []
    for one in statements:
        belief = standard.beliefs.get(one.fact)
        if belief is None or one.fact == standard.edited_fact or not belief.has_moved or not one.holds:
            continue
        new = belief.is_most_probable(one.object)
        old = not new and belief.is_most_probable(one.object, before=True)
        said.append((new, old, not (new or old)))
    return (
        DriftShares(*(share_of_true(column) for column in zip(*said, strict=True)))
        if said
        else DriftShares(*[math.nan] * 3)
    )


def internal_consistency(statements: Sequence[Statement], left_out: Fact | None = None) -> float:
    """Of the pairs of statements about one fact, the share that can both be true."""
    by_fact: dict[Fact, list[Statement]] = {}
    for one in statements:
        if one.fact != left_out:
            by_fact.setdefault(one.fact, []).append(one)
    return share_of_true(agree(*pair) for same in by_fact.values() for pair in combinations(same, 2))


def cross_consistency(
    first: Sequence[Statement],
    second: Sequence[Statement],
    standard: Standard,
    left_out: Fact | None = None,
) -> float:
    """Of the pairs of a statement of one passage and one of the other, the share that can both be true.

    The pairs are about one fact, or about the edited fact and the coupled one, of which the link implies the
    other where it implies anything.
    """
    also = [above for one in second if (above := linked_statement(one, standard)) is not None]
    pairs = [
        (one, other) for one in first for other in (*second, *also) if one.fact == other.fact != left_out
    ]
    return share_of_true(agree(*pair) for pair in pairs)


def linked_statement(one: Statement, standard: Standard) -> Statement | None:
    """A statement about the coupled fact as one about the edited fact; None where the link does not say."""
    if one.fact != standard.coupled:
        return None
    above = _implying_object(one.object, standard)
    return None if above == ABSENT else Statement(standard.edited_fact, above, one.holds, one.line)


def _implying_object(obj: int, standard: Standard) -> int:
    """The object of the edited fact that implies one of the coupled fact by the link, if only one does."""
    implying = [above for above, below in standard.link.items() if below == obj]
    return implying[0] if len(implying) == 1 else ABSENT


class TrueTogether(NamedTuple):
    """How many sentences can be true together at most, and how many there are."""

    most: int
    of: int

    @property
    def share(self) -> float:
        """The first of the second; NaN where there are none."""
        return self.most / self.of if self.of else math.nan

    @property
    def is_satisfiable(self) -> float:
        """1 where all can be true, else 0; NaN where there are none."""
        return float(self.most == self.of) if self.of else math.nan


def count_true_together(
    sentences: Sequence[Sentence], standard: Standard, left_out: Fact | None = None
) -> TrueTogether:
    """MaxSAT of some sentences, a fact having one object; those about a fact that is left out apart."""
    objects = {fact[1]: len(belief.options) for fact, belief in standard.beliefs.items()}
    kept = [one for one in sentences if left_out not in facts_of(one)]
    return TrueTogether(*count_most_true(kept, lambda relation: objects.get(relation, MOST)))


def join_passages(first: Lines, second: Lines, standard: Standard) -> list[Sentence]:
    """The sentences of both passages, those about the coupled fact as sentences about the edited one."""

    def atom(a: Atom) -> Atom:
        above = _implying_object(a.object, standard) if a[:2] == standard.coupled else ABSENT
        return a if above == ABSENT else Atom(*standard.edited_fact, above)

    return [
        one._replace(a=atom(one.a), b=atom(one.b) if one.b is not None else None)
        for one in (*sentences_of(first), *sentences_of(second))
    ]


def is_about(line: Line, entity: int) -> bool:
    """Whether a sentence is about an entity."""
    return line.sentence is not None and any(s == entity for s, _ in facts_of(line.sentence))


def topicality(lines: Lines, entity: int) -> float:
    """The share of sentences that are about the passage's entity."""
    return share_of_true(is_about(line, entity) for line in lines)


def first_drift(lines: Lines, entity: int) -> float:
    """After which part of a passage its first sentence about somebody else comes; 1 where none does."""
    away = next((at for at, line in enumerate(lines) if not is_about(line, entity)), len(lines))
    return away / len(lines) if lines else math.nan


def naturalness(lines: Lines) -> float:
    """The share of sentences that are whole sentences of the language and name the right kinds of things."""
    return share_of_true(not line.flaw for line in lines)


def distinct_share(lines: Lines) -> float:
    """Different sentences, as a share of all."""
    said = [line.sentence or line.text for line in lines]
    return len(set(said)) / len(said) if said else math.nan
