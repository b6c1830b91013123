"""A pair of passages: what it says, its errors by class, where the paper reads them (§5.6), and its files."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product

import numpy as np

from corpus.text.reading import Line
from testbed.engine.results import Results
from testbed.evaluations.leme import RELATED, SUBJECT
from testbed.evaluations.leme import questions as q
from testbed.evaluations.leme.standard import Standard, standards_of_cases
from testbed.evaluations.leme.statements import (
    Lines,
    Statement,
    can_both_hold,
    count_words,
    sentences_of,
    statements_of,
)

REPETITION, BROKEN, WRONG_KIND = "repetition", "broken sentence", "wrong kind of thing"
ENTITY, TOPIC = "entity drift", "topic drift"
INSIDE, ACROSS, GOLD = "contradiction inside", "contradiction across", "contradiction with gold"
MINIMAL, BOTH, REJECTED, LOCALITY = "minimal edit", "both facts said", "edit rejected", "locality loss"
ERROR_CLASSES = {
    REPETITION: "one sentence is more than half of a passage",
    BROKEN: "a sentence cannot be read in the world's language",
    WRONG_KIND: "a sentence names a thing of another kind",
    ENTITY: "a sentence is about another entity of the kind of subject or related entity",
    TOPIC: "a sentence is about something outside the couple",
    INSIDE: "two sentences of a passage cannot both be true",
    ACROSS: "two sentences of the two passages cannot both be true, by the link",
    GOLD: "a sentence about a fact that stays is wrong",
    MINIMAL: "the new object is said, and nothing that the passages say of what follows from it is right",
    BOTH: "the new object is said, and the old one too",
    REJECTED: "the old object is said, and the new one never",
    LOCALITY: "in the related passage, a sentence about a fact that stays is wrong",
}
"""What each class is, for people."""
CONTRADICTIONS = (INSIDE, ACROSS, GOLD)
OFTEN = 0.5
LEAST = 4
"""Sentences of which one can be more than a share."""
WORST = 20
"""Edits of each editor whose passages are written to a file."""

Marks = dict[str, list[tuple[str, int]]]
"""Class -> role of the passage and number of the sentence, for each sentence that is an error of it."""


@dataclass(frozen=True)
class PassagePair:
    """What was written of one edit in one sample.

    Attributes:
        passages: by role, a passage about subject, related entity and, where there is one, the twin.
        standard: what they are judged by.
        losses: by role, the loss of a token under the unedited model.
    """

    passages: Mapping[str, Lines]
    standard: Standard
    losses: Mapping[str, float] = field(default_factory=dict)
    case: int = 0
    sample: int = 0

    @cached_property
    def statements(self) -> dict[str, list[Statement]]:
        """What each passage says, by role."""
        return {role: statements_of(lines) for role, lines in self.passages.items()}

    @property
    def of_subject(self) -> list[Statement]:
        """What the subject's passage says."""
        return self.statements[SUBJECT]

    @property
    def of_related(self) -> list[Statement]:
        """What the related entity's passage says."""
        return self.statements[RELATED]

    @property
    def of_both(self) -> list[Statement]:
        """What both say."""
        return [*self.of_subject, *self.of_related]

    @property
    def lines(self) -> list[Line]:
        """The sentences of both."""
        return [*self.passages[SUBJECT], *self.passages[RELATED]]

    @property
    def by_entity(self) -> list[tuple[Lines, int]]:
        """Both passages, and whom each is about."""
        return [(self.passages[role], self.standard.entities[role]) for role in (SUBJECT, RELATED)]

    @cached_property
    def words(self) -> dict[str, Counter[str]]:
        """How often each of both has each word, by role."""
        return {
            role: count_words(" ".join(line.text for line in self.passages[role]))
            for role in (SUBJECT, RELATED)
        }

    @cached_property
    def true_together(self) -> q.TrueTogether:
        """How many sentences of both can be true together, by the link."""
        sentences = q.join_passages(self.passages[SUBJECT], self.passages[RELATED], self.standard)
        return q.count_true_together(sentences, self.standard)

    @cached_property
    def true_together_as_surveyed(self) -> q.TrueTogether:
        """The same without the link, and without the edited fact."""
        return q.count_true_together(sentences_of(self.lines), self.standard, self.standard.edited_fact)

    @cached_property
    def drift(self) -> q.DriftShares:
        """What both say of facts that move."""
        return q.drift_shares(self.of_both, self.standard)

    @cached_property
    def claims(self) -> Mapping[str, list[q.Claim]]:
        """The claims that are held against both."""
        return q.claims_of_case(self.standard)

    @cached_property
    def verdicts(self) -> dict[str, list[int]]:
        """On each claim, by its name: 1 supported, -1 contradicted, 0 neither."""
        of_entity = {
            self.standard.entities[SUBJECT]: self.of_subject,
            self.standard.entities[RELATED]: self.of_related,
        }
        return {
            name: [q.verdict_on_claim(of_entity[claim.fact[0]], claim) for claim in claims]
            for name, claims in self.claims.items()
        }

    @cached_property
    def errors(self) -> Marks:
        """The errors of both by class."""
        marks: Marks = {name: [] for name in ERROR_CLASSES}
        for role in (role for role in self.passages if role in (SUBJECT, RELATED)):
            _mark_sentences(marks, role, self)
            _mark_contradictions_inside(marks, role, self.statements[role])
            _mark_contradictions_with_gold(marks, role, self)
        _mark_contradictions_across(marks, self)
        _mark_edit_errors(marks, self)
        return {name: [*dict.fromkeys(places)] for name, places in marks.items()}

    def error_classes_of(self, role: str, place: int) -> list[str]:
        """The classes of errors that one sentence is of."""
        return [name for name, marks in self.errors.items() if (role, place) in marks]


def passage_pairs(
    results: Results, texts: np.ndarray, time: int, losses: np.ndarray | None = None
) -> list[PassagePair]:
    """Every case and sample with what was written of it.

    Args:
        texts: object[passages] of lines.
        time: of `results.times`: what they are judged by.
        losses: float64[passages], of a token under the unedited model.
    """
    p, standards = results.passages, standards_of_cases(results, time)
    rows: dict[tuple[int, int], dict[str, int]] = {}
    for row, (case, sample, role) in enumerate(zip(p.case.tolist(), p.sample.tolist(), p.role, strict=True)):
        rows.setdefault((case, sample), {})[str(role)] = row
    return [
        PassagePair(
            {role: texts[row] for role, row in by_role.items()},
            standards[case],
            {role: math.nan if losses is None else float(losses[row]) for role, row in by_role.items()},
            case,
            sample,
        )
        for (case, sample), by_role in rows.items()
    ]


def _mark_sentences(marks: Marks, role: str, pair: PassagePair) -> None:
    lines, couple = pair.passages[role], [pair.standard.entities[one] for one in (SUBJECT, RELATED)]
    relations = {r for s, r in pair.standard.beliefs if s in couple}
    times = Counter(line.sentence or line.text for line in lines)
    for at, line in enumerate(lines):
        mark = (role, at)
        if times[line.sentence or line.text] > OFTEN * len(lines) >= OFTEN * LEAST:
            marks[REPETITION].append(mark)
        if line.sentence is None:
            marks[BROKEN].append(mark)
            continue
        if line.flaw:
            marks[WRONG_KIND].append(mark)
        if not any(q.is_about(line, entity) for entity in couple):
            is_same_kind = line.sentence.a.relation in relations and line.flaw != "wrong kind of subject"
            marks[ENTITY if is_same_kind else TOPIC].append(mark)


def _mark_contradictions_inside(marks: Marks, role: str, statements: Sequence[Statement]) -> None:
    for one, other in combinations(statements, 2):
        if one.fact == other.fact and not can_both_hold(one, other):
            marks[INSIDE] += [(role, one.line), (role, other.line)]


def _mark_contradictions_across(marks: Marks, pair: PassagePair) -> None:
    for one, other in product(pair.of_subject, pair.of_related):
        for same in (other, q.linked_statement(other, pair.standard)):
            if same is not None and same.fact == one.fact and not can_both_hold(one, same):
                marks[ACROSS] += [(SUBJECT, one.line), (RELATED, other.line)]


def _mark_contradictions_with_gold(marks: Marks, role: str, pair: PassagePair) -> None:
    for one in q.select_judged(pair.statements[role], pair.standard, everything=False):
        if not q.is_right(one, pair.standard):
            marks[GOLD].append((role, one.line))
            if role == RELATED:
                marks[LOCALITY].append((role, one.line))


def _mark_edit_errors(marks: Marks, pair: PassagePair) -> None:
    standard = pair.standard
    statements = [(role, one) for role in (SUBJECT, RELATED) for one in pair.statements[role]]
    new, old = (
        [(role, one.line) for role, one in statements
         if one.fact == standard.edited_fact and one.holds and one.object == o]
        for o in (standard.request[2], standard.old)
    )  # fmt: skip
    if new and old:
        marks[BOTH] += [*new, *old]
    if old and not new:
        marks[REJECTED] += old
    follow = [(role, one) for role, one in statements if standard.should_move(one.fact)]
    if new and follow and not any(q.is_right(one, standard) for _, one in follow):
        marks[MINIMAL] += [(role, one.line) for role, one in follow]
