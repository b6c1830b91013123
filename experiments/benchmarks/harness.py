"""What benchmarks share: repeated timing, the memory of a command, and records kept stage by stage."""

import os
import platform
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from corpus.files import read_json, write_json
from experiments.record import RECORDS
from testbed.console import say
from testbed.run.runs import provenance


def median_and_range(values: list[float]) -> dict[str, float]:
    """Median, smallest and largest."""
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def time_runs(work: Callable[[], object], repeats: int) -> list[float]:
    """Seconds of each of `repeats` runs after one that is not counted."""
    seconds = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return seconds[1:]


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


def summarise_runs(runs: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """The spread of each measurement over several runs."""
    return {key: median_and_range([one[key] for one in runs]) for key in runs[0]}


def format_range(figures: dict[str, float], digits: int) -> str:
    """A median with its range."""
    least, most = figures["least"], figures["most"]
    return f"{figures['median']:.{digits}f} ({least:.{digits}f} to {most:.{digits}f})"


def run_stages(
    title: str, measures: Mapping[str, Callable[[], dict[str, Any]]], scratch: Path, **settings: Any
) -> None:
    """Run the stages of a benchmark, each kept as soon as it is done; the scratch folder goes at the end."""
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        for stage, measure in measures.items():
            say(f"{stage}: written to {record_stage(title, stage, measure(), **settings)}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def record_stage(title: str, stage: str, figures: dict[str, Any], **settings: Any) -> Path:
    """Write a stage's figures into records/<today>-<title>/record.json, beside those of other stages.

    Args:
        settings: whatever the figures depend on.
    """
    path = RECORDS / f"{date.today():%Y-%m-%d}-{title}" / "record.json"
    stages = read_json(path)["stages"] if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    stages[stage] = figures | {"settings": settings, "made_with": provenance()}
    write_json(
        path,
        {
            "command": f"python -m experiments.{title.replace('-', '_')}",
            "date": f"{date.today():%Y-%m-%d}",
            "device": f"{os.cpu_count()} cores, {platform.machine()}",
            "stages": stages,
        },
    )
    return path
