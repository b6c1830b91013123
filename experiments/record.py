"""A dated folder of results: the command, settings, versions, device and figures of one run."""

import json
import os
import platform
import shutil
from datetime import date
from pathlib import Path

import jax

from corpus.files import read_json, write_json
from testbed.runs import Run, provenance

RECORDS = Path(__file__).parent / "records"


def write_record(run: Run, title: str, command: str, seconds: dict[str, float]) -> Path:
    """Copy what a reader needs of a finished run into records/<today>-<title>/; returns that folder.

    Args:
        command: what to type to repeat it.
        seconds: wall-clock seconds of each stage in this session; less than the whole after a resume.
    """
    name, again = f"{date.today():%Y-%m-%d}-{title}", 1
    while (folder := RECORDS / (name if again == 1 else f"{name}-{again}")).exists():
        again += 1
    folder.mkdir(parents=True)
    shutil.copy(run.metrics, folder / "metrics.jsonl")
    for path in run.report.iterdir():
        if path.suffix in (".png", ".csv", ".md"):
            shutil.copy(path, folder / path.name)
    last = json.loads(run.metrics.read_text(encoding="utf-8").splitlines()[-1])
    write_json(
        folder / "record.json",
        {
            "command": command,
            "date": f"{date.today():%Y-%m-%d}",
            "device": f"{jax.devices()[0].device_kind}, {os.cpu_count()} cores, {platform.machine()}",
            "made_with": provenance(),
            "seconds": {stage: round(s, 1) for stage, s in seconds.items()},
            "counts": read_json(run.corpus / "counts.json"),
            "last_evaluation": last,
            "stages": read_json(run.config_file),
            "edits": [read_json(path) for path in sorted(run.edits.glob("*/config.json"))],
        },
    )
    return folder
