"""Real facts from Wikidata, end to end: corpus, training, edits, report, record.

Command:
    python -m experiments.wikidata_slice --path FOLDER_IN_WIKIDATA5M_LAYOUT

Takes about 18 minutes on 2 cores without a GPU, 15 of them training; resumes when killed. Expected
with the slice of 350,251 triples that the recorded run used (2,000 subjects, 6,250 facts, BPE of 4,000
entries, seed 0): generative accuracy of true facts at least 0.9, edit success at least 0.95. The
figures of the last run are in experiments/records.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.record import write_record
from testbed.console import command, say
from testbed.corpus import build_corpus
from testbed.edit import edit
from testbed.launch import launch
from testbed.presets import CORPUS, EDIT, TRAIN, ReportSettings
from testbed.report import report
from testbed.runs import Run, read_metrics
from testbed.runtime import prepare_jax
from testbed.train import train

PAIRS = ("P69:P106", "P19:P27", "P31:P17", "P136:P264", "P172:P1412")


@dataclass(frozen=True)
class Settings:
    """Where the facts are and where the run goes."""

    path: str
    """Folder in Wikidata5m's layout."""
    run: str = "wikidata-slice"
    """Name of the run."""
    runs: Path = Path("runs")
    """Folder of all runs."""


def main(args: list[str] | None = None) -> int:
    """The command line."""
    return command("wikidata_slice", __doc__ or "", Settings, experiment, args)


def experiment(options: Settings) -> None:
    """Every stage with the settings of the `small` preset on real facts, then the record."""
    where: dict[str, Any] = {"run": options.run, "runs": options.runs}
    small = CORPUS["small"]
    world = replace(small.world, source="wikidata", path=options.path, pairs=PAIRS)
    stages = {
        "corpus": lambda: build_corpus(replace(small, world=world, **where)),
        "train": lambda: train(replace(TRAIN["small"], **where)),
        "edit": lambda: edit(replace(EDIT["small"], **where)),
        "report": lambda: report(ReportSettings(**where)),
    }
    prepare_jax()
    seconds = {}
    for name, stage in stages.items():
        began = time.perf_counter()
        stage()
        seconds[name] = time.perf_counter() - began
    run = Run(options.runs, options.run)
    took = {stage: round(s, 1) for stage, s in seconds.items()}
    repeat = f"python -m experiments.wikidata_slice --path {options.path}"
    say(f"record: {write_record(run, 'wikidata-slice', repeat, read_metrics(run), seconds=took)}")


if __name__ == "__main__":
    launch(main)
