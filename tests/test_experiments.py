"""The rooms of experiments: each command is found by its plain name, and says its own."""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import experiments
from experiments.command import run_module
from experiments.docs import list_pages
from tests.runs import ROOT
from tests.test_startup import HEAVY

HOME = Path(experiments.__file__).parent
MODULES = sorted(path for path in HOME.rglob("*.py") if path.stem != "__init__")
FINDINGS = HOME.parent / "docs" / "findings.md"
COMMANDS = [path for path in MODULES if path.read_text(encoding="utf-8")[-16:] == "launch_module()\n"]


def test_a_plain_name_means_one_module():
    assert max(Counter(path.stem for path in MODULES).values()) == 1
    for path in MODULES:
        assert Path(importlib.util.find_spec(f"experiments.{path.stem}").origin) == path


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_a_command_has_what_the_dispatcher_asks_for(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert f"python -m experiments.{path.stem}" in ast.get_docstring(tree)
    names = {getattr(node, "name", None) for node in tree.body}
    assert {"Settings", "run_study"} <= names or "\nSTUDY = Study(\n" in path.read_text(encoding="utf-8")


FORKS = """
import json, os, sys
from contextlib import redirect_stdout, suppress
from io import StringIO
from experiments.command import begin_command

for name in sys.argv[1:]:
    if not os.fork():
        sys.argv, said = [name, "--help"], StringIO()
        with redirect_stdout(said), suppress(SystemExit):
            begin_command(name)
        print(json.dumps([name, said.getvalue(), sorted(sys.modules)]), flush=True)
        os._exit(0)
    os.wait()
"""
"""A process like that of `python -m NAME --help` for each name; what they share is loaded once."""


@pytest.fixture(scope="module")
def helps():
    """Of every command its help, and what that has loaded."""
    command = [sys.executable, "-c", FORKS, *(f"experiments.{path.stem}" for path in COMMANDS)]
    around = os.environ | {"PYTHONUTF8": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=around)
    return {name: (said, loaded) for name, said, loaded in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_help_loads_no_library_and_is_that_of_the_loaded_module(path, helps, capsys):
    name = f"experiments.{path.stem}"
    said, loaded = helps[name]
    assert not HEAVY & {*loaded}
    words = " ".join(said.split())
    assert f"usage: python -m {name} " in words
    assert path.parent.name != "studies" or "so that a killed command goes on from there" in words
    assert "Placeholder" not in said
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        # Benchmarks import what is not always installed, and help does not.
        assert not (Path(ROOT) / str(error.name).partition(".")[0]).exists()
        pytest.skip(str(error))
    with pytest.raises(SystemExit):
        run_module(module, ["--help"])
    # Frames differ where it is not for a terminal, and the order in which choices are listed.
    assert Counter(re.findall(r"[\w.]+", capsys.readouterr().out)) == Counter(re.findall(r"[\w.]+", said))


def test_commands_are_those_of_the_dispatcher():
    assert {"taxi", "agents_speed", "docs", "same_edits"} <= {path.stem for path in COMMANDS}
    modules = [path for path in MODULES if path.parent != HOME / "examples"]
    mains = [path for path in modules if "__main__" in path.read_text(encoding="utf-8")]
    assert {*mains} - {*COMMANDS} == {HOME / "command.py"}


def test_commands_of_pages_are_here_or_named_as_retired():
    """A retired command is named with the last revision that has it."""
    text = {page: page.read_text(encoding="utf-8") for page in list_pages()}
    typed = {name for page in text.values() for name in re.findall(r"python -m\sexperiments\.(\w+)", page)}
    (retired,) = re.findall(r"^\*\*Retired commands\.\*\*(?:.+\n)+", text[FINDINGS], re.MULTILINE)
    named = {*re.findall(r"`(\w+)`", retired)}
    assert typed - {path.stem for path in COMMANDS} <= named
    assert not named & {path.stem for path in MODULES}
