"""What the reference editors of a suite add to each row of its card, case by case: `suites/NAME.parquet`.

A row of the table is a row of the card for one editor, with a list of what each case adds; `subject`,
`object` and `world` number what cases have in common. So whoever examines an editor need not run them again.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpus.errors import InputError
from corpus.files import hash_file, read_json
from testbed.engine.catalogue import editor_entries
from testbed.scorecard import Measured, RowMetric, card_as_data, make_card
from testbed.scores.metric import Metric
from testbed.suite import FOLDER, Suite

LEVELS = ("subject", "object", "world")
ABOUT = b"about"
"""Key of what is said of the editors: their versions, and what they were made with."""
SCHEMA = pa.schema(
    {
        **dict.fromkeys(("editor", "row"), pa.string()),
        **dict.fromkeys(("numerator", "denominator"), pa.list_(pa.float32())),
        "share": pa.bool_(),
        "limits": pa.list_(pa.float64()),
        **dict.fromkeys(LEVELS, pa.list_(pa.int32())),
    }
)


def answers_file(suite: str) -> Path:
    """Where the references' answers of a suite are, if there are any."""
    return FOLDER / f"{suite}.parquet"


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


def read_references(suite: Suite) -> tuple[Measured, dict[str, Any]]:
    """By editor and row what the references add, and what is said of them; nothing of a suite that has none.

    Raises:
        InputError: the file is not the suite's.
    """
    if not suite.answers:
        return {}, {}
    path = answers_file(suite.name)
    if not path.exists() or hash_file(path) != suite.answers:
        raise InputError(f"{path} is not that of this version: install it again, or give --anew")
    table = pq.read_table(path)
    measured: dict[str, dict[str, RowMetric]] = {}
    for one in table.to_pylist():
        numerator, denominator = (np.array(one[key], float) for key in ("numerator", "denominator"))
        metric = Metric(numerator, denominator, one["share"], tuple(one["limits"]))
        levels = {level: np.array(one[level]) for level in LEVELS}
        measured.setdefault(one["editor"], {})[one["row"]] = RowMetric(metric, levels)
    return measured, json.loads(table.schema.metadata[ABOUT])


def reference_numbers(suite: Suite) -> list[dict[str, Any]]:
    """The references' numbers as cards have them: made of their answers, or as they were frozen without."""
    measured, _ = read_references(suite)
    if measured:
        return card_as_data(make_card(suite.rows, measured))["editors"]
    frozen = FOLDER / f"{suite.name}.json"
    return read_json(frozen)["editors"] if frozen.exists() else []


def list_changed_references(about: Mapping[str, Any]) -> Iterator[str]:
    """Which references have changed since their answers were written, in words."""
    entries = editor_entries()
    for name, version in about.get("versions", {}).items():
        if entries[name].version != version:
            yield f"{name} is version {entries[name].version} here; its numbers are of version {version}"
