"""Compute the intervals of a record again, from what each of its edits came to.

Command:
    python -m experiments.intervals RECORD
    python -m experiments.intervals RECORD --metrics answer_s1r2_must_change --subset "support 1"

Studies write cases.parquet beside the figures of a record; metrics of headlines come first, then those of
first tables, as many as fit. No model and no run are needed; takes seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from corpus.errors import InputError
from experiments.by_case import CASES, read_estimates
from experiments.command import launch_module
from experiments.record import RECORDS
from testbed.console import say
from testbed.scores.frame import ALL
from testbed.scores.tables import Cell, Table, markdown_section


@dataclass(frozen=True)
class Settings:
    """Which record, and of which cases."""

    record: tyro.conf.Positional[str] = ""
    """Name of a folder in experiments/records, or a path to another."""
    metrics: tuple[str, ...] = ()
    """Ids of metrics; by default all that are there."""
    subset: str = ALL
    """Of the edits."""


def run_study(settings: Settings) -> None:
    """Print the estimates.

    Raises:
        InputError: the record keeps no cases, or not those that are asked for.
    """
    path = RECORDS / settings.record / CASES
    if not path.exists():
        names = ", ".join(sorted(there.parent.name for there in RECORDS.glob(f"*/{CASES}")))
        raise InputError(f"{path}: this record keeps no cases; those that do: {names or 'none yet'}")
    say(markdown_section(estimates_table(path, settings.metrics, settings.subset)))


def estimates_table(path: Path, metrics: Sequence[str], subset: str) -> Table:
    """A row for each editor and metric.

    Raises:
        InputError: the record does not keep one of the metrics, or the subset.
    """
    found = list(read_estimates(path, subset))
    known = dict.fromkeys(name for _, name, _ in found)
    if missing := [name for name in metrics if name not in known]:
        raise InputError(f"{path} does not keep {', '.join(missing)}; it has {', '.join(known)}")
    rows: list[list[Cell]] = [
        [*of.values(), name, one, one.cases] for of, name, one in found if name in (metrics or known)
    ]
    tags = [*found[0][0]]
    note = "± is half of a 95% interval; in brackets are both ends."
    return Table(
        "cases", f"Of {subset} edits", [*tags, "metric", "value", "cases"], rows, note, len(tags) + 1
    )


if __name__ == "__main__":
    launch_module()
