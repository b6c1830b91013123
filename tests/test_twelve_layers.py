"""The paper's architecture beside the demo's model, from nothing to the record; both small here."""

from dataclasses import replace

import pytest

from experiments import record
from experiments.command import run_module
from experiments.studies import twelve_layers
from experiments.studies.twelve_layers import train_settings
from experiments.tidy import FIGURES, read_nested, read_page
from testbed.presets import TRAIN


def test_the_deep_model_is_the_papers_but_for_its_vocabulary():
    deep = train_settings(12, 280).model
    assert replace(deep, precision="float32", unroll=12) == TRAIN["paper"].model
    assert deep.parameters(32_000) == 83_112_448
    assert train_settings(2, 280) == TRAIN["tiny"]


@pytest.mark.slow
def test_both_models_are_edited_and_written_down(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")

    def small(depth, steps):
        base = train_settings(depth, steps)
        model = replace(base.model, hidden=32, mlp=64, layers=4 if depth == 12 else 2, heads=2, kv_heads=2)
        return replace(base, model=model, train=replace(base.train, steps=30, checkpoint_every=30))

    monkeypatch.setattr(twelve_layers, "train_settings", small)
    editors = ["full-early", "full-late", "rome", "memit", "none"]
    args = ["--runs", str(tmp_path / "runs"), "--cases", "10", "--editors", *editors]
    assert run_module(twelve_layers, [*args, "--minutes", "0.001"]) == 0
    assert "run the same command to go on" in capsys.readouterr().out
    assert run_module(twelve_layers, args) == 0
    (folder,) = (tmp_path / "records").iterdir()
    found = read_nested(folder / FIGURES, "found")
    assert {depth: set(by_editor) for depth, by_editor in found.items()} == {
        "2 layers": set(editors),
        "12 layers": set(editors),
    }
    assert found["12 layers"]["none"]["all"]["none"]["damage"][0] == 0
    table = read_page(folder / FIGURES, "twelve_layers.md")
    for row in ("full-early - full-late", "rome - memit", "| none"):
        assert row in table
