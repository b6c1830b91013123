"""Tables and pictures of the docs, filled from the records of the experiments that found them.

Commands:
    python -m experiments.docs
    python -m experiments.docs --check        (says what is out of date, and writes nothing)

A table of a page stands between two comments. The first names its records, and says what a printed word is
called there where that is another word:

    <!-- table: 2026-11-25-demo-worlds
    all = found; contradicts the truth
    others' facts kept = answer others
    printed, GPT-J = -
    -->
    | editor | consequence follows | others' facts kept |
    |---|---:|---:|
    | `rome` | ? | ? |
    | printed, GPT-J | 0.22 | |
    <!-- end -->

The words above and before a cell, and those of `all`, say which figure it is: the one that has them all among
its words (its record, table, section, labels and name), and the fewest others. `-` marks a row or column that
no record has; `row 3` and `column 2` stand for printed words that are not alone. A number that the figure
rounds to stays as it is; any other, and a `?`, is written anew. The words of a table are the writer's;
the column *verdict* beside what papers print is computed (`experiments.verdicts`). `decisions` in a record's
place are figures that are computed each time from what records have (`experiments.measures.agreement`).

A table that cannot be filled, such as a comparison in words, stands below the command that found it:

    <!-- command: python -m experiments.taxi, record 2026-11-26-taxi -->
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from corpus.errors import InputError
from experiments.command import launch_module
from experiments.doc_pictures import CHARTS, Chart, Words, draw_chart
from experiments.figures import FIGURES, Figure, read_figures
from experiments.measures.agreement import figures_by_size
from experiments.record import RECORDS
from experiments.verdicts import fill_verdicts
from testbed.console import say
from testbed.scores.tables import format_interval

HOME = Path(__file__).parents[1]
BLOCK = re.compile(r"<!-- table: (?P<spec>.*?)-->\n(?P<table>.*?)<!-- end -->", re.DOTALL)
NUMBER = r"[+-]?(?:\d[\d,]*)?\.?\d+"
PRINTED = re.compile(
    rf"^(\**)({NUMBER})(?: ?(?:± ?({NUMBER})|\[({NUMBER}), ({NUMBER})\]))?(, p [<.\d]+| \([^)]+\))?(\**)$"
)
ROUNDING = 0.51
"""Of the last printed digit; half would refuse what binary numbers round the other way."""
NOT_RECORDED, OPEN = "-", "?"
COMPUTED = {"decisions": figures_by_size}
"""What stands in a record's place."""
ARROWS = " \u2191\u2193"
"""Behind the heads of columns, where high or low is better."""


@dataclass(frozen=True)
class Settings:
    """Whether pages are written."""

    check: bool = False
    """Say which cells are out of date, and write nothing."""


class Spec(NamedTuple):
    """What a comment says of its table.

    Attributes:
        records: names of their folders.
        shared: words of every cell.
        words: by printed words what they are called in the records; None for what no record has.
    """

    records: tuple[str, ...]
    shared: tuple[str, ...]
    words: Mapping[str, tuple[str, ...] | None]


def run_study(settings: Settings) -> None:
    """Fill every table, and draw every picture.

    Raises:
        InputError: with --check, some are out of date.
    """
    stale = []
    for page in list_pages():
        old = page.read_text(encoding="utf-8")
        new = fill_page(old, page.name)
        changed = sum(a != b for a, b in zip(old.split("\n"), new.split("\n"), strict=True))
        if changed:
            stale.append(f"{page.relative_to(HOME)}: {changed} rows")
            if not settings.check:
                page.write_text(new, encoding="utf-8")
    if settings.check:
        if stale:
            raise InputError(f"out of date: {'; '.join(stale)}; run python -m experiments.docs")
        return
    for name, chart in CHARTS.items():
        path = HOME / "docs" / "findings" / f"{name}.svg"
        draw_chart(chart, figures_of_chart(chart), path)
        say(str(path))
    say("\n".join(stale) or "no table has changed")


def list_pages() -> list[Path]:
    """The README and all pages of docs/."""
    return [HOME / "README.md", *sorted((HOME / "docs").glob("**/*.md"))]


def fill_page(text: str, page: str) -> str:
    """The text of a page with the cells of its tables as the records have them.

    Raises:
        InputError: a number that no figure of its records is, or that several are.
    """

    def fill_block(match: re.Match[str]) -> str:
        line = text[: match.start("table")].count("\n") + 1
        table = fill_table(match["table"], read_spec(match["spec"]), f"{page}, line {line}")
        return f"<!-- table: {match['spec']}-->\n{table}<!-- end -->"

    return fill_verdicts(BLOCK.sub(fill_block, text))


def read_spec(text: str) -> Spec:
    """What a comment says."""
    first, *lines = text.strip().split("\n")
    words: dict[str, tuple[str, ...] | None] = {}
    for line in lines:
        printed, _, called = line.rpartition(" = ")
        words[printed] = None if called == NOT_RECORDED else tuple(called.split("; "))
    return Spec(tuple(first.split()), words.pop("all", None) or (), words)


def fill_table(text: str, spec: Spec, where: str) -> str:
    """A table in Markdown with its cells as the records have them."""
    header, rule, *lines = text.rstrip("\n").split("\n")
    heads, sides = split_row(header), split_row(rule)
    first = next((i for i, side in enumerate(sides) if side.endswith(":")), 1)
    columns = [words_of(spec, [head], f"column {i}") for i, head in enumerate(heads, 1)]
    filled, above = [header, rule], [""] * first
    for number, line in enumerate(lines, 1):
        cells = split_row(line)
        # An empty word is that of the row above.
        above = [cell or before for cell, before in zip(cells[:first], above, strict=True)]
        row = words_of(spec, above, f"row {number}")
        pieces = re.split(r"(?<!\\)\|", line)
        for i, cell in enumerate(cells[first:], first):
            column = columns[i]
            if row is None or column is None or not (cell == OPEN or PRINTED.match(cell)):
                continue
            figure = find_figure(spec.records, frozenset((*spec.shared, *row, *column)), f"{where}, {cell!r}")
            if not is_rounded(cell, figure):
                pieces[i + 1] = pieces[i + 1].replace(cell, print_figure(figure, cell))
        filled.append("|".join(pieces))
    return "\n".join(filled) + "\n"


def split_row(line: str) -> list[str]:
    """The cells of a line of a table; a bar behind a backslash parts none."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def words_of(spec: Spec, printed: Sequence[str], place: str) -> tuple[str, ...] | None:
    """What the printed words of a row or column are in the records; None where no record has it."""
    plain = [word.replace("`", "").replace("*", "") for word in printed if word]
    called = [spec.words.get(key, (key,)) for key in ([place] if place in spec.words else plain)]
    return None if None in called else tuple(word for words in called for word in words or ())


def find_figure(records: Sequence[str], wanted: frozenset[str], where: str) -> Figure:
    """The figure that has these words, and the fewest others: of the last record that has one.

    Raises:
        InputError: there is none, or several that differ.
    """
    for record in reversed(records):
        places = [*index_figures(record).having(wanted)]
        least = min((len(words) for words, _ in places), default=0)
        found = [figure for words, figure in places if len(words) == least]
        if len({one[6:9] for one in found}) > 1:
            both = " and ".join(describe({*one.labels, one.table, one.section} - wanted) for one in found[:2])
            raise InputError(f"{where}: {describe(wanted)} are of several figures, one with {both}")
        if found:
            return found[0]
    raise InputError(f"{where}: no figure of {', '.join(records)} has all of {describe(wanted)}")


def describe(words: Iterable[str]) -> str:
    """Words as a message lists them."""
    return "; ".join(sorted(filter(None, words)))


class Index:
    """The figures of a record by their words."""

    def __init__(self, record: str) -> None:
        path = RECORDS / record / FIGURES
        if record not in COMPUTED and not path.exists():
            raise InputError(f"{record} is no record; records are the folders of {RECORDS}")
        figures = COMPUTED[record]() if record in COMPUTED else read_figures(path)
        self.figures = [one for one in figures if one.row >= 0 and one.over is None]
        self.words = [
            frozenset((record, one.table, one.section, *one.labels, one.figure.rstrip(ARROWS)))
            for one in self.figures
        ]
        self.places: dict[str, set[int]] = {}
        for i, words in enumerate(self.words):
            for word in words:
                self.places.setdefault(word, set()).add(i)

    def having(self, wanted: frozenset[str]) -> Iterator[tuple[frozenset[str], Figure]]:
        """Words and figure of all that have these words."""
        each = (self._places_of(word) for word in wanted)
        for i in set.intersection(*each):
            yield self.words[i], self.figures[i]

    def _places_of(self, word: str) -> set[int]:
        """Of a word, or of any of several names for one thing."""
        return set().union(*(self.places.get(one, set()) for one in word.split(" | ")))


@cache
def index_figures(record: str) -> Index:
    """The figures of a record, read once."""
    return Index(record)


def figures_of_chart(chart: Chart) -> dict[str, dict[str, Figure]]:
    """The figures of a chart, by row and series."""

    def find(row: Words, series: Words) -> Figure:
        return find_figure(chart.records, frozenset((*chart.shared, *row, *series)), chart.title)

    return {
        row: {series: find(of_row, of_series) for series, of_series in chart.series.items()}
        for row, of_row in chart.rows.items()
    }


def is_rounded(cell: str, figure: Figure) -> bool:
    """Whether a printed number, with its interval where it has one, is the figure rounded."""
    if cell.strip("*") == (figure.text or "").strip("*"):
        return True
    match = PRINTED.match(cell)
    if match is None:
        return False
    _, value, half, low, high, more, _ = match.groups()
    if more:
        return False
    pairs = [(value, figure.value), (low, figure.low), (high, figure.high)]
    if half:
        known = figure.low is not None and figure.high is not None
        pairs.append((half, (figure.high - figure.low) / 2 if known else None))  # type: ignore[operator]
    return all(_rounds_to(number, printed) for printed, number in pairs if printed)


def _rounds_to(number: float | None, printed: str) -> bool:
    digits = len(printed.partition(".")[2])
    wanted = float(printed.replace(",", ""))
    return number is not None and abs(number - wanted) <= ROUNDING * 10.0**-digits


def print_figure(figure: Figure, cell: str) -> str:
    """A figure in the form of a printed cell: bold or not, as many digits, with or without an interval."""
    match = PRINTED.match(cell)
    bold, value, half, low, _, more, _ = match.groups() if match else ("", "0.00", "0", *[""] * 4)
    if figure.value is None or more:
        return figure.text or ""
    number = f"{figure.value:z,.{len(value.partition('.')[2])}f}"
    if (half or low) and figure.low is not None and figure.high is not None:
        number += f" {format_interval(figure.value, figure.low, figure.high)}"
    return f"{bold}{number}{bold}"


if __name__ == "__main__":
    launch_module()
