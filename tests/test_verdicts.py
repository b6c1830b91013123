"""Verdicts on printed figures: one rule, from two numbers, an interval and how many edits there are."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from experiments.verdicts import DIFFERS, FEWEST, OPEN, SAME, fill_verdicts, judge, read_level

PAPERS = Path(__file__).parents[1] / "docs" / "findings" / "papers.md"
SHARES = st.floats(0, 1).map(lambda x: round(x, 2))
HALVES = st.floats(0, 0.4).map(lambda x: round(x, 2))


def level(value, half):
    return f"{value:.2f} ± {half:.2f}"


def test_each_verdict_of_the_page_is_the_rule_s():
    text = PAPERS.read_text(encoding="utf-8")
    assert fill_verdicts(text) == text, "run python -m experiments.docs"
    cells = [line.split("|")[-2] for line in text.split("\n") if line.startswith("|")]
    verdicts = [cell.partition(",")[0].strip() for cell in cells]
    assert all(verdicts.count(one) > 5 for one in (SAME, DIFFERS, OPEN))


@given(SHARES, SHARES, HALVES, st.integers(0, FEWEST - 1))
def test_few_edits_tell_nothing(printed, ours, half, edits):
    assert judge(str(printed), level(ours, half), edits) == OPEN


@given(SHARES, SHARES, HALVES)
def test_a_figure_far_off_is_never_the_same_and_its_own_never_differs(printed, ours, half):
    verdict = judge(f"{printed:.2f}", level(ours, half), 100)
    if abs(printed - ours) > half + 0.07:
        assert verdict == DIFFERS
    if abs(printed - ours) <= 0.05:
        assert verdict == SAME
    assert judge(f"{ours:.2f}", level(printed, half), 100) == verdict, "the rule has no favourite"


@given(SHARES, SHARES, HALVES, HALVES)
def test_a_change_has_the_verdict_of_its_direction(before, after, first, second):
    ours = f"{level(before, first)} to {level(after, second)}"
    up, down = judge("1.0 to 2.0", ours, 100), judge("2.0 to 1.0", ours, 100)
    assert (up, down) != (SAME, SAME)
    if abs(after - before) > first + second:
        assert {up, down} == {SAME, DIFFERS}
        assert (up == SAME) == (after > before)


def test_by_hand():
    assert judge("0.23", "0.95 ± 0.01", 2664) == DIFFERS
    assert judge("0.90", "0.84 ± 0.11", 49) == OPEN, "it holds the printed one, and much else"
    assert judge("0.34", "0.17 ± 0.02", 400) == DIFFERS
    assert judge("0.52", "0.50", 400) == OPEN, "nothing is said without an interval"
    assert judge("9 of 73", "0 of 19", 150) == OPEN, "of 19 cells"
    assert judge("9 of 73", "40 of 60", 150) == DIFFERS
    assert judge("5.4 to 4.4", "1.00 ± 0.00 to 0.99 ± 0.01", 90) == DIFFERS, "nothing changes here"
    assert judge("by -0.05", "by -0.12 ± 0.16", 120) == OPEN
    assert read_level("0.98 [0.91, 1]") == (0.98, 0.91, 1.0)
    with pytest.raises(ValueError, match="no figure"):
        judge("yes", "0.5 ± 0.1", 100)


def test_a_verdict_names_the_record_that_has_the_figure():
    page = (
        "<!-- command: python -m experiments.table4, "
        "record 2026-11-23-table4, 2026-11-26-table4-paper-6 -->\n"
        "| what | printed | ours | edits | verdict |\n|---|---|---|---|---|\n"
        "| accuracy s1r1 | 1.00 | {} | 5000 | {} |"
    )
    last = "2026-11-26-table4-paper-6"
    assert fill_verdicts(page.format("0.97 ± 0.01", f"?, {last}")).endswith(f"| same, {last} |")
    assert fill_verdicts(page.format("1.00 ± 0.01", "?")).endswith("| same, 2026-11-23-table4 |")
    with pytest.raises(InputError, match=f"{last}: no such record has '7.50 ± 0.01'"):
        fill_verdicts(page.format("7.50 ± 0.01", f"same, {last}"))


def test_only_tables_of_verdicts_are_filled():
    head = "| what | printed | ours | edits | verdict |\n|---|---|---|---|---|\n"
    table = head + "| x | 0.5 | 0.5 ± 0.1 | 1,000 | {} |"
    assert fill_verdicts(table.format("anything")) == table.format(SAME)
    other = "| a | b |\n|---|---|\n| 1 | 2 |"
    assert fill_verdicts(other) == other
