"""The page of handed-in scorecards: who stands where, what is refused, and names that are text."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed import report
from testbed.commands.cards import CheckedCard
from testbed.commands.leaderboard import list_entries
from testbed.pages.leaderboard import show_number, write_leaderboard
from testbed.scores.card_format import FORMAT, Card, CardMethod, CardWorld
from testbed.suite import read_suite
from tests.runs import ROOT, complaint

HOSTILE = "</script><img src=x onerror=\"alert('ran')\">\u202e\u05d3"
NUMBERS = st.floats(-9, 9) | st.none()


ROW = {"says": "What follows.", "kind": "k", "worlds": ["w"], "metric": "m", "better": "high"}
ROWS = [{"row": name, **ROW} for name in ("follows", *map(str, range(18)))]


def number(value, verdict="unsure"):
    over = {"difference": value, "low": value, "high": None, "verdict": verdict}
    return {"value": value, "low": None, "high": value, "cases": 9, "over no edit": over}


def numbers_of(name, better=0, worse=0, value=0.5):
    verdicts = ["unsure", *["better"] * better, *["worse"] * worse]
    verdicts += ["unsure"] * (len(ROWS) - len(verdicts))
    numbers = {row["row"]: number(value, verdict) for row, verdict in zip(ROWS, verdicts, strict=True)}
    return {"editor": name, "rows surely better": better, "rows surely worse": worse, "numbers": numbers}


def checked(folder, name, better=1, worse=0):
    """A card of one row that holds."""
    method = CardMethod(name, {}, 1)
    world = CardWorld("a", "b", "c", {}, "d", 0.9)
    card = Card(
        1, "v1", "suite v1", name, {"w": method}, {"w": world}, [], [], {"revision": "r"}, "2026-11-25"
    )
    return CheckedCard(folder, card, numbers_of(name, better, worse), ROWS, False, {"w": 0.5})


@given(st.lists(st.tuples(st.text(max_size=6), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6))
def test_everybody_stands_once_in_the_order_of_rows(tmp_path_factory, editors):
    folder = tmp_path_factory.mktemp("handed")
    cards = [checked(folder / f"f{i}", *one) for i, one in enumerate(editors)]
    entries = list_entries(cards, [numbers_of("none")], {}, "an agent", ROWS)
    names = {one[0] for one in editors} | {"none"}
    assert len(entries) == len(cards) + 1
    assert len({entry.name for entry in entries}) == len(entries) >= len(names)
    shares = [entry.counts["k"].share for entry in entries]
    assert shares == sorted(shares, reverse=True)


def test_what_colour_means_is_said_in_signs_and_what_was_handed_in_is_shown(tmp_path):
    one, none = checked(tmp_path / "a", "one"), numbers_of("none")
    one.card.methods["w"].settings["inner"] = {"learning_rate": 0.5}
    for numbers, verdict in ((one.made, "better"), (none, "worse")):
        numbers["numbers"]["follows"]["over no edit"]["verdict"] = verdict
    entries = list_entries([one], [none], {}, "an agent", ROWS)
    html = write_leaderboard(tmp_path, "v1", "suite v1", ROWS[:1], entries).read_text(encoding="utf-8")
    assert re.findall(r'class="(better|worse)".*?<small>(.)', html) == [("better", "▲"), ("worse", "▼")]
    assert "settings: learning rate 0.5; " in html
    assert "seconds an edit: 0.5 to 0.5; " in html
    assert "what it changes: control: nothing, the floor of every table." in html


def test_the_page_and_data_have_everybody_and_what_was_left_out(tmp_path):
    cards = [checked(tmp_path / "a", "one", 3, 0), checked(tmp_path / "b", "two", 0, 2)]
    (tmp_path / "a" / "explorer").mkdir(parents=True)
    (tmp_path / "a" / "explorer" / "index.html").write_text("")
    marks = {"a": {"private twin": "does not bear out follows"}}
    entries = list_entries(cards, [numbers_of("none")], marks, "an agent", ROWS)
    page = write_leaderboard(tmp_path, "v1", "suite v1", ROWS, entries, ["c is left out: of another suite"])
    html = page.read_text(encoding="utf-8")
    data = json.loads((tmp_path / "leaderboard.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in data["editors"]] == ["one", "none", "two"]
    assert [html.index(f">{name}<") for name in ("one", "none", "two")] == sorted(
        html.index(f">{name}<") for name in ("one", "none", "two")
    )
    assert re.findall(r'href="([^"]+)"', html) == ["a/explorer/index.html"]
    for said in ("guest: one", "private twin: does not bear out follows", "c is left out: of another suite"):
        assert said in html


def test_names_are_text(tmp_path):
    entries = list_entries([checked(tmp_path / "a", HOSTILE)], [], {}, HOSTILE, ROWS)
    html = write_leaderboard(tmp_path, HOSTILE, HOSTILE, ROWS, entries, [HOSTILE]).read_text(encoding="utf-8")
    assert "<img" not in html
    assert html.count("<script") == html.count("</script>") == 1


def test_a_folder_of_nothing_says_what_makes_a_card(tmp_path, capsys):
    (tmp_path / "a").mkdir()
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert report.main(["--leaderboard", str(folder)]) == 2
        assert "testbed.examine" in complaint(capsys)
    (tmp_path / "a" / "scorecard.json").write_text("{}")
    assert report.main(["--leaderboard", str(tmp_path)]) == 2
    assert "no scorecard.json" in complaint(capsys)
    assert not (tmp_path / "index.html").exists()


@given(NUMBERS, NUMBERS, NUMBERS)
def test_numbers_that_are_missing_are_shown_as_such(value, low, high):
    text = show_number({"value": value, "low": low, "high": high})
    assert (text == "-") == (value is None)
    assert ("[" in text) == (None not in (value, low, high))


def test_the_page_in_the_docs_is_what_an_empty_folder_gets(tmp_path):
    """Rows and references of the latest suite, in the order of rows; both files are small."""
    docs = ROOT / "docs"
    assert report.main(["--leaderboard", str(tmp_path), "--runs", str(tmp_path / "runs")]) == 0
    shown, made = (
        json.loads((folder / "leaderboard.json").read_text(encoding="utf-8")) for folder in (docs, tmp_path)
    )
    assert (shown["format"], shown["suite"], shown["rows"]) == (FORMAT, made["suite"], made["rows"])
    names = [editor["name"] for editor in shown["editors"]]
    assert names == [editor["name"] for editor in made["editors"]]
    assert {"keyed", "keyed-request", "none"} < {*names} == {*read_suite(made["suite"], ROOT).references}
    for one, again in zip(shown["editors"], made["editors"], strict=True):
        values = [[number["value"] for number in of["numbers"].values()] for of in (one, again)]
        assert np.array(values[0], float) == pytest.approx(np.array(values[1], float), nan_ok=True)
    page = (docs / "leaderboard.html").read_text(encoding="utf-8")
    assert all(name in page for name in names)
    assert max((docs / f"leaderboard.{kind}").stat().st_size for kind in ("html", "json")) <= 200_000
