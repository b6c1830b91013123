"""What two papers print about their data, beside what their released files come to.

Command:
    python -m experiments.released_tables --path FOLDER

FOLDER holds LEME's annotations (leme/annotations_dataset.csv) and Seesaw-CF's files (seesaw_cf/). Of LEME's
tables the release has what Tables 2 and 3 count: a label of each text, and no rater, so that agreement (0.63
and 0.65 of annotations, 0.34 of the survey, Tables 5 and 9) cannot be computed from it. Of Seesaw's it has
what Tables 16 to 18 count. Takes seconds.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpus.errors import InputError
from experiments.command import launch_module
from experiments.study import StudyOptions, record_tables
from testbed.run.runs import Run
from testbed.scores.tables import Cell, Table

PRINTED: dict[str, dict[str, float]] = {
    "LEME, Table 2": {"supports": 0.41, "neutral": 0.37, "contradicts": 0.22},
    "LEME, Table 3": {
        "ground_truth_and_main_passage": 0.61,
        "ground_truth_and_related_passage": 0.19,
        "new_fact_and_main_passage": 0.05,
        "new_fact_and_related_passage": 0.05,
        "old_fact_and_main_passage": 0.05,
        "old_fact_and_related_passage": 0.05,
    },
    "Seesaw, Table 16": {"arts": 14, "humanities": 55, "science": 119, "social science": 31},
    "Seesaw, Table 17": {
        "Africa": 2, "Asia": 6, "Europe": 77, "None": 1, "North America": 2, "Oceania": 2,
    },
    "Seesaw, Table 18": {
        "Africa": 1, "Asia": 14, "Europe": 173, "North America": 42, "Oceania": 1, "South America": 1,
    },
}  # fmt: skip


@dataclass(frozen=True)
class Settings(StudyOptions):
    """Where the released files are."""

    path: str = ""
    """Folder with the folders leme and seesaw_cf."""


def run_study(settings: Settings) -> None:
    """Print both and write the record.

    Raises:
        InputError: a file is not there.
    """
    folder = Path(settings.path).expanduser()
    found = dict(count_annotations(folder / "leme")) | dict(count_objects(folder / "seesaw_cf"))
    rows: list[list[Cell]] = [
        [table, name.replace("_", " "), printed, found[table].get(name, 0)]
        for table, of in PRINTED.items()
        for name, printed in of.items()
    ]
    title = "Printed, and recomputed from the released files"
    note = "Table 2: of all labelled texts, sentences that were marked as evidence among them."
    run = Run(settings.runs, "released-tables")
    run.folder.mkdir(parents=True, exist_ok=True)
    table = Table("released", title, ["table", "of", "printed", "recomputed"], rows, note, words=2)
    record_tables(settings, run, [table])


def count_annotations(folder: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """Shares of labels among all texts, and of what was asked among pairs of a passage and a claim."""
    rows = _read_rows(folder / "annotations_dataset.csv")
    asked = {row["example_id"]: row["label"] for row in rows}
    labels = [row["classification"] for row in rows]
    for table, values in (("LEME, Table 2", labels), ("LEME, Table 3", [*asked.values()])):
        yield table, {name: round(n / len(values), 3) for name, n in Counter(values).items()}


def count_objects(folder: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """Objects of fields of work by category, and of countries and places by continent."""
    fields = Counter(row["Category"] for row in _read_rows(folder / "data" / "fow.csv"))
    yield "Seesaw, Table 16", {**fields}
    for table, name in (("Seesaw, Table 17", "country"), ("Seesaw, Table 18", "city")):
        path = folder / "eval" / f"{name}_clusters.json"
        _check_there(path)
        clusters = json.loads(path.read_text(encoding="utf-8"))
        yield table, {continent: len(objects) for continent, objects in clusters.items()}


def _read_rows(path: Path) -> list[dict[str, str]]:
    _check_there(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def _check_there(path: Path) -> None:
    if not path.is_file():
        raise InputError(f"{path} is not there; --path is a folder with leme and seesaw_cf")


if __name__ == "__main__":
    launch_module()
