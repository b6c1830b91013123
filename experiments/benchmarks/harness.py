"""What benchmarks share: settings, repeated timing, memory of a command, records kept stage by stage."""

import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from corpus.files import read_json, write_json
from experiments.command import name_of_module
from experiments.figures import FIGURES, figures_of_table, flatten_figures, read_figures, write_figures
from experiments.record import RECORDS, SETTINGS
from testbed.console import print_table, say
from testbed.run.runs import provenance
from testbed.scores.tables import Table

Settings = TypeVar("Settings")
Range = dict[str, float]
"""median, least and most of a measurement."""
NO_FIGURE = ("stages", "folder", "runs", "pythons", "measure", "golden")
"""Options that change no figure."""


@dataclass(frozen=True)
class BenchmarkSettings:
    """Where a benchmark works."""

    folder: Path = Path("runs")
    """Where a scratch folder is made, and removed at the end."""

    @property
    def scratch(self) -> Path:
        """The scratch folder."""
        return self.folder / f".{title_of(self)}"


def title_of(settings: object) -> str:
    """The title of a benchmark's record."""
    return name_of_module(sys.modules[type(settings).__module__]).replace("_", "-")


def run_benchmark(
    settings: Settings, measures: Mapping[Any, Callable[[Settings], dict[str, Any]]], **further: Any
) -> None:
    """Measure stage by stage, each recorded as soon as it is done; the scratch folder goes at the end.

    What a killed command has left of it goes at the start, since work that is found done takes no time.

    Args:
        measures: what measures a stage, by its name; `settings.stages`, where it is there, says which.
        further: what figures depend on besides the settings, such as versions of libraries.
    """
    own = {name: value for name, value in vars(settings).items() if name not in NO_FIGURE}
    scratch = settings.scratch if isinstance(settings, BenchmarkSettings) else None
    try:
        if scratch:
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir(parents=True)
        for stage in getattr(settings, "stages", measures):
            path = record_stage(title_of(settings), stage, measures[stage](settings), **own, **further)
            say(f"{stage}: written to {path}")
    finally:
        if scratch:
            shutil.rmtree(scratch, ignore_errors=True)


def versions_of(*libraries: str) -> dict[str, str]:
    """Versions of libraries that are installed."""
    return {name: version(name) for name in libraries}


def median_and_range(values: list[float]) -> Range:
    """Median, smallest and largest."""
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def time_once(work: Callable[[], object]) -> float:
    """Seconds that it takes once."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def time_runs(work: Callable[[], object], repeats: int, of: float = 1.0) -> Range:
    """Seconds of each of `of` equal parts of some work, over `repeats` runs after one that is not counted."""
    return median_and_range([time_once(work) / of for _ in range(repeats + 1)][1:])


def rate_runs(work: Callable[[], object], repeats: int, count: float) -> Range:
    """How many of `count` things that some work does it does in a second; runs as of `time_runs`."""
    return median_and_range([count / time_once(work) for _ in range(repeats + 1)][1:])


def measure_process(*command: str) -> dict[str, float]:
    """Wall-clock seconds and peak memory in GiB of a command.

    Raises:
        RuntimeError: the command failed.
    """
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, process.returncode, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        if process.returncode:
            errors.seek(0)
            raise RuntimeError(f"{' '.join(command)}: {errors.read().decode()}")
    return {"seconds": seconds, "peak_gib": usage.ru_maxrss * 1024 / 2**30}


def summarise_runs(runs: list[dict[str, float]]) -> dict[str, Range]:
    """The spread of each measurement over several runs."""
    return {key: median_and_range([one[key] for one in runs]) for key in runs[0]}


def format_range(figures: Range, digits: int) -> str:
    """A median with its range."""
    least, most = figures["least"], figures["most"]
    return f"{figures['median']:,.{digits}f} ({least:,.{digits}f} to {most:,.{digits}f})"


def show_ranges(title: str, unit: str, figures: Mapping[str, Range], digits: int) -> None:
    """A table of measurements, in one unit."""
    print_table(title, ("", unit), [(name, format_range(one, digits)) for name, one in figures.items()])


def record_stage(
    title: str, stage: str, figures: dict[str, Any], tables: Iterable[Table] = (), **settings: Any
) -> Path:
    """Write a stage's figures into record <today>-<title>, beside those of others; returns its folder.

    Args:
        tables: what is shown of them.
        settings: whatever the figures depend on.
    """
    folder = RECORDS / f"{date.today():%Y-%m-%d}-{title}"
    folder.mkdir(parents=True, exist_ok=True)
    # Before anything is written: a stage that is added to a committed record is no change of the code.
    made_with = provenance()
    stages = read_json(folder / SETTINGS)["stages"] if (folder / SETTINGS).exists() else {}
    rows = flatten_figures(stage, figures)
    rows += [row for table in tables for row in figures_of_table(f"{title}.md", table)]
    others = read_figures(folder / FIGURES) if stages else []
    written = {row.table for row in rows}
    write_figures([*(one for one in others if one.table not in written), *rows], folder / FIGURES)
    write_json(
        folder / SETTINGS,
        {
            "commands": [f"python -m experiments.{title.replace('-', '_')}"],
            "date": f"{date.today():%Y-%m-%d}",
            "device": f"{os.cpu_count()} cores, {platform.machine()}",
            "stages": stages | {stage: {"settings": settings, "made_with": made_with}},
        },
    )
    return folder
