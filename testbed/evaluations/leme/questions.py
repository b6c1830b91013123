"""LEME's questions and claims about passages, answered by what their sentences say (Rosati et al. 2024, §3).

Each answer is a share, NaN where a passage says nothing that the question is about: it is neutral. Whatever
is held against the agent's beliefs holds under one interpretation of the request, that of the standard.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from corpus.text.consistency import Fact, count_most_true, facts_of
from corpus.text.language import Atom, Sentence
from corpus.text.reading import Line
from testbed.evaluations.leme.standard import Standard, statement_probability
from testbed.evaluations.leme.statements import Lines, Statement, can_both_hold, mean_of_known, sentences_of
from testbed.protocol import ABSENT
from testbed.run.strata import STRATA

MOST = 10**6
"""Objects of relations that were not asked about; more than any passage names."""
CLAIMS = {
    "ground truth, subject": "what was true of the subject besides the edited fact",
    "ground truth, related": "what was true of the related entity",
    "ground truth that stays": "what was true of either, and still is to the agent",
    "ground truth that moves": "what was true of either, and is not by the request",
    "new fact, subject": "the requested fact, by the subject's passage",
    "old fact, subject": "what the edited fact was, by the subject's passage",
    "new fact, related": "what the link implies of the related entity after the request",
    "old fact, related": "what the link implied of it before",
}
"""Claims that a passage supports, contradicts, or neither."""
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
    about = [one for one in statements if one.fact == standard.edited_fact]
    return share_of_true(one.holds and one.object == new for one in about if one.holds or one.object == new)


def still_possible_share(statements: Sequence[Statement], standard: Standard) -> float:
    """1 minus the share of statements that the request makes impossible and that were believed before it."""

    def is_refuted(one: Statement) -> bool:
        p, q = (standard.beliefs[one.fact].probability(one.object, before) for before in (True, False))
        p, q = (p, q) if one.holds else (1 - p, 1 - q)
        return q < IMPOSSIBLE and p > KNOWN

    return share_of_true(not is_refuted(one) for one in statements if one.fact in standard.beliefs)


def is_right(one: Statement, standard: Standard) -> bool:
    """Whether a statement is what is most probably so after the request."""
    return standard.beliefs[one.fact].is_most_probable(one.object) == one.holds


def follow_share(statements: Sequence[Statement], standard: Standard, fact: Fact | None) -> float:
    """Of what is said of a fact, the share that is what the link implies of the coupled one."""
    implied = standard.implied_after_edit
    if fact is None or implied == ABSENT:
        return math.nan
    return share_of_true(one.object == implied for one in statements if one.fact == fact and one.holds)


def select_judged(statements: Sequence[Statement], standard: Standard, everything: bool) -> list[Statement]:
    """The statements about facts of which the belief stays, or about all facts that were asked about."""
    return [
        one
        for one in statements
        if one.fact in standard.beliefs and (everything or standard.should_stay(one.fact))
    ]


def factual_share(statements: Sequence[Statement], standard: Standard, everything: bool = False) -> float:
    """The share of statements that are most probably so: about facts that stay, or about everything."""
    return share_of_true(is_right(one, standard) for one in select_judged(statements, standard, everything))


def mean_belief(statements: Sequence[Statement], standard: Standard) -> float:
    """The mean belief in what is said of facts that stay."""
    return mean_of_known(
        [
            statement_probability(one, standard)
            for one in select_judged(statements, standard, everything=False)
        ]
    )


class DriftShares(NamedTuple):
    """Shares of what is said of facts that the request moved, the edited one apart."""

    new: float
    old: float
    third: float


def drift_shares(statements: Sequence[Statement], standard: Standard) -> DriftShares:
    """What is said of facts of which the belief moved: what is now most probable, what was, or neither."""
    rows = []
    for one in statements:
        if one.holds and standard.should_move(one.fact):
            belief = standard.beliefs[one.fact]
            new = belief.is_most_probable(one.object)
            old = not new and belief.is_most_probable(one.object, before=True)
            rows.append((new, old, not (new or old)))
    columns = zip(*rows, strict=True) if rows else [()] * 3
    return DriftShares(*map(share_of_true, columns))


def internal_consistency(statements: Sequence[Statement], left_out: Fact | None = None) -> float:
    """Of the pairs of statements about one fact, the share that can both be true."""
    by_fact: dict[Fact, list[Statement]] = {}
    for one in statements:
        if one.fact != left_out:
            by_fact.setdefault(one.fact, []).append(one)
    return share_of_true(can_both_hold(*pair) for same in by_fact.values() for pair in combinations(same, 2))


def cross_consistency(
    first: Sequence[Statement], second: Sequence[Statement], standard: Standard, left_out: Fact | None = None
) -> float:
    """Of the pairs of a statement of one passage and one of the other, the share that can both be true.

    The pairs are about one fact, or about the edited fact and the coupled one, of which the link implies the
    other where it implies anything.
    """
    also = [above for one in second if (above := linked_statement(one, standard)) is not None]
    pairs = [
        (one, other) for one in first for other in (*second, *also) if one.fact == other.fact != left_out
    ]
    return share_of_true(can_both_hold(*pair) for pair in pairs)


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
    rest = [one for one in sentences if left_out not in facts_of(one)]
    return TrueTogether(*count_most_true(rest, lambda relation: objects.get(relation, MOST)))


def join_passages(first: Lines, second: Lines, standard: Standard) -> list[Sentence]:
    """The sentences of both passages, those about the coupled fact as sentences about the edited one."""

    def map_atom(a: Atom) -> Atom:
        above = _implying_object(a.object, standard) if a[:2] == standard.coupled else ABSENT
        return a if above == ABSENT else Atom(*standard.edited_fact, above)

    return [
        one._replace(a=map_atom(one.a), b=map_atom(one.b) if one.b is not None else None)
        for one in (*sentences_of(first), *sentences_of(second))
    ]


def is_about(line: Line, entity: int) -> bool:
    """Whether a sentence is about an entity."""
    return line.sentence is not None and any(s == entity for s, _ in facts_of(line.sentence))


def topical_share(passages: Iterable[tuple[Lines, int]]) -> float:
    """The share of all sentences that are about the entity of their passage."""
    return share_of_true(is_about(line, entity) for lines, entity in passages for line in lines)


def first_drift(lines: Lines, entity: int) -> float:
    """After which part of a passage its first sentence about somebody else comes; 1 where none does."""
    away = next((at for at, line in enumerate(lines) if not is_about(line, entity)), len(lines))
    return away / len(lines) if lines else math.nan


def natural_share(lines: Lines) -> float:
    """The share of sentences that are whole sentences of the language and name the right kinds of things."""
    return share_of_true(not line.flaw for line in lines)


def distinct_share(lines: Lines) -> float:
    """Different sentences, as a share of all."""
    sentences = [line.sentence or line.text for line in lines]
    return len(set(sentences)) / len(sentences) if sentences else math.nan


class Claim(NamedTuple):
    """That a fact has an object."""

    fact: Fact
    object: int


def verdict_on_claim(statements: Sequence[Statement], claim: Claim) -> int:
    """1 where most of what a passage says of a fact supports the claim, -1 where most contradicts, else 0."""
    votes = [
        (1 if one.holds == (one.object == claim.object) else -1)
        for one in statements
        if one.fact == claim.fact and (one.holds or one.object == claim.object)
    ]
    return (sum(votes) > 0) - (sum(votes) < 0)


def claims_of_case(standard: Standard) -> Mapping[str, list[Claim]]:
    """The claims that are held against a case's passages; ground truth is what was stated, and believed."""
    claims: dict[str, list[Claim]] = {name: [] for name in CLAIMS}
    for role in ("subject", "related"):
        for fact, belief in standard.beliefs.items():
            is_of_entity = fact[0] == standard.entities[role] and fact != standard.edited_fact
            if is_of_entity and belief.stratum != STRATA[0]:
                claim = Claim(fact, belief.object_before)
                claims[f"ground truth, {role}"].append(claim)
                claims[f"ground truth that {'moves' if belief.has_moved else 'stays'}"].append(claim)
    new, old = standard.request[2], standard.old
    claims["new fact, subject"].append(Claim(standard.edited_fact, new))
    if old != ABSENT:
        claims["old fact, subject"].append(Claim(standard.edited_fact, old))
    for name, obj in (("new fact, related", new), ("old fact, related", old)):
        implied = standard.implied_object(obj) if obj != ABSENT else ABSENT
        if standard.coupled is not None and implied != ABSENT:
            claims[name].append(Claim(standard.coupled, implied))
    return claims
