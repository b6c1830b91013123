"""Are the edits of two runs the same? For a run made before and after a change of the code.

    python -m experiments.same_edits runs/old runs/new

Editors are compared that both runs have under the same settings; one that came or went in between does not
count. Requests, gold (what the agent and the corpus say) and answers must be equal, and probabilities, losses
and metrics of the report equal within `--tolerance`. Times are not compared. Prints a line for each kind of
value and names the columns and metrics that differ, the largest difference first. Fails where anything
differs or nothing could be compared.
"""

import csv
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tyro

from corpus.errors import InputError
from corpus.files import read_json
from experiments.command import launch_module
from testbed.console import print_table
from testbed.run.runs import fit_settings

KINDS = ("requests", "gold", "answers", "probabilities", "metrics")
TABLES = ("cases", "choices", "claims", "passages")
TIMES = {"seconds"}
GOLD = ("agent_", "frequency_")
ANSWERS = ("lm_answer_", "lines_", "ended_", "tokens_")
PROBABILITIES = ("lm_", "true_", "false_", "log_p_", "loss", "steps", "forward", "backward")
METRIC_KEY = ("evaluation", "editor", "subset", "reader", "metric")
METRIC_VALUES = ("value", "low", "high", "cases", "clusters")


@dataclass(frozen=True)
class Settings:
    """Two runs, and how close their numbers have to be."""

    runs: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Folders of the two runs."""
    tolerance: float = 1e-12
    """Largest difference of probabilities, gold and metrics that counts as none."""


class Difference(NamedTuple):
    """How far a column of one table, or a metric, differs.

    Attributes:
        values: how many were compared.
        differ: how many of them differ by more than the tolerance.
        largest: the largest difference, infinite where values are not numbers or one is missing.
    """

    kind: str
    name: str
    values: int
    differ: int
    largest: float


def compare_runs(old: Path, new: Path, tolerance: float) -> list[Difference]:
    """Every column of the results of editors that both runs have, and every metric of their reports.

    Raises:
        InputError: no editor has results in both, or one is there in several versions.
    """
    pairs = _pair_folders(old, new)
    if not pairs:
        raise InputError(f"{old} and {new} share no editor with the same settings; edit both, then compare")
    differences: list[Difference] = []
    for before, after in pairs.items():
        for table in TABLES:
            first, second = (pq.read_table(folder / f"{table}.parquet") for folder in (before, after))
            differences += compare_tables(f"{'/'.join(_editor_of(before))} {table}", first, second, tolerance)
    return differences + list(_compare_reports(old, new, tolerance))


def compare_tables(name: str, old: pa.Table, new: pa.Table, tolerance: float) -> Iterator[Difference]:
    """Every column of two tables but times, in the order of rows."""
    for column in dict.fromkeys([*old.column_names, *new.column_names]):
        if column in TIMES:
            continue
        counts = _count_differences(_values_of(old, column), _values_of(new, column), tolerance)
        yield Difference(kind_of(column), f"{name}.{column}", *counts)


def kind_of(column: str) -> str:
    """Which kind of value a column of results has."""
    for kind, beginnings in (("gold", GOLD), ("answers", ANSWERS), ("probabilities", PROBABILITIES)):
        if column.startswith(beginnings):
            return kind
    return "requests"


def _pair_folders(old: Path, new: Path) -> dict[Path, Path]:
    """The folder of results in one run -> that of the same edits in the other."""
    before, after = (
        {
            path.parent: read_json(path.parent / "config.json")
            for path in sorted(run.glob("edits/*/*/cases.parquet"))
        }
        for run in (old, new)
    )
    pairs: dict[Path, Path] = {}
    for first, second in itertools.product(before, after):
        then, now = before[first]["settings"], after[second]["settings"]
        if _editor_of(first) == _editor_of(second) and fit_settings(then, now) == now:
            if first in pairs or second in pairs.values():
                raise InputError(
                    f"{first} and {second} are not the only ones with their settings; move one away"
                )
            pairs[first] = second
    return pairs


def _editor_of(folder: Path) -> tuple[str, str]:
    """Evaluation and editor of some results."""
    return folder.parent.name, folder.name.rpartition("-")[0]


def _values_of(table: pa.Table, column: str) -> list:
    """A column's values, those of lists end to end after their lengths."""
    if column not in table.column_names:
        return []
    values = table[column].to_pylist()
    if any(isinstance(value, list) for value in values):
        return [len(value) for value in values] + [item for value in values for item in value]
    return values


def _count_differences(old: list, new: list, tolerance: float) -> tuple[int, int, float]:
    """How many values there are, how many differ, and the largest difference."""
    if len(old) != len(new):
        return max(len(old), len(new)), abs(len(old) - len(new)), math.inf
    if not all(isinstance(value, float | int) for value in [*old, *new]):
        unequal = sum(a != b for a, b in zip(old, new, strict=True))
        return len(old), unequal, math.inf if unequal else 0.0
    first, second = np.array(old, float), np.array(new, float)
    apart = np.where((first == second) | (np.isnan(first) & np.isnan(second)), 0.0, np.abs(first - second))
    apart = np.where(np.isnan(apart), math.inf, apart)
    return len(old), int((apart > tolerance).sum()), float(apart.max(initial=0.0))


def _compare_reports(old: Path, new: Path, tolerance: float) -> Iterator[Difference]:
    """Every metric of both reports; what only one of them has is missing from the other."""
    first, second = (_metrics_of(run / "report" / "summary.csv") for run in (old, new))
    for key in dict.fromkeys([*first, *second]):
        counts = _count_differences(first.get(key, []), second.get(key, []), tolerance)
        yield Difference("metrics", " / ".join(key), *counts)


def _metrics_of(path: Path) -> dict[tuple[str, ...], list[float]]:
    if not path.exists():
        raise InputError(f"{path} is missing; run `python -m testbed.report` for this run, then compare")
    with path.open(encoding="utf-8", newline="") as file:
        return {
            tuple(row[name] for name in METRIC_KEY): [float(row[name]) for name in METRIC_VALUES]
            for row in csv.DictReader(file)
        }


def summarise_differences(differences: Iterable[Difference]) -> list[list[str]]:
    """A row for each kind of value: how many, how many differ, the largest difference."""
    rows = []
    for kind in KINDS:
        those = [d for d in differences if d.kind == kind]
        largest = max((d.largest for d in those), default=0.0)
        counts = (sum(d.values for d in those), sum(d.differ for d in those))
        rows.append([kind, *(f"{count:,}" for count in counts), f"{largest:.1e}"])
    return rows


def run_study(settings: Settings) -> None:
    """Compare the runs and print what differs.

    Raises:
        InputError: something does, or there are not two runs.
    """
    if len(settings.runs) != 2:
        raise InputError(f"name two folders of runs, not {len(settings.runs)}")
    differences = compare_runs(*settings.runs, settings.tolerance)
    header = ["kind", "values", "differ", "largest difference"]
    print_table("The same edits?", header, summarise_differences(differences))
    unequal = sorted((d for d in differences if d.differ), key=lambda d: -d.largest)
    if unequal:
        rows = [[d.kind, d.name, f"{d.differ:,} of {d.values:,}", f"{d.largest:.1e}"] for d in unequal]
        print_table("What differs", ["kind", "where", "how many", "largest difference"], rows)
        raise InputError(f"{len(unequal)} columns and metrics of {settings.runs[1]} differ")


if __name__ == "__main__":
    launch_module()
