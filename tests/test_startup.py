"""What a command loads before its options are read, and to show them: no library but that of options."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.__main__ import COMMANDS
from testbed.launch import load_function
from tests.runs import ROOT

HEAVY = {"jax", "matplotlib", "networkx", "numba", "numpy", "pyarrow", "scipy", "torch"}
MODULES = [f"testbed.{name}" for name in COMMANDS]


def output_of(program, *arguments):
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        (["testbed"], {*HEAVY, "tyro"}),
        (["testbed.engine.versions", *MODULES], HEAVY),
        (["testbed.commands.report"], {"flax", "jax", "orbax"}),
    ],
)
def test_commands_load_no_library_the_door_none_at_all_and_a_report_no_jax(modules, heavy):
    program = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    loaded = set(output_of(program).split())
    assert set(modules) <= loaded
    assert not heavy & loaded


SHOW = """
import sys
from contextlib import suppress
from importlib import import_module
for name in sys.argv[1:]:
    with suppress(SystemExit):
        import_module(name).main(["--help"])
print(*sys.modules)
"""


def test_help_loads_no_library():
    *said, loaded = output_of(SHOW, *MODULES).splitlines()
    assert {f"python -m {name}" for name in MODULES} <= {
        *re.findall(r"^usage: (python -m [\w.]+)", "\n".join(said), re.MULTILINE)
    }
    assert not HEAVY & {*loaded.split()}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_does_the_work_is_there(name):
    source = (Path(ROOT) / "testbed" / f"{name}.py").read_text(encoding="utf-8")
    places = re.findall(r'"(testbed\.[\w.]+:\w+)"', source)
    assert len(places) == 1
    assert callable(load_function(places[0]))
