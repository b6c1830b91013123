"""Allocations that fail, one at a time: a message and code 2, or all is whole; then the same command."""

import importlib.util
import os
import random
import shutil
import subprocess
import sys

import pytest

from tests.runs import ROOT

ALLOCATIONS = int(os.environ.get("ALLOCATIONS", "20"))
MOST = {"corpus": 400_000, "verify": 200_000}
"""About as many as a command makes of the smallest run."""


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("_testcapi"), reason="this Python has no _testcapi")
@pytest.mark.parametrize("name", MOST)
def test_an_allocation_that_fails_ends_in_a_message_and_loses_nothing(name, finished, tmp_path, capsys):
    if name != "corpus":
        shutil.copytree(finished / "x", tmp_path / "x")
    rng = random.Random(0)
    numbers = [1, 100, *(rng.randrange(1, MOST[name]) for _ in range(ALLOCATIONS))]
    command = [sys.executable, "-m", "tests.attack.allocations", name, str(tmp_path), *map(str, numbers)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert [int(line[0]) for line in lines] == numbers
    for number, first, again, same, said in lines:
        assert (again, same) == ("0", "True"), (number, said)
        assert first in "02", (number, first, said)
        assert first == "0" or said.startswith("error: "), (number, said)
    refused = sum(line[1] == "2" for line in lines)
    with capsys.disabled():
        print(f"\n{name}: {len(lines)} allocations failed: {refused} refused, {len(lines) - refused} whole")
