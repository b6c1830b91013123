"""Whatever happens to a training, the same command goes on, and ends as if nothing had happened."""

import json
import os
import re
import shutil
import signal
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from corpus.files import verify_folder
from corpus.text.store import open_documents
from lm.batches import PackedRows
from lm.checkpoint_files import best_checkpoint, latest_checkpoint, read_measurements
from lm.checkpoints import save_checkpoint
from lm.training import TrainState
from testbed import edit, report, train
from testbed.commands import train as training
from testbed.run import trainer
from testbed.run.model import load_model
from testbed.run.runs import Run, folder_digest, recorded_settings
from testbed.run.world import load_world
from tests.runs import (
    RECIPE,
    assert_same_training,
    at,
    complaint,
    copied,
    dies,
    measurements,
    parameters,
    rewritten,
    run_on_full_disk,
)


def checkpoints_of(runs):
    return runs / "x" / "lm" / "checkpoints"


def being_written(runs, step="*"):
    return list(checkpoints_of(runs).glob(f".{step}.partial"))


@pytest.fixture
def stopped(trained, tmp_path):
    """A run killed after step 20, with the checkpoints of steps 10 and 20."""
    runs = copied(trained, tmp_path)
    newest = checkpoints_of(runs) / "00000030"
    shutil.rmtree(newest)
    (runs / "x" / "lm" / "finished.json").unlink()
    assert latest_checkpoint(checkpoints_of(runs)).name == "00000020"
    return runs


def files(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.slow
def test_killed_three_times_and_resumed_is_bit_identical(built, trained, tmp_path):
    runs = copied(built, tmp_path)
    checkpoints = checkpoints_of(runs)
    # Before the first checkpoint is whole, while it is being written, and between two.
    for moment, name, newest in (
        ("before", "00000010", None),
        ("before", "00000020", "00000010"),
        ("after", "00000020", "00000020"),
    ):
        dies(moment, name, "testbed.train", *at(runs), *RECIPE)
        assert [p.name for p in being_written(runs)] == ([f".{name}.partial"] if moment == "before" else [])
        latest = latest_checkpoint(checkpoints)
        assert latest.name == newest if newest else latest is None
    assert train.main([*at(runs), *RECIPE]) == 0
    assert_same_training(runs, trained)
    assert not list(runs.rglob("*.partial"))


def flip(path):
    content = path.read_bytes()
    path.write_bytes(content[:20] + bytes([content[20] ^ 1]) + content[21:])


def largest(folder):
    return max((p for p in folder.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)


DAMAGES = {
    "a bit": lambda folder: flip(largest(folder)),
    "a byte less": lambda folder: largest(folder).write_bytes(largest(folder).read_bytes()[:-1]),
    "a file less": lambda folder: largest(folder).unlink(),
    "no arrays": lambda folder: shutil.rmtree(folder / "state"),
    "no measurements": lambda folder: (folder / "measured.json").unlink(),
    "half a measurement": lambda folder: (folder / "measured.json").write_text("{"),
    "no checksums": lambda folder: (folder / "sha256.json").unlink(),
    "half a checksum": lambda folder: (folder / "sha256.json").write_text('{"a": '),
}


@pytest.mark.slow
def test_a_damaged_checkpoint_is_named_and_the_one_before_serves(trained, tmp_path, capsys):
    for name, damage in DAMAGES.items():
        runs = copied(trained, tmp_path / name.replace(" ", "-"))
        newest = latest_checkpoint(checkpoints_of(runs))
        damage(newest)
        assert train.main([*at(runs), *RECIPE]) == 2, name
        said = complaint(capsys)
        assert said.count("\n") == 1
        assert re.search(r"move (\S+) away", said)[1] == str(newest)
    shutil.rmtree(newest)
    assert train.main([*at(runs), *RECIPE]) == 0
    assert_same_training(runs, trained)


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ('"hidden": 32', '"hidden": 64', "model.hidden is 32 there and 64 here"),
        ('"optimizer": "muon"', '"optimizer": "adamw"', "train.optimizer is muon there and adamw here"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(old, new, differs, trained, tmp_path, capsys):
    runs = copied(trained, tmp_path)
    rewritten(runs / "x" / "config.json", old, new)
    assert edit.main([*at(runs), "--cases.count", "1"]) == 2
    said = complaint(capsys)
    assert f"was made with other settings than {runs / 'x' / 'config.json'} says ({differs})" in said
    assert said.count("\n") == 1


@pytest.mark.slow
def test_no_room_for_a_checkpoint_loses_nothing(stopped, trained, tmp_path):
    kept = files(checkpoints_of(stopped))
    done = run_on_full_disk(tmp_path / "cache", "testbed.train", *at(stopped), *RECIPE)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: checkpoint ")
    assert "00000030 could not be written" in done.stderr
    assert done.stderr.count("\n") == 1
    assert kept.items() <= files(checkpoints_of(stopped)).items()
    assert latest_checkpoint(checkpoints_of(stopped)).name == "00000020"
    assert train.main([*at(stopped), *RECIPE]) == 0
    assert_same_training(stopped, trained)


def test_no_room_for_a_measurement_loses_nothing(stopped, trained, capsys, monkeypatch):
    def keep_on_a_full_disk(self, line):
        self.run.metrics.unlink()
        self.run.metrics.symlink_to("/dev/full")
        keep(self, line)

    keep = trainer.Trainer._keep_line
    monkeypatch.setattr(trainer.Trainer, "_keep_line", keep_on_a_full_disk)
    assert train.main([*at(stopped), *RECIPE]) == 2
    assert "No space left on device" in complaint(capsys)
    monkeypatch.undo()
    assert train.main([*at(stopped), *RECIPE]) == 0
    assert_same_training(stopped, trained)


def poisoned(monkeypatch, step, leaf, loss):
    """The training whose step `step` makes a parameter or the loss infinite."""
    real = trainer.train_step

    def train_step(*args):
        take = real(*args)

        def poison(state, *read):
            state, nats = take(state, *read)
            if int(state.step) != step:
                return state, nats
            params = jax.tree.map(lambda x: x * leaf, state.params)
            return TrainState(state.step, params, state.optimizer), nats * loss

        return poison

    monkeypatch.setattr(trainer, "train_step", train_step)


@pytest.mark.parametrize(
    ("step", "leaf", "loss", "why"),
    [
        (30, jnp.nan, 1, "a parameter is not a number after the update at step 30,"),
        (30, 1, jnp.inf, "the loss is inf at step 30,"),
        (25, 1, jnp.nan, "the loss is nan at step 25,"),
    ],
)
def test_no_number_never_becomes_a_checkpoint(step, leaf, loss, why, stopped, capsys, monkeypatch):
    poisoned(monkeypatch, step, leaf, loss)
    assert train.main([*at(stopped), *RECIPE]) == 2
    said = complaint(capsys)
    lm = stopped / "x" / "lm"
    assert why in said
    batch = lm / f"failed-batch-{step}.npy"
    assert f"whose batch (rows {8 * step - 8} to {8 * step - 1}) is kept as {batch}" in said
    assert f"the last good checkpoint is {checkpoints_of(stopped) / '00000020'}." in said
    assert latest_checkpoint(checkpoints_of(stopped)).name == "00000020"
    assert not being_written(stopped)
    rows = PackedRows(open_documents(Run(stopped, "x").corpus), 100, 0, "packed")
    np.testing.assert_array_equal(np.load(batch), rows.batch(step - 1, 8))


def test_no_room_for_the_failed_batch_does_not_hide_why(stopped, trained, capsys, monkeypatch):
    poisoned(monkeypatch, 25, 1, jnp.nan)
    (stopped / "x" / "lm" / ".failed-batch-25.npy.partial").symlink_to("/dev/full")
    assert train.main([*at(stopped), *RECIPE]) == 2
    said = complaint(capsys)
    assert "the loss is nan at step 25" in said
    assert "failed-batch-25.npy (No space left on device)" in said
    assert not list((stopped / "x" / "lm").glob("*failed-batch*"))
    # The cause gone, nothing of it is left.
    monkeypatch.undo()
    assert train.main([*at(stopped), *RECIPE]) == 0
    assert_same_training(stopped, trained)


def test_stopped_by_until_and_continued_is_bit_identical(built, trained, tmp_path, capsys):
    runs = copied(built, tmp_path)
    until = [*at(runs), *RECIPE, "--until", "0.5"]
    finished = runs / "x" / "lm" / "finished.json"
    assert train.main(until) == 0
    assert measurements(runs) == measurements(trained)[:2]
    assert json.loads(finished.read_text(encoding="utf-8"))["step"] == 20
    before = files(runs)
    assert train.main(until) == 0
    assert files(runs) == before
    assert train.main([*at(runs), *RECIPE, "--until", "0.999"]) == 0
    assert json.loads(finished.read_text(encoding="utf-8"))["step"] == 30
    assert_same_training(runs, trained)


def test_speeds_are_those_of_steps_that_have_ended(stopped, monkeypatch):
    """A clock that only moves where the device is waited for: every step takes a second of it."""
    now, speeds, finite, describe = [0.0], [], trainer.Trainer._check_finite, trainer.describe_line

    def waited(self, step, loss):
        now[0] += 1.0
        return finite(self, step, loss)

    def said(line):
        speeds.append(line["tokens_per_second"])
        return describe(line)

    monkeypatch.setattr(trainer, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(trainer.Trainer, "_check_finite", waited)
    monkeypatch.setattr(trainer, "describe_line", said)
    assert train.main([*at(stopped), *RECIPE]) == 0
    assert len(speeds) == 9
    assert speeds == [8 * 100.0] * len(speeds)


@pytest.mark.slow
def test_stages_of_some_minutes_are_one_training(built, trained, tmp_path, capsys):
    """Every stage is over after its first step; the checkpoints in between change nothing."""
    runs = copied(built, tmp_path)
    stage = [*at(runs), *RECIPE, "--minutes", "1e-9"]
    for step in (1, 2, 3):
        assert train.main(stage) == 0
        assert "the same command goes on" in capsys.readouterr().out
        assert latest_checkpoint(runs / "x" / "lm" / "checkpoints").name == f"{step:08d}"
        assert not (runs / "x" / "lm" / "finished.json").exists()
    assert train.main([*at(runs), *RECIPE]) == 0
    assert [line for line in measurements(runs) if line[0] > 3] == measurements(trained)
    jax.tree.map(np.testing.assert_array_equal, parameters(runs), parameters(trained))


def test_an_interrupt_before_the_first_checkpoint_writes_one(built, trained, tmp_path, capsys, monkeypatch):
    """And the same command goes on from there, as if nothing had been; a second interrupt ends at once."""
    runs, steps, place = copied(built, tmp_path), [], trainer.place_rows
    usual = signal.default_int_handler
    # A shell's background jobs begin with interrupts ignored.
    before = signal.signal(signal.SIGINT, usual)

    def interrupt(times, *arguments):
        steps.append(None)
        if len(steps) == 7:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return place(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "place_rows", partial(interrupt, 2))
        assert train.main([*at(runs), *RECIPE]) == 130
        assert "what was finished is kept" in capsys.readouterr().err
        assert latest_checkpoint(checkpoints_of(runs)) is None
        steps.clear()
        patch.setattr(trainer, "place_rows", partial(interrupt, 1))
        assert train.main([*at(runs), *RECIPE]) == 130
    assert "interrupted: step 7 is saved, and the same command goes on" in capsys.readouterr().err
    assert latest_checkpoint(checkpoints_of(runs)).name == "00000007"
    assert signal.getsignal(signal.SIGINT) is usual
    signal.signal(signal.SIGINT, before)
    assert train.main([*at(runs), *RECIPE]) == 0
    assert "resuming at step 7" in capsys.readouterr().out
    jax.tree.map(np.testing.assert_array_equal, parameters(runs), parameters(trained))


@pytest.mark.parametrize(
    ("seconds", "steps"), [pytest.param(1e9, [30], marks=pytest.mark.slow), (-1.0, [10, 20, 30])]
)
def test_slow_trainings_keep_checkpoints_that_are_not_due(
    seconds, steps, built, trained, tmp_path, monkeypatch
):
    runs, saved = copied(built, tmp_path), []

    def save(folder, state, *more):
        saved.append(int(state.step))
        return save_checkpoint(folder, state, *more)

    monkeypatch.setattr(trainer, "save_checkpoint", save)
    monkeypatch.setattr(trainer, "SECONDS_BETWEEN_CHECKPOINTS", seconds)
    assert train.main([*at(runs), *RECIPE, "--train.checkpoint-every", "30"]) == 0
    assert saved == steps
    assert measurements(runs) == measurements(trained)
    jax.tree.map(np.testing.assert_array_equal, parameters(runs), parameters(trained))


@pytest.mark.slow
def test_the_fastest_precision_is_measured_once_and_recorded(built, tmp_path, capsys, monkeypatch):
    speeds = {"float32": 1e9, "bfloat16": 2e9}
    monkeypatch.setattr(training, "attainable_flops", lambda model: speeds[model.precision])
    monkeypatch.setattr(trainer, "attainable_flops", lambda model: speeds[model.precision])
    runs = copied(built, tmp_path)
    stage = [*at(runs), *RECIPE, "--model.precision", "fastest", "--minutes", "1e-9"]
    assert train.main(stage) == 0
    assert "computing in bfloat16; GFLOP/s of one product: float32 1, bfloat16 2" in capsys.readouterr().out
    speeds["float32"] = 3e9
    assert train.main(stage) == 0
    assert "computing in" not in capsys.readouterr().out
    assert recorded_settings(Run(runs, "x"), "train")[0]["model"]["precision"] == "bfloat16"
    assert latest_checkpoint(checkpoints_of(runs)).name == "00000002"


def test_killed_before_it_said_that_it_was_finished(trained, tmp_path):
    runs = copied(trained, tmp_path)
    finished = runs / "x" / "lm" / "finished.json"
    content = finished.read_bytes()
    finished.unlink()
    assert train.main([*at(runs), *RECIPE]) == 0
    assert finished.read_bytes() == content
    assert_same_training(runs, trained)


@pytest.mark.slow
def test_damaged_metrics_are_written_again(stopped, trained):
    metrics = stopped / "x" / "lm" / "metrics.jsonl"
    whole = metrics.read_text(encoding="utf-8")
    metrics.write_text(whole[:9] + "\n" + whole[:-9], encoding="utf-8")
    assert train.main([*at(stopped), *RECIPE]) == 0
    assert_same_training(stopped, trained)


@pytest.mark.slow
def test_the_best_model_is_not_always_the_last(trained, tmp_path):
    runs = copied(trained, tmp_path)
    run = Run(runs, "x")
    last = latest_checkpoint(run.checkpoints)
    world = load_world(run)
    params = jax.tree.map(lambda x: 0 * x, load_model(run, world)[0].params)
    worse = TrainState(jnp.int32(40), params, {"none": jnp.zeros(1)})
    save_checkpoint(run.checkpoints, worse, [*read_measurements(last), {"step": 40, "accuracy": 0.1}])
    assert best_checkpoint(run.checkpoints) == last
    model, path = load_model(run, world, "best")
    assert path == last
    assert any(x.any() for x in jax.tree.leaves(model.params))
    assert edit.main([*at(runs), "--checkpoint", "best", "--cases.count", "2"]) == 0
    (config,) = run.edits.glob("hase/*/config.json")
    traced = json.loads(config.read_text(encoding="utf-8"))
    assert (
        traced["inputs"]["checkpoint"]
        == folder_digest(last)
        != folder_digest(latest_checkpoint(run.checkpoints))
    )
    assert traced["settings"]["checkpoint"] == "best"
    assert report.main(at(runs)) == 0


def test_a_checkpoint_is_whole_before_it_has_its_name(built, tmp_path, monkeypatch):
    renamed, replace = [], os.replace

    def checked(source, target):
        if Path(target).name.isdigit():
            verify_folder(Path(source))
            assert read_measurements(Path(source))[-1]["step"] == int(Path(target).name)
            renamed.append(Path(target).name)
        replace(source, target)

    monkeypatch.setattr(os, "replace", checked)
    assert train.main([*at(copied(built, tmp_path)), *RECIPE, "--until", "0.01"]) == 0
    assert renamed == ["00000010"]
