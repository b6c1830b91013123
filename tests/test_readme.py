"""The README's own commands, and the tour's first question, word for word.

All are understood, and those that are quick are run here.
"""

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import command
from testbed import launch
from testbed.commands.example import find_examples
from tests.runs import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")


def blocks_of(page):
    return re.findall(r"^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


BLOCKS = blocks_of(README)
SCRIPTS = [block for block in BLOCKS if block.startswith(("make ", "python ", "source "))]
INLINE = [" ".join(code.split()) for code in re.findall(r"`(python -m\s[^`]+)`", README)]


def calls(script):
    """Module and arguments of every command of this project in a script."""
    for line in script.splitlines():
        words = shlex.split(line, comments=True)
        while words:
            end = words.index("&&") if "&&" in words else len(words)
            if words[:2] == ["python", "-m"]:
                yield words[2], words[3:end]
            words = words[end + 1 :]


COMMANDS = [call for script in (*SCRIPTS, *INLINE) for call in calls(script)]


def ask_block():
    """The first question of the tour, and what it prints."""
    blocks = blocks_of(TOUR)
    at = next(i for i, block in enumerate(blocks) if "testbed.ask" in block)
    return blocks[at], blocks[at + 1]


def main_of(module):
    return importlib.import_module("testbed.__main__" if module == "testbed" else module)


def test_they_are_found():
    modules = {module for module, _ in COMMANDS}
    assert {f"testbed.{name}" for name in ("corpus", "train", "edit", "report", "examine")} < modules
    assert "experiments.pretrain" in modules
    assert [line for script in SCRIPTS for line in script.splitlines() if line.startswith("make ")]


@pytest.mark.parametrize(
    ("module", "args"), [pytest.param(*call, id=shlex.join([call[0], *call[1]])) for call in COMMANDS]
)
def test_every_command_is_understood(module, args, monkeypatch, tmp_path):
    """Its options are read as they are typed, where the examples were copied to, and nothing is done."""
    for path in find_examples().values():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    asked, program, run_command = [], main_of(module), launch.run_command

    def understood(name, about, options, body, args):
        return run_command(name, about, options, asked.append, args)

    is_experiment = module.startswith("experiments.")
    monkeypatch.setattr(command if is_experiment else launch, "run_command", understood)
    monkeypatch.setattr(sys, "argv", [module, *args])
    assert (command.run_module(program) if is_experiment else program.main()) == 0
    assert len(asked) == 1


def test_what_make_is_asked_for_is_there():
    for line in (line for script in SCRIPTS for line in script.splitlines() if line.startswith("make ")):
        words = shlex.split(line, comments=True)
        done = subprocess.run([*words, "-n"], cwd=ROOT, capture_output=True, text=True, check=True)
        assert "python -m " in done.stdout


# Minutes ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A folder with all of the project but its runs, and its environment, as after a first `make`."""
    if not (Path(sys.prefix) / "pyvenv.cfg").exists():
        pytest.skip("needs a virtual environment")
    folder = tmp_path_factory.mktemp("checkout")
    for path in ROOT.iterdir():
        if path.name not in (".git", ".venv", "runs"):
            (folder / path.name).symlink_to(path)
    (folder / ".venv").mkdir()
    for path in Path(sys.prefix).iterdir():
        if path.name != ".ready":
            (folder / ".venv" / path.name).symlink_to(path)
    (folder / ".venv" / ".ready").touch()
    return folder


def typed(script, folder):
    """Run a script as it stands."""
    environment = os.environ | {"COLUMNS": "200", "PATH": f"{folder / '.venv' / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (script, done.stdout[-2000:], done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def shown(checkout):
    """What `make demo` says."""
    [line] = [line for script in SCRIPTS for line in script.splitlines() if line.startswith("make demo")]
    return typed(line, checkout)


@pytest.mark.slow
def test_the_demo_says_what_the_tour_shows(shown, checkout):
    script, output = ask_block()
    for said in (shown, typed(script, checkout)):
        # What the world and the agent say is the same everywhere; a model's numbers depend on the machine.
        for line in (line for line in output.splitlines() if line.startswith(("edit", "Ada"))):
            assert line in said
        assert "0.95 Quintal College" in said
