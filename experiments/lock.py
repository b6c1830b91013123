"""Does a change of the code move any number? Small runs of every preset, kept as values and compared.

    python -m experiments.lock make --runs runs/lock
    python -m experiments.lock keep lock.json --runs runs/lock
    python -m experiments.lock compare lock.json --runs runs/lock
    python -m experiments.lock compare lock.json --runs runs/lock --again

`make` builds corpora, trains models, edits and reports; a killed one goes on. `keep` writes down every value:
a hash of each column of the tables of results, every estimate of each report, every cell of its tables, and
the temperatures of the unedited model. `compare` does it again by the code that stands here now, in runs of
its own: it scores the rows that were stored or, with `--again`, edits once more, on the same corpora and
models. It prints how many values differ, and the first of them; it fails where any does. Metrics are compared
under their labels. By how much the columns of two runs differ, `experiments.same_edits` says.
"""

import csv
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq
import tyro

from corpus.errors import InputError
from corpus.files import hash_content, list_sealed, read_json, seal_folder, write_json
from experiments.command import launch_module
from experiments.same_edits import METRIC_KEY, METRIC_VALUES, TIMES
from testbed.commands.corpus import build_corpus
from testbed.commands.edit import edit, plan_jobs
from testbed.commands.report import report
from testbed.commands.train import train
from testbed.console import print_table, say
from testbed.engine.records import is_complete
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run
from testbed.settings import CaseConfig, EditSettings, ReportSettings

PRESETS: dict[str, tuple[str, ...]] = {
    "tiny": ("none", "lora-down", "rome", "keyed", "in-context", "count-based"),
    "requests": ("lora-down", "keyed-forms"),
    "taxi": ("none", "lora-down", "rome"),
    "leme": ("lora-down", "in-context"),
    "seesaw": ("lora-down", "keyed"),
}
"""Preset -> editors."""
STEPS = {"taxi": 200, "leme": 120, "seesaw": 200}
"""Of trainings that are shorter here: their models need not be good."""
CASES = CaseConfig(count=24)
TOLERANCE = 1e-9
FIRST = 20
"""Differing values that are printed."""
REPORTED_TIMES = ("seconds",)
"""Words of what is timed, and so never the same."""

Values = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What to do, with which file, and where the runs lie."""

    do: tyro.conf.Positional[Literal["make", "keep", "compare"]] = "compare"
    file: tyro.conf.Positional[Path] = Path("lock.json")
    """Where the values are kept."""
    runs: Path = Path("runs/lock")
    """Folder of the runs that are compared with."""
    to: Path = Path("runs/lock-now")
    """Folder of what is scored or edited again."""
    again: bool = False
    """Edit anew, instead of scoring the rows that were stored."""
    presets: tuple[str, ...] = tuple(PRESETS)
    """Which presets."""


def edits_of(preset: str, runs: Path) -> list[EditSettings]:
    """The edits of a preset: each on its own and, of the smallest, also in sequences."""
    apart = replace(EDIT[preset], run=preset, runs=runs, editors=PRESETS[preset], cases=CASES, batch_edits=8)
    if preset != "tiny":
        return [apart]
    return [apart, replace(apart, editors=("lora-down", "keyed"), sequential=4)]


def make_runs(settings: Settings) -> None:
    """Corpora, models, edits and reports of every preset."""
    for preset in settings.presets:
        build_corpus(replace(CORPUS[preset], run=preset, runs=settings.runs))
        training = TRAIN[preset]
        short = replace(training.train, steps=STEPS.get(preset, training.train.steps))
        train(replace(training, run=preset, runs=settings.runs, train=short))
        for edits in edits_of(preset, settings.runs):
            edit(edits)
        write_report(Run(settings.runs, preset))


def write_report(run: Run) -> None:
    """The report of a run, its tables alone."""
    report(ReportSettings(run.name, run.root, explorer=False))


def remake_run(preset: str, base: Path, runs: Path, again: bool) -> Run:
    """A run of the same corpus and model as one of `base`, its rows as stored there or made again."""
    run = Run(runs, preset)
    shutil.rmtree(run.folder, ignore_errors=True)
    for part in ("world", "corpus", "lm"):
        shutil.copytree(base / preset / part, run.folder / part, copy_function=os.link)
    shutil.copy(base / preset / "config.json", run.config_file)
    for edits in edits_of(preset, runs):
        if not again:
            # Rows of the same editors, restated as results of the code that stands here.
            for job in plan_jobs(edits).jobs:
                for path in Run(base, preset).edits.glob(f"*/{job.name}-*/config.json"):
                    recorded = read_json(path)
                    if recorded["settings"]["sequential"] == edits.sequential and is_complete(path.parent):
                        shutil.copytree(path.parent, job.folder)
                        write_json(job.folder / "config.json", recorded | job.trace)
                        seal_folder(job.folder, list_sealed(job.folder))
        edit(edits)
    write_report(run)
    return run


def values_of(run: Run) -> Values:
    """Every value of a run: columns of results, estimates, cells of tables, temperatures."""
    return dict(
        item
        for read in (_read_columns, _read_estimates, _read_cells, _read_temperatures)
        for item in read(run)
    )


def _read_columns(run: Run) -> Iterator[tuple[str, Any]]:
    """A hash of each column of the tables of results, but of times."""
    for path in sorted(run.edits.glob("*/*/*.parquet")):
        config = read_json(path.parent / "config.json")
        sequence = config["settings"]["sequential"]
        name = f"{run.name} rows / {config['editor']} in {sequence} / {path.stem}"
        table = pq.read_table(path)
        for column in table.column_names:
            if column not in TIMES:
                yield f"{name}.{column}", hash_content([repr(value) for value in table[column].to_pylist()])


def _read_estimates(run: Run) -> Iterator[tuple[str, Any]]:
    with (run.report / "summary.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name = " / ".join(row[key] for key in METRIC_KEY[:-1])
            name += f" / {row.get('label') or row['metric']}"
            yield f"{run.name} estimate / {name}", [float(row[key]) for key in METRIC_VALUES]


def _read_cells(run: Run) -> Iterator[tuple[str, Any]]:
    """The cells of the report's tables by title, the row's first cell and the column."""
    title, header = "", list[str]()
    seen: dict[str, int] = {}
    for line in (run.report / "summary.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            title, header = line.strip("# "), []
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not header:
            header = cells
        elif not set("".join(cells)) <= set("-: "):
            row = f"{title} / {cells[0]}"
            seen[row] = seen.get(row, 0) + 1
            for head, cell in zip(header, cells, strict=False):
                if not any(word in f"{cells[0]} {head}" for word in REPORTED_TIMES):
                    yield f"{run.name} table / {row} {seen[row]} / {head}", cell


def _read_temperatures(run: Run) -> Iterator[tuple[str, Any]]:
    for path in sorted((run.folder / "recalibrated").glob("*.json")):
        evaluation = path.stem.rpartition("-")[0]
        for name, value in read_json(path).items():
            yield f"{run.name} recalibrated / {evaluation} / {name}", value


def is_same(old: Any, new: Any) -> bool:
    """Whether two values are equal, numbers within the tolerance and none of NaN to NaN."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(is_same, old, new))
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(is_same(old[key], new[key]) for key in old)
    if isinstance(old, float) and isinstance(new, float):
        return old == new or (math.isnan(old) and math.isnan(new)) or abs(old - new) <= TOLERANCE
    return bool(old == new)


def compare_runs(settings: Settings) -> None:
    """Score or edit again, and print what differs.

    Raises:
        InputError: something does.
    """
    kept = json.loads(settings.file.read_text(encoding="utf-8"))
    rows, differences = [], []
    for preset in settings.presets:
        new = values_of(remake_run(preset, settings.runs, settings.to, settings.again))
        old = {name: value for name, value in kept.items() if name.startswith(f"{preset} ")}
        differ = [
            (name, old.get(name), new.get(name))
            for name in dict.fromkeys([*old, *new])
            if not is_same(old.get(name), new.get(name))
        ]
        rows.append([preset, len(old), len(new), len(differ)])
        differences += differ
    print_table("The lock on numbers", ["preset", "values kept", "values now", "differ"], rows)
    if differences:
        say("the first that differ, as kept and now:")
        for name, was, now in differences[:FIRST]:
            say(f"{name}: {was} | {now}")
        raise InputError(f"{len(differences):,} values differ from {settings.file}")


def keep_values(settings: Settings) -> None:
    """Write down every value of the runs."""
    values = [item for preset in settings.presets for item in values_of(Run(settings.runs, preset)).items()]
    write_json(settings.file, dict(values))
    say(f"{len(values):,} values in {settings.file}")


def run_study(settings: Settings) -> None:
    """Make the runs, keep their values, or compare with values that were kept.

    Raises:
        InputError: values differ.
    """
    do: dict[str, Callable[[Settings], None]] = {
        "make": make_runs, "keep": keep_values, "compare": compare_runs,
    }  # fmt: skip
    do[settings.do](settings)


if __name__ == "__main__":
    launch_module()
