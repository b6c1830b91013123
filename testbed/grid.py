"""Tables and pictures as objects: they show themselves in a notebook; a table turns into Arrow or pandas."""

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow
import pyarrow as pa
from rich.console import Console

from testbed.cells import Shown, as_json, cell_text
from testbed.console import draw_tables, print_table
from testbed.scores.headlines import describe_subset, headline_labels, headline_rows
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, format_cell

if TYPE_CHECKING:
    import pandas

WIDTH = 110
"""Columns of text."""


@dataclass(frozen=True, repr=False)
class Grid:
    """A table of cells (`testbed.cells`)."""

    title: str
    """What it shows."""
    header: Sequence[str]
    """Names of the columns."""
    rows: Sequence[Sequence[Any]]
    """The cells."""
    numbers: bool = True
    """Whether all but the first column are aligned on the right."""
    note: str = ""
    """What is said below it."""
    table: pa.Table | None = None
    """What it has beside its cells, as a table of plain columns."""

    def print(self) -> None:
        """Print it as commands do."""
        print_table(self.title, self.header, self.rows, self.numbers)

    def to_arrow(self) -> pyarrow.Table:
        """Its table; else the values: a column for each, and more for what a cell says besides its value."""
        if self.table is not None:
            return self.table
        names = [name or "name" for name in self.header]
        rows = [_flatten_row(dict(zip(names, as_json(row), strict=True))) for row in self.rows]
        columns = dict.fromkeys(key for row in rows for key in row)
        return pa.table({key: [row.get(key) for row in rows] for key in columns})

    def to_pandas(self) -> "pandas.DataFrame":
        """As `to_arrow`, for pandas; needs it."""
        return self.to_arrow().to_pandas()

    def __repr__(self) -> str:
        text = io.StringIO()
        # In a notebook rich would show the table by itself, beside what is returned here.
        options: Any = {"markup": False, "emoji": False, "highlight": False, "force_jupyter": False}
        console = Console(file=text, width=WIDTH, **options)
        for table in draw_tables(self.title, self.header, self.rows, self.numbers, WIDTH):
            console.print(table)
        lines = [line.rstrip() for line in text.getvalue().splitlines()]
        return "\n".join(["\n".join(lines).rstrip(), *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{html.escape(name)}</th>" for name in self.header)
        align = ["left", *(["right" if self.numbers else "left"] * (len(self.header) - 1))]
        lines = [
            "<tr>"
            + "".join(
                f'<td style="text-align:{side}">{html.escape(cell_text(cell))}</td>'
                for side, cell in zip(align, row, strict=True)
            )
            + "</tr>"
            for row in self.rows
        ]
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return f"<p><b>{html.escape(self.title)}</b></p><table><tr>{heads}</tr>{''.join(lines)}</table>{note}"


def show_cells(rows: Sequence[Sequence[Cell]]) -> list[list[Any]]:
    """Rows of which all but the names are shown as reports show them, and stay numbers to programs."""
    return [[name, *(Shown(format_cell(cell), cell) for cell in row)] for name, *row in rows]


def headline_grid(title: str, editors: Sequence[ScoredEditor]) -> Grid:
    """The headlines of scored editors of one evaluation, a row each."""
    evaluation = editors[0].evaluation
    rows = show_cells([row for e in editors for row in headline_rows(e.evaluation, e.frame, [e.name])])
    title = f"{title}: edits{describe_subset(evaluation, editors[0].frame)}"
    return Grid(title, ["editor", *headline_labels(evaluation).values()], rows)


class Drawing(NamedTuple):
    """A picture, as SVG, and what it shows."""

    says: str
    svg: str

    def __repr__(self) -> str:
        return f"{self.says} (a picture; in a notebook it shows itself)"

    def _repr_html_(self) -> str:
        picture = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="{html.escape(self.says)}" src="data:image/svg+xml;base64,{picture}">'


def _flatten_row(row: dict[str, Any]) -> dict[str, Any]:
    """Cells of several values as several columns; the value itself keeps the column's name."""
    flat = {}
    for name, cell in row.items():
        if not isinstance(cell, dict):
            flat[name] = cell
            continue
        for key, value in cell.items():
            flat[name if key == "value" else f"{name} {key}"] = value
    return flat
