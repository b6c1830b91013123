"""A disk that fails at some calls of three commands, and kills: one message, and nothing is lost.

`python -m tests.attack.every_call FOLDER` does it at every call of every command, which takes hours.
"""

import shutil
import subprocess
import sys
import time

import pytest

from tests.attack.every_call import choose_calls
from tests.attack.trials import list_trials
from tests.runs import ROOT, python

needs_compiler = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("cc"), reason="needs Linux and a C compiler"
)


def test_every_call_that_writes_is_chosen_and_one_of_those_that_are_alike():
    calls = {1: ("open", True, "/a"), 2: ("write", True, "/a"), 3: ("write", True, "/a")}
    calls |= {4: ("read", False, "/a"), 5: ("read", False, "/a"), 6: ("remove", False, "/a")}
    chosen = choose_calls(calls, False, 1000)
    assert {1, 2, 3, 6} < set(chosen)
    assert len(chosen) == 5
    assert choose_calls(calls, True, 1000) == [1, 2, 3, 6]
    assert len(choose_calls(calls, False, 2)) == 2


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [("example",), ("export", "score", "--most", "3"), ("export", "--most", "2", "--lasting")],
    ids=" ".join,
)
def test_what_fails_ends_in_a_message_and_loses_nothing(words, tmp_path, capsys):
    command = [sys.executable, "-m", "tests.attack.every_call", str(tmp_path), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    with capsys.disabled():
        print(f"\n{done.stdout}{done.stderr}")
    assert done.returncode == 0
    assert "made to fail" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["corpus", "tune", "report", "export"])
def test_a_command_killed_at_some_moment_makes_the_same_when_it_is_given_again(name, tmp_path):
    """Of training and edits tests/test_faults.py and tests/test_commands.py hold it."""
    [trial] = list_trials(tmp_path, [name])

    def run(seconds=None):
        """The exit status; killed after so many seconds."""
        process = python(f"testbed.{name}", *trial.words)
        if seconds is not None:
            time.sleep(seconds)
            process.kill()
        process.communicate()
        return process.returncode

    trial.prepare()
    began = time.monotonic()
    assert run() == 0
    took, whole = time.monotonic() - began, trial.outcome(trial.place)
    for share in (0.4, 0.8):
        trial.prepare()
        run(share * took)
        assert run() == 0
        assert trial.outcome(trial.place) == whole
