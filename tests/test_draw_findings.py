"""The pictures of docs/findings.md are those that the records give."""

import re

import pytest

from experiments import draw_findings
from experiments.draw_findings import CHARTS, HOME, Chart, draw_chart
from testbed.scores.statistics import Estimate

PAGE = (HOME / "docs" / "findings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CHARTS)
def test_a_picture_shows_what_its_record_says(name, tmp_path):
    chart = CHARTS[name]()
    draw_chart(chart, tmp_path / f"{name}.svg")
    drawn = (tmp_path / f"{name}.svg").read_text("utf-8")
    shown = (HOME / "docs" / "findings" / f"{name}.svg").read_text("utf-8")
    words = [re.findall(r">([^<]+)</text>", svg) for svg in (drawn, shown)]
    assert words[0] == words[1]
    assert {chart.title, *chart.rows} <= set(words[0]) | {re.sub("&.*?;", "", x) for x in words[0]} | {
        row for row in chart.rows if '"' in row
    }
    assert f"findings/{name}.svg" in PAGE


def test_every_row_and_series_is_drawn_once(tmp_path):
    estimate = Estimate(0.5, 0.4, 0.6, 9)
    chart = Chart("title", "share", {"first": {"a": estimate, "b": estimate}, "second": {"b": estimate}})
    draw_chart(chart, tmp_path / "x.svg")
    text = (tmp_path / "x.svg").read_text("utf-8")
    for word in ("title", "share", "first", "second", "a", "b"):
        assert text.count(f">{word}</text>") == 1
    again = tmp_path / "again" / "x.svg"
    again.parent.mkdir()
    draw_chart(chart, again)
    assert again.read_text("utf-8") == text
    assert draw_findings.Settings().into == HOME / "docs" / "findings"
