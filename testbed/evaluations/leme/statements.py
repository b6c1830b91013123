"""What the sentences of a passage say of facts."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from corpus.text.consistency import Fact
from corpus.text.language import Kind, Sentence
from corpus.text.reading import Line

Lines = Sequence[Line]


class Statement(NamedTuple):
    """That a fact has an object, or that it has it not; `line` is where the passage says so."""

    fact: Fact
    object: int
    holds: bool
    line: int


def statements_of(lines: Lines) -> list[Statement]:
    """All that a passage's sentences say for certain of single facts.

    That of two statements one is false, or one true, says neither; such a sentence is judged as a whole only
    (`corpus.text.consistency`). Outlines and suppositions state nothing.
    """
    return [
        Statement((atom.subject, atom.relation), atom.object, holds, at)
        for at, line in enumerate(lines)
        if line.sentence is not None
        for atom, holds in _atoms_stated(line.sentence)
    ]


def _atoms_stated(sentence: Sentence) -> Iterable[tuple]:
    kind, label, a, b, _ = sentence
    if kind == Kind.ATOMIC:
        return [(a, True)]
    if kind == Kind.TRUTH:
        return [(a, bool(label))]
    if kind == Kind.NOT:
        return [(a, not label)]
    if (kind == Kind.AND and label) or (kind == Kind.OR and not label):
        return [(atom, bool(label)) for atom in (a, b) if atom is not None]
    return []


def agree(one: Statement, other: Statement) -> bool:
    """Whether two statements about one fact can both be true, a fact having one object."""
    if one.holds and other.holds:
        return one.object == other.object
    return one.holds == other.holds or one.object != other.object


def sentences_of(lines: Lines) -> list[Sentence]:
    """The sentences of a passage that are sentences."""
    return [line.sentence for line in lines if line.sentence is not None]


def trim_passage(lines: Lines, ended: bool) -> tuple[Line, ...]:
    """A passage without what stands behind its last stop where that is nothing, or was cut off there."""
    cut = bool(lines) and (not ended or (len(lines) > 1 and lines[-1].flaw == "empty"))
    return tuple(lines[:-1] if cut else lines)
