"""Figures of papers are read from TSV files beside their evaluation."""

from pathlib import Path

import pytest

from testbed.evaluations.paper_tables import read_paper_figures, read_paper_table

ROOT = Path(__file__).parents[1]
TABLES = sorted((ROOT / "testbed" / "evaluations").glob("*/paper/*.tsv"))


def test_there_are_tables():
    assert len(TABLES) > 10


@pytest.mark.parametrize("path", TABLES, ids=lambda p: f"{p.parents[1].name}-{p.stem}")
def test_every_table_says_where_it_stands_and_is_whole(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("#"), "the first line says where the figures stand in the paper"
    rows = read_paper_table(f"testbed.evaluations.{path.parents[1].name}", path.stem)
    assert rows
    columns = rows[0].keys()
    assert all(row.keys() == columns and None not in row.values() for row in rows)


def test_words_name_a_row_and_numbers_are_its_figures(tmp_path, monkeypatch):
    package = tmp_path / "my_room"
    (package / "paper").mkdir(parents=True)
    (package / "__init__.py").touch()
    text = "# Table 1\nmethod\tsubject\tbefore\tafter\nrome\trare\t.5\t\nmend\ttypical\t1\t-0.25\n"
    (package / "paper" / "table1.tsv").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert read_paper_figures("my_room", "table1") == {
        ("rome", "rare"): {"before": 0.5},
        ("mend", "typical"): {"before": 1.0, "after": -0.25},
    }
