"""Freeze suites of testbed.examine: hashes of their worlds, and what the reference editors answer there.

Command:
    python -m experiments.freeze_suite

Run once for a suite. Its worlds and models are made where they are missing, and the references edit them.
Hashes of worlds, corpora and cases that stand there already are held against those made here, and never
replaced; those of weights are of the models that the references edited.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpus.files import hash_file, read_json, write_json
from experiments.command import launch_module
from testbed.commands.examine import edit_world, prepare_world, read_world
from testbed.console import say
from testbed.engine.catalogue import editor_entries
from testbed.reference_answers import ABOUT, LEVELS, answers_file
from testbed.run.runs import provenance
from testbed.run.runtime import describe_device
from testbed.scorecard import Measured, WorldResults, measure_editors
from testbed.scores.card_format import BOUND
from testbed.settings import ExamineSettings
from testbed.suite import SUITES, read_suite

SCHEMA = pa.schema(
    {
        **dict.fromkeys(("editor", "row"), pa.string()),
        **dict.fromkeys(("numerator", "denominator"), pa.list_(pa.float32())),
        "share": pa.bool_(),
        "limits": pa.list_(pa.float64()),
        **dict.fromkeys(LEVELS, pa.list_(pa.int32())),
    }
)


@dataclass(frozen=True)
class Settings:
    """What is frozen, and where the worlds are made."""

    suites: tuple[str, ...] = ("quick", "v2")
    """Suites whose references' answers are written; v1 has had its numbers since before there were any."""
    runs: Path = Path("runs")
    """Folder of all runs."""


def run_study(settings: Settings) -> None:
    """Make every world, write or check its hashes, and write the references' answers."""
    made_with = provenance()  # before the file of hashes, which is committed, changes
    for name in settings.suites:
        suite = read_suite(name, settings.runs)
        results: dict[str, list[WorldResults]] = {editor: [] for editor in suite.references}
        for world in suite.worlds:
            judged, digests = prepare_world(world, may_be_new=True)
            data = read_json(SUITES)
            made_here = digests | {"device": describe_device(), "made_with": made_with}
            kept = {key: world.frozen[key] for key in (*BOUND, "settings") if key in world.frozen}
            data["worlds"][world.name]["frozen"] = made_here | kept
            write_json(SUITES, data)
            for editor, jobs in edit_world(world, suite.references, [], ExamineSettings(), judged).items():
                results[editor].append(read_world(world, jobs))
        versions = {editor: editor_entries()[editor].version for editor in suite.references}
        about = {"versions": versions, "made_with": made_with | {"device": describe_device()}}
        data = read_json(SUITES)
        data["suites"][name]["answers"] = write_references(name, measure_editors(suite.rows, results), about)
        write_json(SUITES, data)
        say(f"{answers_file(name)}: {answers_file(name).stat().st_size:,} bytes")


def write_references(suite: str, measured: Measured, about: Mapping[str, Any]) -> str:
    """Write the table; returns its hash, by which it is known again."""
    rows = [
        {"editor": editor, "row": row, **metric._asdict(), **levels}
        for editor, of in measured.items()
        for row, (metric, levels) in of.items()
    ]
    table = pa.Table.from_pylist(rows, SCHEMA.with_metadata({ABOUT: json.dumps(about)}))
    pq.write_table(table, answers_file(suite), compression="zstd", compression_level=19)
    return hash_file(answers_file(suite))


if __name__ == "__main__":
    launch_module()
