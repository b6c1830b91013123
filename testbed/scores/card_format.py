"""The folder that `testbed.examine` writes and a leaderboard reads: its files, schema, order of editors."""

import datetime
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta, Struct, field

from testbed.run.strict_json import Count, Probability, Text, Word, Words

CARD, ANSWERS = "scorecard.json", "answers"
"""The card, and the folder of answers by world."""
FORMAT = 1
"""Of the card."""
BOUND = ("world", "corpus", "cases")
"""Hashes of a world that are the same on every machine."""
NAME = r"[A-Za-z_][A-Za-z0-9_.:-]{0,99}"
"""What somebody's editor may be called: in letters that no others can be taken for."""
Number = float | None
Verdict = Literal["better", "unsure", "worse"]
Name = Annotated[str, Meta(pattern=rf"^{NAME}\Z")]


class OverNoEdit(Struct, forbid_unknown_fields=True):
    """The paired difference from no edit."""

    difference: Number
    low: Number
    high: Number
    verdict: Verdict


class CardNumber(Struct, forbid_unknown_fields=True):
    """A number of an editor."""

    value: Number
    low: Number
    high: Number
    cases: Count
    over: OverNoEdit = field(name="over no edit")


class CardEditor(Struct, forbid_unknown_fields=True):
    """An editor and its numbers by row."""

    editor: Word
    better: Count = field(name="rows surely better")
    worse: Count = field(name="rows surely worse")
    numbers: dict[Word, CardNumber]


class CardRow(Struct, forbid_unknown_fields=True, kw_only=True):
    """What a row is."""

    row: Word
    says: Text
    kind: Word = ""
    worlds: Annotated[list[Word], Meta(min_length=1)]
    metric: Word
    better: Literal["high", "low"]


class CardMethod(Struct, forbid_unknown_fields=True):
    """The editor in a world: see `testbed.engine.versions.identify_method`."""

    editor: Name
    settings: dict[Word, Any]
    version: Count | Word
    elsewhere: bool = False
    reads: dict[Word, Word] = {}


class CardWorld(Struct, forbid_unknown_fields=True):
    """What a world is, by its hashes, and how well its model knows it."""

    world: Word
    corpus: Word
    cases: Word
    settings: dict[Word, Any]
    weights: Word
    accuracy: Probability


class Card(Struct, forbid_unknown_fields=True):
    """scorecard.json, see docs/examine.md."""

    format: Literal[1]
    suite: Word
    title: Word
    examined: Name
    methods: Annotated[dict[Word, CardMethod], Meta(min_length=1)]
    worlds: Annotated[dict[Word, CardWorld], Meta(min_length=1)]
    rows: list[CardRow]
    editors: list[CardEditor]
    made_with: Words
    date: datetime.date
    versions: dict[Word, Any] = {}
    code: Word = ""


class KindCount(NamedTuple):
    """Of the rows about one kind of world, in how many an editor is surely better than no edit, and worse."""

    rows: int
    better: int
    worse: int

    @property
    def share(self) -> float:
        """Those surely better less those surely worse, of all."""
        return (self.better - self.worse) / self.rows


def verdict_of(low: Number, high: Number, better: str) -> Verdict:
    """How an editor compares with no edit, by the interval of their difference; unsure where there is none.

    Args:
        low, high: its ends; None or NaN where it has none.
        better: whether a "high" number is the better one, or a "low" one.
    """
    if low is None or high is None or not (low > 0 or high < 0):
        return "unsure"
    return "better" if (low > 0) == (better == "high") else "worse"


def count_by_kind(kinds: Mapping[str, str], verdicts: Mapping[str, str]) -> dict[str, KindCount]:
    """The counts of one editor by kind of world; a row in which it has no number is neither.

    Args:
        kinds: by row, the kind of its worlds.
        verdicts: by row, how the editor compares with no edit.
    """
    counts = {}
    for kind in dict.fromkeys(kinds.values()):
        of = [verdicts.get(row) for row, its in kinds.items() if its == kind]
        counts[kind] = KindCount(len(of), of.count("better"), of.count("worse"))
    return counts


def standing_key(editor: str, counts: Mapping[str, KindCount]) -> tuple[list[float], int, str]:
    """What editors are sorted by: share in the worst kind, in the next; fewer rows surely worse; name."""
    shares = sorted(count.share for count in counts.values())
    return [-share for share in shares], sum(count.worse for count in counts.values()), editor
