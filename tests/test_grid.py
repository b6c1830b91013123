"""A table as an object says the same as text, HTML, Arrow and pandas, whatever stands in it."""

import html

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from testbed.cells import Shown
from testbed.grid import Grid
from testbed.scores.statistics import Estimate

names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)
numbers = st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(names, st.lists(st.tuples(names, numbers), max_size=4))
def test_it_says_the_same_everywhere(title, rows):
    grid = Grid(title, ("", "value"), rows)
    table = grid.to_arrow()
    assert (
        list(zip(table.to_pydict().get("name", []), table.to_pydict().get("value", []), strict=True)) == rows
    )
    shown = grid._repr_html_()
    for name, _ in rows:
        assert html.escape(name) in shown
    assert shown.count("<tr>") == 1 + len(rows)


def test_nothing_in_a_cell_is_markup():
    grid = Grid("<script>", ["<b>"], [["<img src=x onerror=alert(1)>"]], note="<i>")
    assert "<script>" not in grid._repr_html_()
    assert "<img" not in grid._repr_html_()
    assert "<i>" not in grid._repr_html_()
    assert "[bold]" in repr(Grid("t", ["a"], [["[bold]"]]))


def test_parts_of_cells_are_columns():
    estimate = Estimate(0.5, 0.25, np.nan, 7, 6)
    grid = Grid("t", ("editor", "skill"), [("a", Shown("0.50", estimate)), ("b", Shown("-", None))])
    columns = grid.to_arrow().to_pydict()
    assert columns["skill"] == [0.5, None]
    assert columns["skill low"] == [0.25, None]
    assert columns["skill high"] == [None, None]
    assert columns["skill cases"] == [7, None]


def test_text_is_aligned_and_has_its_note():
    text = repr(Grid("title", ("", "n"), [("a", 1234), ("bb", 5)], note="said below"))
    assert text.startswith("title")
    assert "1,234" in text
    assert text.endswith("said below")
