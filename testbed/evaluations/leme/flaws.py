"""Errors of a pair of passages by class, counted and marked, where the paper reads them (§5.6)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from testbed.evaluations.leme.questions import is_about, is_right, linked_statement
from testbed.evaluations.leme.roles import RELATED, SUBJECT
from testbed.evaluations.leme.standard import Standard
from testbed.evaluations.leme.statements import Lines, Statement, agree, statements_of

REPETITION, BROKEN, WRONG_KIND = "repetition", "broken sentence", "wrong kind of thing"
ENTITY, TOPIC = "entity drift", "topic drift"
INSIDE, ACROSS, GOLD = "contradiction inside", "contradiction across", "contradiction with gold"
MINIMAL, BOTH, REJECTED, LOCALITY = "minimal edit", "both facts said", "edit rejected", "locality loss"
CLASSES = {
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
OFTEN = 0.5
LEAST = 4
"""Sentences of which one can be more than a share."""

Marks = dict[str, list[tuple[str, int]]]
"""Class -> role of the passage and number of the sentence, for each sentence that is an error of it."""


def find_errors(passages: Mapping[str, Lines], standard: Standard) -> Marks:
    """The errors of a passage about the subject and one about the related entity."""
    marks: Marks = {name: [] for name in CLASSES}
    said = {role: statements_of(passages[role]) for role in (SUBJECT, RELATED)}
    for role, lines in passages.items():
        if role in said:
            _mark_sentences(marks, role, lines, standard)
            _mark_contradictions_inside(marks, role, said[role])
            _mark_contradictions_with_gold(marks, role, said[role], standard)
    for one in said[SUBJECT]:
        for other in said[RELATED]:
            for same in (other, linked_statement(other, standard)):
                if same is not None and same.fact == one.fact and not agree(one, same):
                    marks[ACROSS] += [(SUBJECT, one.line), (RELATED, other.line)]
    _mark_edit_errors(marks, said, standard)
    return {name: [*dict.fromkeys(places)] for name, places in marks.items()}


def _mark_sentences(marks: Marks, role: str, lines: Lines, standard: Standard) -> None:
    couple = [standard.entities[one] for one in (SUBJECT, RELATED)]
    relations = {r for s, r in standard.beliefs if s in couple}
    often = Counter(line.sentence or line.text for line in lines)
    for at, line in enumerate(lines):
        mark = (role, at)
        if often[line.sentence or line.text] > OFTEN * len(lines) >= OFTEN * LEAST:
            marks[REPETITION].append(mark)
        if line.sentence is None:
            marks[BROKEN].append(mark)
            continue
        if line.flaw:
            marks[WRONG_KIND].append(mark)
        if not any(is_about(line, entity) for entity in couple):
            same = line.sentence.a.relation in relations and line.flaw != "wrong kind of subject"
            marks[ENTITY if same else TOPIC].append(mark)


def _mark_contradictions_inside(marks: Marks, role: str, said: Sequence[Statement]) -> None:
    for one, other in combinations(said, 2):
        if one.fact == other.fact and not agree(one, other):
            marks[INSIDE] += [(role, one.line), (role, other.line)]


def _mark_contradictions_with_gold(
    marks: Marks, role: str, said: Sequence[Statement], standard: Standard
) -> None:
    for one in said:
        belief = standard.beliefs.get(one.fact)
        if belief is None or one.fact == standard.edited_fact or belief.has_moved or is_right(one, standard):
            continue
        marks[GOLD].append((role, one.line))
        if role == RELATED:
            marks[LOCALITY].append((role, one.line))


def _mark_edit_errors(marks: Marks, said: Mapping[str, Sequence[Statement]], standard: Standard) -> None:
    new, old = (
        [(role, one.line) for role, statements in said.items() for one in statements
         if one.fact == standard.edited_fact and one.holds and one.object == o]
        for o in (standard.request[2], standard.old)
    )  # fmt: skip
    if new and old:
        marks[BOTH] += [*new, *old]
    if old and not new:
        marks[REJECTED] += old
    follow = [
        (role, one)
        for role, statements in said.items()
        for one in statements
        if one.fact in standard.beliefs
        and one.fact != standard.edited_fact
        and standard.beliefs[one.fact].has_moved
    ]
    if new and follow and not any(is_right(one, standard) for _, one in follow):
        marks[MINIMAL] += [(role, one.line) for role, one in follow]
