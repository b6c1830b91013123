"""The experiment edit_memory: what is estimated, compiled and measured, and that it is written down."""

import sys

import pytest

from experiments.benchmarks import edit_memory, harness
from experiments.command import run_module
from experiments.figures import FIGURES, read_nested


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read as Linux tells them")
def test_estimates_are_above_what_edits_take(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "RECORDS", tmp_path / "records")
    args = ["--runs", str(tmp_path), "--sizes", "tiny", "--editors", "lora-down", "full"]
    assert run_module(edit_memory, args) == 0
    (folder,) = (tmp_path / "records").iterdir()
    figures = read_nested(folder / FIGURES, "tiny")
    for name in ("lora-down", "full"):
        one = figures[name]
        assert one["edits"] == edit_memory.MOST
        assert 0 < one["compiled"] < one["estimated"] < one["promised"]
        assert 0 < one["measured"] < one["promised"]
    # Whole matrices take more than low ranks, by any account.
    for account in ("estimated", "compiled", "measured"):
        assert figures["full"][account] > 3 * figures["lora-down"][account]
    # Killed before the record was written, it goes on from there.
    monkeypatch.setattr(edit_memory, "measure_process", pytest.fail)
    assert run_module(edit_memory, args) == 0
