"""Where twelve layers lose a consequence: read, worked out, or fitted; a small model here."""

from dataclasses import replace

import numpy as np
import pytest

from experiments import record
from experiments.command import run_module
from experiments.studies import fit_rate
from experiments.studies.fit_rate import train_settings
from experiments.tidy import FIGURES, read_nested
from testbed.presets import TRAIN


def test_both_models_are_as_wide():
    assert train_settings(2, 180) == TRAIN["tiny"]
    assert train_settings(12, 180).model.hidden == TRAIN["tiny"].model.hidden
    assert train_settings(12, 180).model.layers == 12


def test_the_editors_own_rate_is_among_those_tried():
    assert fit_rate.OWN_RATE in fit_rate.Settings().rates


@pytest.mark.slow
def test_a_small_model_is_read_and_fitted(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RECORDS", tmp_path / "records")

    def small(depth, steps):
        base = train_settings(2, steps)
        return replace(base, train=replace(base.train, steps=80, checkpoint_every=80))

    monkeypatch.setattr(fit_rate, "train_settings", small)
    options = ["--depths", "12", "--cases", "20", "--edits", "3", "--rates", "0.003", "1e-9"]
    assert run_module(fit_rate, ["--runs", str(tmp_path / "runs"), *options]) == 0
    (folder,) = (tmp_path / "records").iterdir()
    found = read_nested(folder / FIGURES, "found")
    still, moved = found["12 layers, 1e-09"], found["12 layers, 0.003"]
    # Without a rate nothing is fitted: nobody's answer moves, and the request is not said.
    assert still["others' answers"][0] == 1
    assert still["stated"][0] == 0
    assert moved["stated"][0] > 0
    assert moved["nats left"][0] < still["nats left"][0]
    assert np.isfinite(found["12 layers"]["facts read"])
