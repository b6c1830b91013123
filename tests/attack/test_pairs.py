"""Two commands on one run at once: one works, the other is told who does and leaves everything alone."""

import os
import signal
import subprocess
import sys

import pytest

from corpus.errors import InputError
from testbed import corpus, edit, report, train, tune
from testbed.run.lock import only_one
from testbed.run.runs import Run, recorded_settings
from testbed.run.world import load_world
from tests.runs import EDITS, RECIPE, ROOT, WORLD, at, complaint, copied

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
