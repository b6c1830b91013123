"""Print a record again: its tables, and its figures as text.

Command:
    python -m experiments.redraw 2026-11-23-support-law

Writes runs/redrawn/RECORD; takes seconds. No model and no run are needed. Where the record has cases.parquet,
what each edit came to, intervals.csv has every interval as it is computed from these again.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import tyro

from corpus.errors import InputError
from experiments.by_case import CASES, read_estimates
from experiments.command import launch_module
from experiments.figures import FIGURES, Figure, read_figures
from experiments.record import RECORDS
from testbed.console import say
from testbed.scores.statistics import Estimate


@dataclass(frozen=True)
class Settings:
    """Which records, and where to."""

    records: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of folders in experiments/records, or paths to others."""
    into: Path = Path("runs/redrawn")
    """Folder in which one of each record's name is made."""


def run_study(settings: Settings) -> None:
    """Print them, and say what has been written.

    Raises:
        InputError: there is no such record.
    """
    sources = [RECORDS / name for name in settings.records]
    missing = [str(source) for source in sources if not (source / FIGURES).exists()]
    if missing or not sources:
        names = ", ".join(sorted(path.name for path in RECORDS.iterdir()))
        raise InputError(f"{', '.join(missing) or 'nothing named'}: not a record; records: {names}")
    for source in sources:
        for path in write_tables(source, settings.into / source.name):
            say(str(path))


def write_tables(source: Path, folder: Path) -> Iterator[Path]:
    """Write the pages of tables and the figures of the record in `source` into `folder`: yields the files."""
    folder.mkdir(parents=True, exist_ok=True)
    if (source / CASES).exists():
        write_intervals(source / CASES, folder / "intervals.csv")
        yield folder / "intervals.csv"
    tables: dict[str, list[Figure]] = {}
    for one in read_figures(source / FIGURES):
        tables.setdefault(one.table, []).append(one)
    for table, rows in tables.items():
        is_page = table.endswith(".md")
        path = folder / (table if is_page else f"{table}.csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        if is_page:
            path.write_text(print_page(rows), encoding="utf-8")
        else:
            columns = ("figure", "value", "low", "high", "cases", "clusters", "over", "text")
            width = max(len(figure.labels) for figure in rows)
            names = next(
                (figure.names for figure in rows if figure.names),
                tuple(f"label {i + 1}" for i in range(width)),
            )
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow([*names, *columns])
                for figure in rows:
                    labels = [*figure.labels, *[""] * (width - len(figure.labels))]
                    writer.writerow([*labels, *(getattr(figure, column) for column in columns)])
        yield path


def print_page(figures: Sequence[Figure]) -> str:
    """The tables of a page, as Markdown."""
    lines: list[str] = []
    for is_prose, block in groupby(figures, lambda one: one.row < 0):
        if is_prose:
            lines += (one.text or "" for one in block)
            continue
        rows = [[*row] for _, row in groupby(block, lambda one: one.row)]
        names, header = rows[0][0].names, [one.figure for one in rows[0]]
        side = "---:" if any(one.value is not None for row in rows for one in row) else "---"
        cells = [[*names, *header], ["---"] * len(names) + [side] * len(header)]
        cells += [[*row[0].labels, *(one.text or "" for one in row)] for row in rows]
        lines += (f"| {' | '.join(row)} |" for row in cells)
    return "\n".join(lines).lstrip("\n") + "\n"


def write_intervals(cases: Path, path: Path) -> None:
    """Intervals computed from cases as comma-separated text, a line for each."""
    found = list(read_estimates(cases))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*found[0][0], *Estimate._fields[:5]])
        writer.writerows([*of.values(), *estimate[:5]] for of, estimate in found)


if __name__ == "__main__":
    launch_module()
