"""A wheel in an environment that has nothing else: the script, the demo, an example that docs say to copy."""

import json
import os
import subprocess
import sys
import sysconfig
import tomllib

import pytest

from testbed.commands.example import find_examples
from tests.runs import RECIPE, ROOT, WORLD


def test_examples_go_where_they_are_looked_for():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    folders = wheel["targets"]["wheel"]["force-include"]
    assert folders == {"experiments/examples": "testbed/examples"}
    assert {path.parent for path in find_examples().values()} == {ROOT / source for source in folders}


@pytest.mark.slow
def test_its_script_makes_a_run_and_edits_it(tmp_path):
    """In an environment of its own that finds this one's packages, but not this folder; pip builds it."""
    pytest.importorskip("pip")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*command):
        words = [*map(str, command)]
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "env")
    run(tmp_path / "env" / "bin" / "python", "-m", "pip", "install", "--no-compile", "--no-deps", wheel)
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    # What a .pth file of a folder that is named in one says is not followed.
    (packages / "packages.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    credence = tmp_path / "env" / "bin" / "credence"
    run(credence, "corpus", *WORLD)
    run(credence, "train", *RECIPE)
    run(credence, "example", "my_editor")
    own = run(credence, "edit", "my_editor:MyEditor", "--cases.count", 12, "--json")
    assert json.loads(own)["tables"][0]["rows"][0][0] == "my_editor:MyEditor"
