"""Tables of a report: cells that know their number, as text, Markdown and LaTeX."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from testbed.scores.metric import ARROWS, Better, MetricDefinition
from testbed.scores.statistics import Comparison, Estimate

SIGNIFICANT = 0.05
MISSING = "-"
ENOUGH = 0.9
"""Of the most cases behind a cell of a column, so many are behind a cell that competes there. Else who says
nothing where it is in doubt would be the best of those that speak."""
PAGE = 45
"""Rows of a LaTeX table that fit a page."""
Cell = str | int | float | Estimate | Comparison | None

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "±": r"$\pm$", "\u2191": r"$\uparrow$", "\u2193": r"$\downarrow$", "\u2192": r"$\to$",
    "\u2212": "$-$", "\u00d7": r"$\times$", "\u201c": "``",
    "\u201d": "''", "\u2019": "'", "\u2026": r"\ldots{}",
}  # fmt: skip


class RowsBehind(NamedTuple):
    """The cases that a column is the average of: a metric, over one subset of them."""

    metric: str
    subset: str = "all"


class Table(NamedTuple):
    """A table of cells.

    Attributes:
        key: names it in links and LaTeX labels; letters, digits and `_.-` only.
        note: how to read it; empty where the title says it all.
        words: how many of the first columns are words, not numbers.
        foot: rows below all others that are never sorted, such as the smallest detectable difference.
        better: what is better in the columns of metrics, by header; their heads get an arrow.
        contest: the rows that compete in these columns, by number; the best of them stands out.
        to_beat: rows of who knows nothing; where one of them is as good as the best, nobody stands out.
        behind: by header the cases that its cells are averages of.
    """

    key: str
    title: str
    header: list[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    words: int = 1
    foot: Sequence[Sequence[Cell]] = ()
    better: Mapping[str, Better] = {}
    contest: Sequence[int] = ()
    to_beat: Sequence[int] = ()
    behind: Mapping[str, RowsBehind] = {}

    @property
    def heads(self) -> list[str]:
        """The header, with an arrow where high or low is better."""
        return [
            f"{name} {ARROWS[self.better[name]]}" if name in self.better else name for name in self.header
        ]

    @property
    def best_cells(self) -> set[tuple[int, int]]:
        """Row and column of the best cells, where several rows compete and differ."""
        ranks = self.ranks.items()
        best = {(i, column) for column, of in ranks if max(of.values()) > 1 for i in of if of[i] == 1}
        return {
            (i, column)
            for i, column in best
            if all(self._distance(i, column) < self._distance(row, column) for row in self.to_beat)
        }

    @property
    def ranks(self) -> dict[int, dict[int, int]]:
        """By column of a metric and by row that competes in it: 1 for the best, equal ones alike."""
        ranks = {}
        for column, name in enumerate(self.header):
            if name not in self.better:
                continue
            away = {i: self._distance(i, column) for i in self.contest}
            away = {i: x for i, x in away.items() if x < math.inf}
            cells = {i: self.rows[i][column] for i in away}
            cases = {i: cell.cases if isinstance(cell, Estimate) else 0 for i, cell in cells.items()}
            away = {i: x for i, x in away.items() if cases[i] >= ENOUGH * max(cases.values())}
            if away:
                ranks[column] = {i: 1 + sum(y < x for y in away.values()) for i, x in away.items()}
        return ranks

    def _distance(self, row: int, column: int) -> float:
        """What grows as a cell gets worse; infinite where it has no number."""
        number = cell_number(self.rows[row][column])
        if number is None:
            return math.inf
        better = self.better[self.header[column]]
        return {"high": -number, "low": number, "one": abs(number - 1)}[better]


def better_of(definitions: Sequence[MetricDefinition]) -> dict[str, Better]:
    """What is better of each metric, by name."""
    return {m.id: m.better for m in definitions}


def case_counts(cells: Sequence[Estimate | Comparison]) -> str:
    """How many cases, and in brackets how many clusters, the least and the most of some cells have."""

    def number_range(numbers: Sequence[int]) -> str:
        least, most = min(numbers), max(numbers)
        return f"{least:,}" if least == most else f"{least:,} to {most:,}"

    return (
        f"{number_range([c.cases for c in cells])} ({number_range([c.clusters for c in cells])})"
        if cells
        else ""
    )


def format_cell(cell: Cell) -> str:
    """A cell as text: an estimate with its interval, a difference with its sign and p-value too.

    Over few clusters, the range of their values in parentheses.
    """
    if isinstance(cell, Estimate | Comparison):
        middle = cell[0]
        if math.isnan(middle):
            return MISSING
        signed = isinstance(cell, Comparison)
        value = f"{middle:+.2f}" if signed else f"{middle:.2f}"
        if value in ("-0.00", "+0.00"):
            value = "0.00"
        text = value if math.isnan(cell.low) else f"{value} {format_interval(*cell[:3])}"
        if cell.few and cell.few[0].clusters > 1 and not math.isnan(cell.few[0].low):
            # Adding 0 makes -0 a 0.
            low, high = (round(end, 2) + 0.0 for end in (cell.few[0].low, cell.few[0].high))
            text += f" ({low:.2f} to {high:.2f})"
        return f"{text}, p {format_probability(cell.p)}" if isinstance(cell, Comparison) else text
    if isinstance(cell, str):
        return cell
    if cell is None or math.isnan(cell):
        return MISSING
    if isinstance(cell, int) or (cell == round(cell) and abs(cell) < 1e5):
        return f"{round(cell):,}"
    return f"{cell:,.3g}"


def cell_number(cell: Cell) -> float | None:
    """What a cell is sorted by; None for words and for what is missing."""
    if isinstance(cell, Estimate | Comparison):
        cell = cell[0]
    if isinstance(cell, str) or cell is None or math.isnan(cell):
        return None
    return float(cell)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """A Markdown table whose first `words` columns are words, the others numbers."""
    rule = ["---"] * words + ["---:"] * (len(header) - words)
    escaped = [[cell.replace("|", r"\|") for cell in line] for line in (header, *rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in (escaped[0], rule, *escaped[1:]))


def markdown_section(table: Table) -> str:
    """Title, note and table in Markdown."""
    best = table.best_cells
    rows = [
        [f"**{format_cell(cell)}**" if (i, j) in best else format_cell(cell) for j, cell in enumerate(row)]
        for i, row in enumerate((*table.rows, *table.foot))
    ]
    parts = [f"### {table.title}", table.note, markdown_table(table.heads, rows, table.words)]
    return "\n\n".join(part for part in parts if part)


def escape_latex(text: str) -> str:
    """Text as LaTeX prints it; a sign before a number becomes a minus."""
    return re.sub(r"(?<![\w-])-(?=[\d.])", "$-$", "".join(_LATEX.get(letter, letter) for letter in text))


def format_interval(value: float, low: float, high: float) -> str:
    """An interval: ± half of it, or where that would mislead both ends, as [0.48, 1].

    It would where one end is more than twice as far from the value as the other, and both are more than
    a hundredth off.

    >>> format_interval(0.64, 0.52, 0.76), format_interval(1.0, 0.69, 1.0)
    ('± 0.12', '[0.69, 1]')
    """
    half = (high - low) / 2
    off = abs((low + high) / 2 - value)
    if off <= max(half / 3, 0.01):
        return f"± {half:.2f}"
    return f"[{_format_end(low)}, {_format_end(high)}]"


def _format_end(end: float) -> str:
    if round(end, 2) == round(end):
        return f"{round(end)}"
    return f"{end:.2f}"


def format_probability(p: float) -> str:
    """A p-value to three digits."""
    if math.isnan(p):
        return MISSING
    return "<0.001" if p < 0.001 else f"{p:.3f}"
