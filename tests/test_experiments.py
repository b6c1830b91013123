"""The rooms of experiments: each command is found by its plain name, and says its own."""

import ast
import importlib.util
from collections import Counter
from pathlib import Path

import pytest

import experiments
from experiments import command
from experiments.settings import StagedSettings
from experiments.studies import leme

HOME = Path(experiments.__file__).parent
MODULES = sorted(path for path in HOME.rglob("*.py") if path.stem != "__init__")
COMMANDS = [path for path in MODULES if path.read_text(encoding="utf-8")[-16:] == "launch_module()\n"]


def test_a_plain_name_means_one_module():
    assert max(Counter(path.stem for path in MODULES).values()) == 1
    for path in MODULES:
        assert Path(importlib.util.find_spec(f"experiments.{path.stem}").origin) == path


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_a_command_has_what_the_dispatcher_asks_for(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert f"python -m experiments.{path.stem}" in ast.get_docstring(tree)
    assert {"Settings", "run_study"} <= {getattr(node, "name", None) for node in tree.body}


def test_commands_are_those_of_the_dispatcher():
    assert {"taxi", "agents_speed", "sources", "same_edits"} <= {path.stem for path in COMMANDS}
    mains = [path for path in MODULES if "__main__" in path.read_text(encoding="utf-8")]
    assert {*mains} - {*COMMANDS} == {HOME / "command.py"}


def test_help_of_a_long_study_says_that_it_resumes(capsys):
    with pytest.raises(SystemExit) as stop:
        command.run_module(leme, ["--help"])
    assert stop.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "python -m experiments.leme" in said
    assert " ".join(StagedSettings.RESUMES.split()[:6]) in said


def test_a_command_is_repeated_by_what_is_unlike_the_defaults():
    assert leme.Settings().command == "python -m experiments.leme"
    assert leme.Settings(seeds=2, slow_edits=4, minutes=9).command == (
        "python -m experiments.leme --seeds 2 --slow-edits 4"
    )


def test_counts_are_positive():
    with pytest.raises(ValueError, match="slow_edits must be positive"):
        leme.Settings(slow_edits=0)
