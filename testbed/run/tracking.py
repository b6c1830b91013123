"""Progress of a training for others to watch: as a CSV beside metrics.jsonl, or in trackio or W&B."""

import csv
import math
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from corpus.errors import InputError
from corpus.files import staged_file

Tracking = Literal["none", "csv", "trackio", "wandb"]
PROJECT = "credence"


def open_tracker(kind: Tracking, name: str, settings: Any, path: Path) -> Callable[[Sequence[dict]], None]:
    """What is told all that was measured so far, after each measurement.

    Args:
        name: of the run; settings: as plain data.
        path: of the CSV.

    Raises:
        InputError: the package is not installed.
    """
    if kind == "none":
        return lambda _: None
    if kind == "csv":
        return lambda lines: _write_csv(lines, path)
    try:
        package = import_module(kind)
    except ImportError as error:
        raise InputError(f"--track {kind} needs a package ({error}); pip install '.[track]'") from None
    package.init(project=PROJECT, name=name, config=settings)
    return lambda lines: package.log({k: v for k, v in lines[-1].items() if math.isfinite(v)})


def _write_csv(lines: Sequence[dict], path: Path) -> None:
    columns = dict.fromkeys(name for line in lines for name in line)
    with staged_file(path) as aside, aside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
