"""What a folder of answers holds: about.json, before.jsonl and after.jsonl, as door.py writes them."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from corpus.text.tokenizer import PAD
from testbed.engine.file_exchange.contradictions import SLACK, Name, find_contradiction
from testbed.engine.questions import Questions
from testbed.run.strict_json import Count, Probability, Seconds, Text, Word, Words

FILES = ("about.json", "before.jsonl", "after.jsonl")
"""All of it."""


class About(Struct, forbid_unknown_fields=True):
    """What answers depend on."""

    cases: Word
    inputs: Words
    settings: dict[Word, Any]
    editor: Word
    fields: Annotated[dict[Word, Text], Meta(max_length=100)]
    script: Word
    door: Word
    padding: Literal["left", "right"]
    apart: bool
    batch: Count
    device: Word
    versions: Words
    model: Word = ""


class Line(Struct, forbid_unknown_fields=True):
    """Answers to the questions of a case: see `door.Bench.ask`; none of an edit that failed."""

    case: Count
    ended: list[list[Probability]]
    begun: list[list[Probability]]
    tokens: list[list[Count]]
    claims: list[list[Probability]]
    singly: bool
    fault: Text = ""


class EditLine(Line, forbid_unknown_fields=True, kw_only=True):
    """The same after an edit.

    Attributes:
        control: what was told in place of the request, "" for the request.
        mark: after so many edits of its sequence, 0 for at once.
        seconds: of the edit.
    """

    control: Word
    mark: Count
    seconds: Seconds


class Exam:
    """What lines are held against: the questions of all cases, as token ids."""

    def __init__(self, questions: Questions) -> None:
        tokenizer, self._longest = questions.tokenizer, questions.names.longest
        self._vocabulary = tokenizer.vocabulary
        self._claims = [len(case.claims) for case in questions.cases]
        names: dict[int, Name] = {}
        self._names = [
            [
                [names.setdefault(o, tuple(tokenizer.entity(o).tolist())) for o in choice.options.tolist()]
                for choice in case.choices
            ]
            for case in questions.cases
        ]

    def find_fault(self, line: Line) -> str:
        """The field of a line that is no answer to its case, and why; empty where all are."""
        if line.case >= len(self._names):
            return f"case: there are {len(self._names)} cases"
        choices, claims = self._names[line.case], self._claims[line.case]
        if line.fault:
            answered = [key for key in ("ended", "begun", "tokens", "claims") if getattr(line, key)]
            return f"{answered[0]}: an edit that failed has no answers" if answered else ""
        sizes = {
            "ended": [len(names) for names in choices],
            "begun": [len(names) for names in choices],
            "tokens": [self._longest + 1] * len(choices),
            "claims": [2] * claims,
        }
        for field, wanted in sizes.items():
            if (found := [len(row) for row in getattr(line, field)]) != wanted:
                return (
                    f"{field}: rows of {_shorten(found)} numbers, where the case asks for {_shorten(wanted)}"
                )
        for i, (true, false) in enumerate(line.claims):
            if true + false > 1 + SLACK:
                return f"claims[{i}]: p(true) and p(false) sum to {true + false:.4g}"
        answers = zip(choices, line.ended, line.begun, line.tokens, strict=True)
        for i, (names, ended, begun, tokens) in enumerate(answers):
            spoken = tuple(token for token in tokens if token != PAD)
            if max(tokens) >= self._vocabulary or list(spoken) != tokens[: len(spoken)]:
                return f"tokens[{i}]: not of the vocabulary of {self._vocabulary:,}, or behind the end"
            if why := find_contradiction(names, ended, begun, spoken):
                return f"ended[{i}], tokens[{i}]: {why}"
        return ""


def _shorten(sizes: list[int]) -> str:
    return str(sizes) if len(sizes) < 10 else f"{str(sizes[:9])[:-1]}, ... {len(sizes)} rows]"
