"""Examples are copied from wherever they are, never over anything, and work as one's own."""

import errno
import shutil
from pathlib import Path

import pytest

from testbed import example
from testbed.commands.example import find_examples
from testbed.engine.catalogue import entry_named
from testbed.evaluations.catalogue import evaluation_named
from tests.runs import ROOT, complaint


def test_they_are_listed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert example.main([]) == 0
    out = capsys.readouterr().out
    for path in (ROOT / "experiments" / "examples").glob("[!_]*.py"):
        assert path.stem in out


def test_a_copy_is_ones_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert example.main(["my_editor"]) == example.main(["my_evaluation"]) == 0
    assert "my_editor.py" in capsys.readouterr().out
    assert Path("my_editor.py").read_bytes() == (ROOT / "experiments/examples/my_editor.py").read_bytes()
    assert entry_named("my_editor:MyEditor").config.tries == 4
    assert evaluation_named("my_evaluation:MyEvaluation").metrics


@pytest.mark.parametrize(("name", "what"), [("my_editor", "there already"), ("yours", "examples are my_ed")])
def test_nothing_is_overwritten_or_guessed(name, what, tmp_path, capsys):
    (tmp_path / "my_editor.py").write_text("mine", encoding="utf-8")
    assert example.main([name, "--folder", str(tmp_path)]) == 2
    assert what in complaint(capsys)
    assert (tmp_path / "my_editor.py").read_text(encoding="utf-8") == "mine"


def test_a_copy_that_breaks_off_leaves_nothing(tmp_path, monkeypatch, capsys):
    def fill_disk(_, target):
        Path(target).write_text("half", encoding="utf-8")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfile", fill_disk)
        assert example.main(["my_editor", "--folder", str(tmp_path)]) == 2
    assert "No space left on device" in complaint(capsys)
    assert not list(tmp_path.iterdir())
    assert example.main(["my_editor", "--folder", str(tmp_path)]) == 0


def test_an_installed_package_has_its_own(tmp_path, monkeypatch):
    (tmp_path / "my_editor.py").write_text('"""Installed."""', encoding="utf-8")
    (tmp_path / "__init__.py").write_text("", encoding="utf-8")
    monkeypatch.setattr("testbed.commands.example.FOLDERS", (tmp_path,))
    assert find_examples() == {"my_editor": tmp_path / "my_editor.py"}
