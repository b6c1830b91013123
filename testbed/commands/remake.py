"""A run made again in a scratch folder, from its seed or table to the last metric, and compared."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from math import inf, isnan
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pyarrow.parquet as pq

from corpus.files import CHECKSUMS, list_sealed, read_json, read_record
from testbed import corpus, edit, train
from testbed.advice import command_for, edit_command
from testbed.console import say
from testbed.engine.records import SUMMARY
from testbed.run.model import load_model
from testbed.run.runs import Run, finished_training, recorded_settings
from testbed.run.world import load_world

Main = Callable[[Sequence[str]], int]
ROUNDING = 1e-3
"""Between numbers of edits that were made side by side with others than before, be it after many steps."""
SAME, ELSEWHERE = "the same", "not made again: it was made elsewhere"


class Comparison(NamedTuple):
    """A part of a run, and what became of it when it was made again: SAME, or how it differs."""

    part: str
    outcome: str


def remake_run(run: Run, scratch: Path) -> Iterator[Comparison]:
    """Make corpus, model and edits of a run again in a scratch folder, and compare each with what lies there.

    World and corpus are compared byte for byte, the model's parameters to the bit, edits in every column but
    seconds, and every metric of their summaries, floats up to ROUNDING. What follows a part that could not be
    made is not tried.

    Raises:
        InputError: something of the run is missing or damaged.
    """
    again = Run(scratch, run.name)
    failed = _run_command(corpus.main, command_for(run, "corpus"), scratch)
    for name in ("world", "corpus"):
        yield Comparison(name, failed or _compare_sums(run.folder / name, again.folder / name))
    if failed or not run.finished_file.exists():
        return
    finished, steps = finished_training(run), recorded_settings(run, "train")[0]["train"]["steps"]
    failed = _run_command(
        train.main,
        command_for(run, "train"),
        scratch,
        ["--until", repr(finished["accuracy"])] if finished["step"] < steps else [],
    )
    yield Comparison("lm", failed or _compare_models(run, again))
    if failed:
        return
    for folder in sorted(path.parent for path in run.edits.glob(f"*/*/{CHECKSUMS}")):
        part, config = str(folder.relative_to(run.folder)), read_json(folder / "config.json")
        if config["method"].get("elsewhere"):
            yield Comparison(part, ELSEWHERE)
            continue
        before = set(again.edits.glob("*/*"))
        failed = _run_command(edit.main, edit_command(run, config), scratch)
        made = sorted(set(again.edits.glob("*/*")) - before)
        missing = "" if len(made) == 1 else "its command makes other edits"
        yield Comparison(part, failed or missing or _compare_edits(folder, made[0]))


def _run_command(main: Main, command: str, scratch: Path, more: Sequence[str] = ()) -> str:
    """Run a command as it is printed, on the scratch folder; what went wrong, or nothing."""
    words = shlex.split(command)[3:]
    if "--runs" in words:
        at = words.index("--runs")
        del words[at : at + 2]
    words += ["--runs", str(scratch), *more]
    say(f"{shlex.join(shlex.split(command)[:3])} {shlex.join(words)}")
    return f"could not be made again: {command}" if main(words) else ""


def _compare_sums(old: Path, new: Path) -> str:
    first, second = (read_json(folder / CHECKSUMS) for folder in (old, new))
    differ = [name for name in sorted(first.keys() | second.keys()) if first.get(name) != second.get(name)]
    return f"other files: {', '.join(differ[:3])}" if differ else SAME


def _compare_models(old: Run, new: Run) -> str:
    models = [load_model(run, load_world(run))[0] for run in (old, new)]
    first, second = (jax.tree.leaves(model.params) for model in models)
    gaps = [float(np.abs(np.asarray(a) - np.asarray(b)).max()) for a, b in zip(first, second, strict=True)]
    same = all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    steps = [finished_training(run)["step"] for run in (old, new)]
    if steps[0] != steps[1]:
        return f"another training: it ended at step {steps[1]}, not {steps[0]}"
    return SAME if same else f"other parameters: by up to {max(gaps):.2g}"


def _compare_edits(old: Path, new: Path) -> str:
    farthest = 0.0
    sealed = {name for folder in (old, new) for name in list_sealed(folder)}
    for name in sorted(name for name in sealed if name.endswith(".parquet")):
        if not ((old / name).exists() and (new / name).exists()):
            return f"{name} is in one only"
        first, second = (pq.read_table(folder / name) for folder in (old, new))
        if first.schema != second.schema or len(first) != len(second):
            return f"{name} has other columns or rows"
        for column in set(first.column_names) - {"seconds"}:
            gap = _find_gap(first[column].to_pylist(), second[column].to_pylist())
            if gap > ROUNDING:
                return f"{name} differs in {column}"
            farthest = max(farthest, gap)
    if (old / SUMMARY).exists():
        gap = _find_gap(*(read_record(folder / SUMMARY)["subsets"] for folder in (old, new)))
        if gap > ROUNDING:
            return "other metrics"
    return f"{SAME} but for rounding (up to {farthest:.1g})" if farthest else SAME


def _find_gap(first: Any, second: Any) -> float:
    """The largest difference of floats at one place of two values; infinite where anything else differs."""
    if isinstance(first, float) and isinstance(second, float):
        return 0.0 if first == second or (isnan(first) and isnan(second)) else abs(first - second)
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        return max((_find_gap(first[key], second[key]) for key in first), default=0.0)
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return max((_find_gap(a, b) for a, b in zip(first, second, strict=True)), default=0.0)
    return 0.0 if first == second else inf
