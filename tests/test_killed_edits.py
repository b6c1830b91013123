"""Edits in a hundred parts, killed five times, are the edits of an uninterrupted command."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from testbed import edit
from testbed.engine.records import TABLES
from tests.runs import at, copied, killed_after, python

COUNT, BATCH, KILLS = 380, 4, 5
PARTS = -(-COUNT // BATCH)
EDITS = [
    "lora-down", "--cases.count", str(COUNT), "--batch-edits", str(BATCH), "--lora-down.steps", "10"
]  # fmt: skip


def scores(runs):
    (folder,) = (runs / "x" / "edits" / "hase").iterdir()
    tables = {name: pq.read_table(folder / f"{name}.parquet") for name in TABLES}
    # How long a batch took is no result.
    return tables | {"cases": tables["cases"].drop_columns(["seconds"])}


@pytest.mark.slow
def test_edits_survive_five_kills(trained, tmp_path):
    whole, killed = (copied(trained, tmp_path / name) for name in ("whole", "killed"))
    assert edit.main([*at(whole), *EDITS]) == 0

    def parts():
        return len(list(killed.glob("x/edits/hase/*/parts/*-cases.parquet")))

    rng = np.random.default_rng(0)
    for _ in range(KILLS):
        enough = parts() + int(rng.integers(1, 15))
        process = python("testbed.edit", *at(killed), *EDITS)
        killed_after(process, lambda least=enough: parts() >= least, limit=600)
    assert 0 < parts() < PARTS, "the sweep ended before its last kill"
    assert edit.main([*at(killed), *EDITS]) == 0
    tables, expected = scores(killed), scores(whole)
    assert tables["cases"].num_rows == COUNT
    assert all(tables[name].equals(expected[name]) for name in TABLES)
