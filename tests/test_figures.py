"""Figures in the README and docs/: each table names a command, each interval is in a record."""

import re

import pytest

from experiments import sources
from experiments.command import run_module
from experiments.recorded import find_claims, find_unrecorded

RECORD = "2026-11-25-demo-worlds"


def test_every_table_of_figures_names_a_command(capsys):
    assert run_module(sources, []) == 0
    out = capsys.readouterr().out
    assert "docs/findings/hase.md: Requests that contradict" in out
    assert "experiments/records/" in out


def test_figures_without_a_command_are_named(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text(
        "# A\n| x |\n|---:|\n| 1 |\n"
        "## B\n`python -m experiments.nobody`\n| x |\n|---:|\n| 1 |\n"
        "## C\nno table\n"
    )
    monkeypatch.setattr(sources, "HOME", tmp_path)
    monkeypatch.setattr(sources, "list_pages", lambda: [page])
    assert run_module(sources, []) == 2
    said = capsys.readouterr()
    message = " ".join(said.err.split())
    assert "page.md, 'A': no command" in message
    assert "page.md, 'B': no command" in message
    assert "'C'" not in said.out


@pytest.mark.parametrize("printed", ["0.10 ± 0.04", "1.00 [0.69, 1]", "-0.51 ± 0.05"])
def test_a_number_is_found_as_it_is_printed_and_no_other(printed):
    value = re.match(r"-?[\d.]+", printed).group()
    other = printed.replace(value, "7.77", 1)
    claims = find_claims(
        f"It is {printed}, not {other}; `0.99 ± 0.88` is code.\n\n0.99 ± 0.88 has no record."
    )
    assert [claim.text for claim in claims] == [printed, other]
    assert find_unrecorded(claims, (RECORD,)) == [other]
    assert find_unrecorded(claims, ()) == [printed, other]


def test_numbers_that_no_record_has_are_named(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text("# A\n`python -m experiments.demo_worlds` prints 0.10 ± 0.04 and 7.77 ± 0.04.\n")
    monkeypatch.setattr(sources, "HOME", tmp_path)
    monkeypatch.setattr(sources, "list_pages", lambda: [page])
    assert run_module(sources, []) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "7.77 ± 0.04" in said
    assert "0.10 ± 0.04" not in said
