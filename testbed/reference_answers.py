"""What the reference editors of a suite add to each row of its card, case by case: `suites/NAME.parquet`.

A row of the table is a row of the card for one editor, with a list of what each case adds; `subject`,
`object` and `world` number what cases have in common. So whoever examines an editor need not run them again.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from corpus.errors import InputError
from corpus.files import hash_file
from testbed.scorecard import Measured, RowMetric
from testbed.scores.metric import Metric
from testbed.suite import FOLDER, Suite

LEVELS = ("subject", "object", "world")
ABOUT = b"about"
"""Key of what is said of the editors: their versions, and what they were made with."""


def answers_file(suite: str) -> Path:
    """Where the references' answers of a suite are, if there are any."""
    return FOLDER / f"{suite}.parquet"


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
