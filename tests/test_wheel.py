"""A wheel in an environment that has nothing else: the script, the demo, an example that docs say to copy."""

import json
import os
import subprocess
import sys
import tomllib

import pytest

from testbed.commands.example import find_examples
from tests.runs import ROOT


def test_examples_go_where_they_are_looked_for():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    folders = wheel["targets"]["wheel"]["force-include"]
    assert folders == {"experiments/examples": "testbed/examples"}
    assert {path.parent for path in find_examples().values()} == {ROOT / source for source in folders}


@pytest.mark.slow
def test_it_installs_and_runs_the_demo(tmp_path):
    """Needs PyPI, as `make demo` does, and some minutes."""
    pytest.importorskip("pip")

    def run(*command, **options):
        words = [*map(str, command)]
        done = subprocess.run(words, cwd=tmp_path, text=True, capture_output=True, check=False, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "env")
    python, credence = tmp_path / "env" / "bin" / "python", tmp_path / "env" / "bin" / "credence"
    run(python, "-m", "pip", "install", "--no-compile", "--require-hashes", "-r", ROOT / "requirements.lock")
    run(python, "-m", "pip", "install", "--no-compile", "--no-deps", wheel)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    tables = json.loads(run(credence, "demo", "--json", env=environment))["tables"]
    assert [stage for stage, _ in tables[-1]["rows"]] == ["corpus", "train", "edit", "ask", "report", "all"]
    assert (tmp_path / "runs" / "demo" / "report" / "index.html").exists()
    run(credence, "example", "my_editor", env=environment)
    own = run(credence, "edit", "my_editor:MyEditor", "--cases.count", 12, "--json", env=environment)
    assert json.loads(own)["tables"][0]["rows"][0][0] == "my_editor:MyEditor"
