"""Two commands on one run at once: one works, the other is told who does and leaves everything alone."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from corpus.errors import InputError
from testbed import corpus, edit, report, train, tune
from testbed.run.lock import HOLDER, only_one
from testbed.run.runs import Run, recorded_settings
from testbed.run.world import load_world
from tests.runs import EDITS, RECIPE, ROOT, WORLD, at, complaint, copied, rewritten

STAGES = {
    "corpus": (corpus, WORLD),
    "train": (train, RECIPE),
    "edit": (edit, [*EDITS, "--seed", "1"]),
    "tune": (tune, EDITS),
    "report": (report, []),
}


@pytest.mark.parametrize("stage", STAGES)
def test_the_second_command_of_a_stage_changes_nothing(stage, finished, tmp_path, capsys):
    runs = copied(finished, tmp_path)
    before = {p: p.read_bytes() for p in (runs / "x").rglob("*") if p.is_file()}
    command, options = STAGES[stage]
    with only_one(Run(runs, "x"), stage):
        assert command.main([*at(runs), *options]) == 2
    said = complaint(capsys)
    assert f"process {os.getpid()} on " in said
    assert f"is at work on the {stage} stage of {runs / 'x'}; wait until it has ended" in said
    assert before == {p: p.read_bytes() for p in (runs / "x").rglob("*") if p.is_file()}


def test_stages_and_runs_do_not_wait_for_each_other(tmp_path):
    x, y = Run(tmp_path, "x"), Run(tmp_path, "y")
    with only_one(x, "train"), only_one(x, "edit"), only_one(y, "train"):
        pass


HOLD = """
import sys, time
from pathlib import Path
from testbed.run.lock import only_one
from testbed.run.runs import Run
with only_one(Run(Path(sys.argv[1]), "x"), "train"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_dies_with_its_process(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(InputError, match=f"process {holder.pid} on "), only_one(Run(tmp_path, "x"), "train"):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    with only_one(Run(tmp_path, "x"), "train"):
        pass


@pytest.mark.slow
def test_two_corpora_at_once_are_one_or_the_other(tmp_path):
    """What is there in the end is what its record says, to the byte."""
    commands = [
        [sys.executable, "-m", "testbed.corpus", *at(tmp_path), *WORLD, "--seed", str(seed)]
        for seed in (1, 2)
    ]
    both = [subprocess.Popen(c, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for c in commands]
    codes = [(process.communicate(), process.returncode)[1] for process in both]
    assert sorted(codes) == [0, 2]
    run = Run(tmp_path, "x")
    seed = recorded_settings(run, "corpus")[0]["seed"]
    assert seed == 1 + codes.index(0)
    load_world(run)
    assert corpus.main([*at(tmp_path, "alone"), *WORLD, "--seed", str(seed)]) == 0
    for name in ("world/graph.npz", "corpus/tokens.bin"):
        assert (tmp_path / "x" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


def test_a_link_to_a_run_is_the_same_run(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "y").symlink_to(tmp_path / "x")
    x, y = Run(tmp_path, "x"), Run(tmp_path, "y")
    with (
        only_one(x, "train"),
        pytest.raises(InputError, match="is at work on the train"),
        only_one(y, "train"),
    ):
        pass


def test_files_that_somebody_removes_let_no_second_command_in(tmp_path):
    x = Run(tmp_path, "x")
    with only_one(x, "train"):
        for path in [p for p in tmp_path.rglob("*") if p.is_file()]:
            path.unlink()
        shutil.rmtree(tmp_path / ".locks", ignore_errors=True)
        with pytest.raises(InputError, match="is at work on the train"), only_one(x, "train"):
            pass


def test_a_link_in_the_place_of_a_lock_overwrites_nothing(finished, tmp_path):
    runs, precious = copied(finished, tmp_path), tmp_path / "precious"
    precious.write_text("thesis", encoding="utf-8")
    (runs / ".locks").mkdir()
    (runs / ".locks" / "x.report").symlink_to(precious)
    (runs / "x" / "report" / HOLDER).symlink_to(precious)
    assert report.main(at(runs)) == 0
    assert precious.read_text(encoding="utf-8") == "thesis"


def test_what_was_locked_and_not_written_is_not_there(tmp_path):
    with only_one(Run(tmp_path / "runs", "x"), "edit"):
        pass
    assert not (tmp_path / "runs").exists()


def test_checkpoints_of_other_settings_than_the_record_are_told(finished, tmp_path, capsys):
    """As after two trainings of one run at once: neither command goes on, and no edit is made."""
    runs = copied(finished, tmp_path)
    rewritten(runs / "x" / "config.json", '"learning_rate": 0.02', '"learning_rate": 0.001')
    for options in (RECIPE, [*RECIPE, "--train.learning-rate", "0.001"]):
        assert train.main([*at(runs), *options]) == 2
        assert "was made with other settings than" in complaint(capsys)
    assert edit.main([*at(runs), *EDITS, "--seed", "1"]) == 2
    assert "(train.learning_rate is 0.02 there and 0.001 here)" in complaint(capsys)
