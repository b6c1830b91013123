"""The console script of an installed package is the commands of the module."""

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from testbed.__main__ import COMMANDS

ROOT = Path(__file__).parents[1]


def output_of(*args):
    done = subprocess.run([sys.executable, *args], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def script():
    """As pip writes it from pyproject.toml: the only script, importing one function and calling it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((name, value),) = project["scripts"].items()
    entry = EntryPoint(name, value, "console_scripts")
    assert callable(entry.load())
    return f"import sys; from {entry.module} import {entry.attr}; sys.argv[0] = {name!r}; {entry.attr}()"


@pytest.mark.parametrize("command", ["report", "verify"])
def test_a_command_is_the_module_of_its_name(command):
    assert command in COMMANDS
    assert output_of("-c", script(), command, "--help") == output_of("-m", f"testbed.{command}", "--help")


def test_alone_it_is_the_overview(tmp_path):
    arguments = ("--runs", str(tmp_path))
    assert output_of("-c", script(), *arguments) == output_of("-m", "testbed", *arguments)
