"""Sentences of passages as they were read, as rows of a table and back."""

import pyarrow as pa

from corpus.text.language import Atom, Kind, Sentence
from corpus.text.reading import Line

_ATOM = ("subject", "relation", "object")
LINE = pa.struct(
    [
        ("text", pa.string()),
        ("flaw", pa.string()),
        ("kind", pa.int8()),
        ("label", pa.bool_()),
        ("phrasing", pa.int16()),
        *((name, pa.int32()) for name in (*_ATOM, *(f"{name}_b" for name in _ATOM))),
    ]
)
"""A line's columns; those of a sentence are null where there is none, those of a second atom too."""


def line_row(line: Line) -> dict:
    """A sentence as it was read, as a row of `LINE` has it."""
    row: dict = {"text": line.text, "flaw": line.flaw, "kind": None}
    if line.sentence is not None:
        kind, label, a, b, phrasing = line.sentence
        row |= {"kind": int(kind), "label": label, "phrasing": phrasing}
        row |= dict(zip(_ATOM, a, strict=True))
        row |= dict(zip((f"{name}_b" for name in _ATOM), b or (), strict=False))
    return row


def line_of(row: dict) -> Line:
    """The sentence that `line_row` wrote."""
    if row["kind"] is None:
        return Line(row["text"], None, row["flaw"])
    a = Atom(row["subject"], row["relation"], row["object"])
    has_second = row["subject_b"] is not None
    b = Atom(row["subject_b"], row["relation_b"], row["object_b"]) if has_second else None
    sentence = Sentence(Kind(row["kind"]), row["label"], a, b, row["phrasing"])
    return Line(row["text"], sentence, row["flaw"])
