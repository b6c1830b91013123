"""A disk that fails at some calls of three commands: one message, and nothing is lost.

`python -m tests.attack.every_call FOLDER` does it at every call of every command, which takes hours.
"""

import shutil
import subprocess
import sys

import pytest

from tests.attack.every_call import choose_calls
from tests.runs import ROOT

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
    [
        ("example",),
        ("export", "score", "--most", "3"),
        ("export", "--most", "2", "--lasting"),
    ],
    ids=" ".join,
)
def test_what_fails_ends_in_a_message_and_loses_nothing(words, tmp_path, capsys):
    command = [sys.executable, "-m", "tests.attack.every_call", str(tmp_path), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    with capsys.disabled():
        print(f"\n{done.stdout}{done.stderr}")
    assert done.returncode == 0
    assert "made to fail" in done.stdout
