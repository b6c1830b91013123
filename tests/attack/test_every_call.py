"""A disk that fails at any call of any command, and any allocation: one message, and nothing is lost.

    CALLS=1000000 ALLOCATIONS=100 python -m pytest -m slow -s tests/attack/test_every_call.py

prints how many calls and allocations there are, how many were made to fail, and what came of it.
"""

import os
import shutil
import subprocess
import sys

import pytest

from tests.attack.every_call import choose_calls
from tests.runs import ROOT

CALLS, ALLOCATIONS = os.environ.get("CALLS", "2"), os.environ.get("ALLOCATIONS", "1")
needs_compiler = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("cc"), reason="needs Linux and a C compiler"
)


def run(name, *words):
    command = [sys.executable, "-m", f"tests.attack.{name}", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


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
def test_a_call_that_fails_is_found_by_its_number(tmp_path):
    """The oracle: an example is written by a few calls; whichever fails, half a file is never left."""
    code, out = run("every_call", str(tmp_path), "example")
    assert code == 0, out
    assert "made to fail" in out


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("how", [[], ["--lasting"]], ids=["once", "full"])
def test_a_failure_at_any_call_ends_in_a_message_and_loses_nothing(how, tmp_path, capsys):
    code, out = run("every_call", str(tmp_path), "--most", CALLS, *how)
    with capsys.disabled():
        print(f"\n{out}")
    assert code == 0, out


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("how", [[], ["--arrays"]], ids=["python", "arrays"])
def test_an_allocation_that_fails_ends_in_a_message_and_loses_nothing(how, tmp_path, capsys):
    code, out = run("allocations", str(tmp_path), "--most", ALLOCATIONS, *how)
    with capsys.disabled():
        print(f"\n{out}")
    assert code == 0, out
