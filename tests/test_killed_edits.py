"""Five thousand edits, killed five times, are the edits of an uninterrupted command."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from testbed import edit
from testbed.engine.records import TABLES
from tests.runs import at, copied, killed_after, python

EDITS = ["lora-down", "--cases.count", "5000", "--batch-edits", "50", "--lora-down.steps", "10"]
KILLS = 5


def scores(runs):
    (folder,) = (runs / "x" / "edits" / "hase").iterdir()
    tables = {name: pq.read_table(folder / f"{name}.parquet") for name in TABLES}
    # How long a batch took is no result.
    return tables | {"cases": tables["cases"].drop_columns(["seconds"])}


@pytest.mark.slow
def test_five_thousand_edits_survive_five_kills(trained, tmp_path):
    whole, killed = (copied(trained, tmp_path / name) for name in ("whole", "killed"))
    assert edit.main([*at(whole), *EDITS]) == 0

    def parts():
        return len(list(killed.glob("x/edits/hase/*/parts/*-cases.parquet")))

    rng = np.random.default_rng(0)
    for _ in range(KILLS):
        enough = parts() + int(rng.integers(1, 15))
        process = python("testbed.edit", *at(killed), *EDITS)
        killed_after(process, lambda least=enough: parts() >= least, limit=600)
    assert 0 < parts() < 100, "the sweep ended before its last kill"
    assert edit.main([*at(killed), *EDITS]) == 0
    tables, expected = scores(killed), scores(whole)
    assert tables["cases"].num_rows == 5000
    assert all(tables[name].equals(expected[name]) for name in TABLES)
