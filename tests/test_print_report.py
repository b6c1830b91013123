"""The report as a PDF: every heading and picture is on its pages."""

import re

import pytest

from experiments import print_report
from experiments.browser import find_browser
from experiments.command import run_module
from experiments.print_report import DOCS, write_page

SOURCE = (DOCS / "report.md").read_text(encoding="utf-8")


def test_the_page_has_every_heading_and_every_picture_is_there():
    page = write_page(DOCS / "report.md")
    headings = re.findall(r"^#+ (.*)$", SOURCE, flags=re.MULTILINE)
    assert [re.sub("<.*?>", "", one) for one in re.findall(r"<h\d>(.*?)</h\d>", page)] == headings
    pictures = re.findall(r'<img src="([^"]+)"', page)
    assert len(pictures) == SOURCE.count("![") == 5
    assert all((DOCS / name).exists() for name in pictures)


@pytest.mark.slow
@pytest.mark.skipif(not find_browser(), reason="no browser")
def test_it_is_printed(tmp_path, capsys):
    assert run_module(print_report, ["--to", str(tmp_path / "report.pdf")]) == 0
    printed = (tmp_path / "report.pdf").read_bytes()
    assert printed.startswith(b"%PDF")
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 10
    assert str(tmp_path / "report.pdf") in capsys.readouterr().out
