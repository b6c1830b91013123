"""Pictures of pages for the docs: what is said where they cannot be made, and their size where they can."""

import matplotlib.pyplot as plt
import pytest

from experiments import browser, page_pictures
from experiments.browser import find_browser
from experiments.command import run_module


def photograph(tmp_path, *further):
    return run_module(
        page_pictures, ["--run", "x", "--runs", str(tmp_path), "--to", str(tmp_path / "docs"), *further]
    )


@pytest.fixture
def pages(tmp_path):
    """Pages that say they are ready."""
    explorer = tmp_path / "x" / "report" / "explorer"
    explorer.mkdir(parents=True)
    html = '<!doctype html><html data-ready="yes"><dialog id="case" open><p class="question">it</dialog>'
    for folder in (explorer, explorer.parent):
        (folder / "index.html").write_text(html, encoding="utf-8")
    return tmp_path


def test_without_a_report_or_a_browser_it_says_so(pages, monkeypatch, capsys):
    monkeypatch.setattr(browser.shutil, "which", lambda _: None)
    assert photograph(pages) == 2
    assert "there is no browser here; install one of chromium" in capsys.readouterr().err
    (pages / "x" / "report" / "explorer" / "index.html").unlink()
    assert photograph(pages) == 2
    assert "run: python -m testbed.report" in capsys.readouterr().err
    assert not list((pages / "docs").glob("*"))


@pytest.mark.slow
@pytest.mark.skipif(not find_browser(), reason="no Chromium is installed")
def test_pictures_have_the_size_that_was_wanted(pages):
    assert photograph(pages) == 0
    assert {path.name for path in (pages / "docs").iterdir()} == {"report.png", "explorer.png"}
    assert photograph(pages, "--widths", "400", "--dark") == 0
    shapes = {path.stem: plt.imread(path).shape[:2] for path in (pages / "docs").glob("*400*")}
    assert shapes.keys() == {f"{page}-400{dark}" for page in page_pictures.PAGES for dark in ("", "-dark")}
    assert {*shapes.values()} == {(page_pictures.HEIGHT, 400)}
