"""Tables: what a reader sees is the number, and no name can break Markdown or LaTeX."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.pages.page import (
    add_case_counts,
    add_detectable_row,
    add_explanations,
    describe_winners,
    latex_table,
)
from testbed.scores.metric import ARROWS, MetricDefinition
from testbed.scores.statistics import INTERVALS, Comparison, Estimate, Few
from testbed.scores.tables import (
    MISSING,
    PAGE,
    Table,
    better_of,
    cell_number,
    escape_latex,
    format_cell,
    markdown_section,
)

SPECIAL = "\\&%$#_{}~^<>|±“”…↑↓→\u2019\u2212\u00d7"
texts = st.text(st.sampled_from(SPECIAL + "ab -.1"), max_size=20)
COMMANDS = (
    r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|ldots)\{\}"
    r"|\\[&%$#_{}]|\$(\\pm|\\uparrow|\\downarrow|\\to|\\times|-)\$"
)


def words(key, header, rows, **rest):
    return Table(key, "A title", header, rows, **rest)


@given(texts)
def test_latex_has_no_special_character_left(text):
    assert not set(SPECIAL) & set(re.sub(COMMANDS, "", escape_latex(text)))


@given(st.lists(st.lists(texts, min_size=3, max_size=3), min_size=1, max_size=4), texts)
def test_a_latex_table_has_its_rows_and_columns(rows, title):
    made = latex_table(Table("a_table", title, ["x", "y_1", "z"], rows, foot=[["a", "b", "c"]]))
    lines = [line for line in made.split("\n") if line.endswith(r" \\")]
    assert len(lines) == len(rows) + 2
    for line in lines:
        plain = re.sub(COMMANDS, "", line.removesuffix(r" \\"))
        assert plain.count("&") == 2
    plain = re.sub(COMMANDS, "", made)
    assert plain.count("{") == plain.count("}")
    assert made.count(r"\begin{") == made.count(r"\end{") == 2
    assert all(rule in made for rule in (r"\toprule", r"\midrule", r"\bottomrule"))


@given(st.lists(st.lists(texts, min_size=2, max_size=2), min_size=1, max_size=4))
def test_a_markdown_table_has_its_columns(rows):
    lines = markdown_section(words("t", ["x", "y"], rows)).split("\n\n")[-1].splitlines()
    assert len(lines) == len(rows) + 2
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in lines)


@given(st.floats(-5, 5), st.floats(0, 2), st.floats(0, 2), st.floats(0, 1))
def test_what_is_shown_is_the_number(value, below, above, p):
    estimate = Estimate(value, value - below, value + above, 9)
    assert float(format_cell(estimate).split(" ")[0]) == pytest.approx(value, abs=0.0051)
    shown = format_cell(estimate).split(" ", 1)[1]
    if shown.startswith("["):
        low, high = map(float, shown.strip("[]").split(", "))
        assert (low, high) == pytest.approx((estimate.low, estimate.high), abs=0.0051)
        assert max(below, above) > 1.99 * min(below, above)
    else:
        half = float(shown.removeprefix("±"))
        assert half == pytest.approx((below + above) / 2, abs=0.0051)
        assert abs(half - below) < max(half / 2, 0.016), "value ± half is about the interval"
    assert cell_number(estimate) == value
    difference = Comparison(value, value - below, value + above, p, 0.1, 9)
    middle, tail = format_cell(difference).split(", p ")
    assert float(middle.split(" ")[0]) == pytest.approx(value, abs=0.0051)
    assert float(tail.lstrip("<")) == pytest.approx(p, abs=0.00101)
    assert cell_number(difference) == value
    assert "-0.00" not in format_cell(difference)


@given(st.floats(1e-6, 1e15))
def test_plain_numbers_keep_their_size(value):
    assert float(format_cell(value).replace(",", "")) == pytest.approx(value, rel=6e-3)


@pytest.mark.parametrize("nothing", [None, math.nan, Estimate(math.nan, math.nan, math.nan, 0)])
def test_nothing_is_a_dash_without_a_number(nothing):
    assert format_cell(nothing) == MISSING
    assert cell_number(nothing) is None


def test_a_value_without_an_interval_claims_none():
    assert format_cell(Estimate(0.5, math.nan, math.nan, 1)) == "0.50"


def test_few_clusters_show_their_range_and_the_table_says_so():
    sequences = Estimate(0.5, math.nan, math.nan, 9, few=(Few("sequence", 2, -0.001, 1.0),))
    assert format_cell(sequences) == "0.50 (0.00 to 1.00)"
    worlds = Estimate(0.5, 0.4, 0.6, 9, 30, (Few("world", 3, 0.45, 0.55),))
    assert format_cell(worlds) == "0.50 ± 0.10 (0.45 to 0.55)"
    difference = Comparison(0.5, math.nan, math.nan, 0.25, math.nan, 9, few=sequences.few)
    assert format_cell(difference) == "+0.50 (0.00 to 1.00), p 0.250"
    table = Table("k", "t", ["editor", "m", "n"], [["a", sequences, worlds]], "As it is.")
    note = add_explanations(table).note
    assert note.startswith(f"As it is. {INTERVALS} ")
    assert "the range over sequences, if there are fewer than 5" in note
    assert "about these worlds only" in note
    assert "no verdict" not in note, "nothing is compared"
    compared = add_explanations(
        table._replace(rows=[["a", worlds, difference._replace(few=worlds.few)]])
    ).note
    assert "5 worlds or fewer give no verdict" in compared
    one = Estimate(0.5, 0.4, 0.6, 9, few=(Few("world", 1, 0.5, 0.5),))
    assert format_cell(one) == "0.50 ± 0.10"
    alone = add_explanations(table._replace(rows=[["a", one, difference._replace(few=one.few)]])).note
    assert "about this world only" in alone
    assert "no verdict" not in alone
    nine = difference._replace(few=(Few("world", 9, 0.4, 0.6),))
    assert "no verdict" not in add_explanations(table._replace(rows=[["a", 1, nine]])).note
    assert (
        add_explanations(table._replace(rows=[["a", worlds._replace(few=())]])).note
        == f"As it is. {INTERVALS}"
    )
    assert add_explanations(table._replace(rows=[["a", 1, 2]])).note == "As it is."


def test_an_interval_about_another_middle_shows_its_ends():
    assert format_cell(Estimate(1.0, 0.48, 1.0, 9)) == "1.00 [0.48, 1]"
    assert format_cell(Estimate(0.0, 0.0, 0.26, 9)) == "0.00 [0, 0.26]"
    assert format_cell(Estimate(-0.1, -1.5, 0.0, 9)) == "-0.10 [-1.50, 0]"
    assert format_cell(Estimate(0.98, 0.9, 1.0, 9)) == "0.98 [0.90, 1]"
    assert format_cell(Estimate(0.99, 0.98, 1.0, 9)) == "0.99 ± 0.01"
    assert format_cell(Estimate(0.5, 0.35, 0.6, 9)) == "0.50 ± 0.12"


@given(st.integers(1, 3 * PAGE + 1))
def test_long_latex_tables_go_on_without_losing_a_row(count):
    made = latex_table(Table("t", "T", ["n", "x"], [[f"row {i}", 1] for i in range(count)]))
    assert re.findall(r"row (\d+) &", made) == [str(i) for i in range(count)]
    assert made.count(r"\begin{table}") == made.count(r"\end{table}") == -(-count // PAGE)
    labels = re.findall(r"\\label\{(.*?)\}", made)
    assert len(set(labels)) == len(labels)


def test_what_would_be_detected_is_detected_as_often_as_said():
    """Two independent means that differ by just that much: found in 80% of 4,000 draws, to 5 deviations."""
    half = 0.3
    cell = Estimate(0.5, 0.5 - half, 0.5 + half, 9)
    table = add_detectable_row(Table("k", "t", ["editor", "edits", "m"], [["a", 9, cell], ["b", 9, cell]]))
    ((words, edits, least),) = table.foot
    assert (words, edits) == ("smallest detectable difference", None)
    rng, error = np.random.default_rng(0), half / 1.96
    first, second = rng.normal(0, error, 4000), rng.normal(least, error, 4000)
    detected = np.abs(second - first) > 1.96 * np.sqrt(2) * error
    assert abs(detected.mean() - 0.8) < 5 * np.sqrt(0.8 * 0.2 / 4000)
    assert add_detectable_row(table._replace(foot=[["x", 1, 2.0]])).foot == [["x", 1, 2.0]]
    words_only = Table("k", "t", ["editor", "edits"], [["a", 9]])
    assert add_detectable_row(words_only) is words_only


def distance(better, value):
    """How far a value is from the best there could be; all that a reader needs to know of a direction."""
    return {"high": -value, "low": value, "one": abs(value - 1)}[better]


values = st.one_of(st.none(), st.just(math.nan), st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5, 2.0]))


@given(
    st.lists(st.tuples(values, values, values), min_size=1, max_size=5),
    st.permutations(["high", "low", "one"]),
    st.integers(0, 6),
)
def test_the_best_of_each_column_stand_out(rows, directions, contest):
    """Those that no other of the rows that compete beats, unless all are alike; references never do."""
    cells = [
        [f"row {i}", *(v if v is None else Estimate(v, v - 0.1, v + 0.1, 9) for v in row), i]
        for i, row in enumerate(rows)
    ]
    header, better = ["editor", "x", "y", "z", "edits"], dict(zip("xyz", directions, strict=True))
    competing = range(len(cells))[:contest]
    table = Table("t", "T", header, cells, better=better, contest=competing)
    for column, name in enumerate(header):
        for i in range(len(cells)):
            known = {
                j: distance(better[name], cell_number(other[column]))
                for j, other in enumerate(cells[:contest])
                if name in better and cell_number(other[column]) is not None
            }
            wins = i in known and all(known[i] <= other for other in known.values())
            assert ((i, column) in table.best_cells) == (wins and len(set(known.values())) > 1), (i, name)
    shown_bold = {
        (i, j)
        for i, line in enumerate(markdown_section(table).splitlines()[4:])
        for j, cell in enumerate(line.strip("| ").split(" | "))
        if cell.startswith("**")
    }
    assert shown_bold == table.best_cells
    assert latex_table(table).count(r"\textbf{") == len(table.best_cells)


def test_who_says_nothing_where_it_is_in_doubt_is_named_best_nowhere():
    """Under LEME, who wrote only what it was sure of stood out before."""
    rows = [["quiet", Estimate(1.0, 0.9, 1.0, 5)], ["a", Estimate(0.6, 0.5, 0.7, 18)],
            ["b", Estimate(0.5, 0.4, 0.6, 17)]]  # fmt: skip
    table = Table("t", "T", ["editor", "x"], rows, better={"x": "high"}, contest=range(3))
    assert table.best_cells == {(1, 1)}
    assert table.ranks == {1: {1: 1, 2: 2}}


def test_heads_say_what_is_better():
    better = better_of([MetricDefinition(f"m {way}", "A test.", way) for way in ("high", "low", "one")])
    table = Table(
        "t", "T", ["editor", *better, "edits"], [["a", 1.0, 1.0, 1.0, 3]], better=better, contest=[0]
    )
    assert table.heads == ["editor", "m high ↑", "m low ↓", "m one →1", "edits"]
    assert set(ARROWS) == set(better.values())
    assert "| m high ↑ |" in markdown_section(table)
    assert all(arrow in latex_table(table) for arrow in (r"$\uparrow$", r"$\downarrow$", r"$\to$1"))
    assert table.best_cells == set(), "one editor competes with nobody"


def test_a_table_says_how_much_is_behind_its_cells():
    few, more = Estimate(0.5, 0.4, 0.6, 18, 3), Estimate(0.6, 0.5, 0.7, 86, 52)
    rows = [["a", 9, few, None], ["b", 9, more, more]]
    table = add_case_counts(Table("k", "t", ["editor", "edits", "m", "n"], rows))
    assert table.foot[-1] == ["cases (clusters) behind a cell", "", "18 to 86 (3 to 52)", "86 (52)"]
    words_only = Table("k", "t", ["x"], [["a"]])
    assert add_case_counts(words_only) is words_only
    assert add_case_counts(add_detectable_row(table)).foot[:-1] == add_detectable_row(table).foot


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=2, max_size=5))
def test_ranks_are_how_many_are_better(rows):
    header, better = ["editor", "up", "down", "one"], {"up": "high", "down": "low", "one": "one"}
    lines = [[f"e{i}", *map(float, row)] for i, row in enumerate(rows)]
    table = Table("k", "t", header, lines, better=better, contest=range(len(rows)))
    good = [[row[0], -row[1], -abs(row[2] - 1)] for row in rows]
    for column in (1, 2, 3):
        for i in range(len(rows)):
            beaten_by = sum(other[column - 1] > good[i][column - 1] for other in good)
            assert table.ranks[column][i] == 1 + beaten_by
            tied = len({other[column - 1] for other in good}) == 1
            assert ((i, column) in table.best_cells) == (beaten_by == 0 and not tied)
    said = describe_winners(table)
    assert bool(said) == bool(table.best_cells)
    assert all(f"e{i}: best in" in said for i, _ in table.best_cells)


def test_the_worst_column_stands_beside_the_best():
    rows = [["a", 0.9, 0.5], ["b", 0.8, 0.1], ["c", 0.7, 0.3], ["no edit", 1.0, 0.0]]
    header, better = ["editor", "success", "damage"], {"success": "high", "damage": "low"}
    table = Table("k", "t", header, rows, better=better, contest=range(3))
    assert describe_winners(table) == (
        "a: best in success; worst in damage (rank 3 of 3). "
        "b: best in damage; worst in success (rank 2 of 3)."
    )
    assert describe_winners(table._replace(contest=())) == ""
    assert describe_winners(table._replace(contest=(1, 2))) == (
        "b: best in success, damage; nowhere worse."
    ), "a does not compete"


def test_nobody_stands_out_where_who_knows_nothing_is_as_good():
    rows = [["a", 0.0, 0.2], ["b", 0.3, 0.4], ["constant", 0.0, 0.5]]
    better = {"logic": "low", "truth": "low"}
    table = Table("k", "t", ["editor", "logic", "truth"], rows, better=better, contest=(0, 1))
    assert table.best_cells == {(0, 1), (0, 2)}
    assert table._replace(to_beat=(2,)).best_cells == {(0, 2)}
    missing = table._replace(rows=[*rows[:2], ["constant", None, None]], to_beat=(2,))
    assert missing.best_cells == table.best_cells
