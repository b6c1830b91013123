"""The page of handed-in scorecards: who stands where, what is refused, and names that are text."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from testbed import report
from testbed.pages.leaderboard import list_entries, read_card, show_number, write_leaderboard
from testbed.scorecard import ROWS
from testbed.scores.card_format import FORMAT
from testbed.suite import REFERENCES
from tests.runs import ROOT, complaint

HOSTILE = "</script><img src=x onerror=\"alert('ran')\">\u202e\u05d3"
NUMBERS = st.floats(-9, 9) | st.none()


def number(value, verdict="unsure"):
    over = {"difference": value, "low": value, "high": None, "verdict": verdict}
    return {"value": value, "low": None, "high": value, "cases": 9, "over no edit": over}


def card(name, better=1, worse=0, **changes):
    """A card of one row, with a reference beside the editor."""
    rows = [{"row": "follows", "says": "What follows.", "worlds": ["w"], "metric": "m", "better": "high"}]
    editors = [
        {
            "editor": who,
            "rows surely better": up,
            "rows surely worse": down,
            "numbers": {"follows": number(x)},
        }
        for who, up, down, x in ((name, better, worse, 0.5), ("none", 0, 0, 0.0))
    ]
    worlds = {"w": {"world": "a", "corpus": "b", "cases": "c"}}
    return {"format": FORMAT, "suite": "v1", "title": "suite v1", "examined": name, "rows": rows,
            "editors": editors, "methods": {"w": {"editor": "lm.editors.x:X", "settings": {}}},
            "worlds": worlds, "made_with": {"revision": "r"}, "date": "2026-11-25"} | changes  # fmt: skip


def hand_in(folder, **cards):
    for name, content in cards.items():
        (folder / name).mkdir()
        (folder / name / "scorecard.json").write_text(json.dumps(content), encoding="utf-8")


@given(st.lists(st.tuples(st.text(max_size=6), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6))
def test_everybody_stands_once_in_the_order_of_rows(tmp_path_factory, editors):
    cards = {f"f{i}": card(*one) for i, one in enumerate(editors) if one[0] != "none"}
    if not cards:
        return
    entries = list_entries(tmp_path_factory.mktemp("handed"), cards)
    assert len(entries) == len(cards) + 1
    assert len({entry.name for entry in entries}) == len(entries)
    nets = [entry.better - entry.worse for entry in entries]
    assert nets == sorted(nets, reverse=True)


def test_what_colour_means_is_said_in_signs_and_what_was_handed_in_is_shown(tmp_path):
    one = card("one", methods={"w": {"editor": "my:E", "settings": {"inner": {"learning_rate": 0.5}}}})
    one |= {"seconds": {"w": 0.25}}
    for editor, verdict in zip(one["editors"], ("better", "worse"), strict=True):
        editor["numbers"]["follows"]["over no edit"]["verdict"] = verdict
    hand_in(tmp_path, a=one)
    page, _ = write_leaderboard(tmp_path)
    html = page.read_text(encoding="utf-8")
    assert re.findall(r'class="(better|worse)".*?<small>(.)', html) == [("better", "▲"), ("worse", "▼")]
    assert "settings: learning rate 0.5; " in html
    assert "seconds an edit: 0.25 to 0.25; " in html
    assert "what it changes: control: nothing, the floor of every table; " in html


def test_the_command_writes_page_and_data(tmp_path, capsys):
    hand_in(tmp_path, a=card("one", 3, 0), b=card("two", 0, 2), c=card("three", suite="v2"),
            d=card("four", worlds={"w": {"world": "other", "corpus": "b", "cases": "c"}}))  # fmt: skip
    (tmp_path / "a" / "explorer").mkdir()
    (tmp_path / "a" / "explorer" / "index.html").write_text("")
    assert report.main(["--leaderboard", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "c is left out: of another suite" in said
    assert "d is left out: of other worlds (w) than a" in said
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    data = json.loads((tmp_path / "leaderboard.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in data["editors"]] == ["one", "none", "two"]
    assert [html.index(f">{name}<") for name in ("one", "none", "two")] == sorted(
        html.index(f">{name}<") for name in ("one", "none", "two")
    )
    assert re.findall(r'href="([^"]+)"', html) == ["a/explorer/index.html"]
    assert "native: lm.editors.x:X" in html


def test_names_are_text(tmp_path):
    hand_in(tmp_path, a=card(HOSTILE))
    path, _ = write_leaderboard(tmp_path)
    html = path.read_text(encoding="utf-8")
    assert "<img" not in html
    assert html.count("<script") == html.count("</script>") == 1


@pytest.mark.parametrize(
    "change",
    [{"format": 2}, {"rows": 3}, {"editors": []}, {"worlds": {"w": {}}}, {"examined": "somebody"},
     {"methods": None}, {"methods": {"../w": {"editor": "x"}}}, {"made_with": []}],
)  # fmt: skip
def test_what_is_no_card_is_refused_by_name(tmp_path, capsys, change):
    hand_in(tmp_path, a=card("one", **change))
    with pytest.raises(InputError, match=r"scorecard\.json"):
        read_card(tmp_path / "a" / "scorecard.json")
    assert report.main(["--leaderboard", str(tmp_path)]) == 2
    assert "scorecard.json" in complaint(capsys)
    assert not (tmp_path / "index.html").exists()


def test_a_folder_of_nothing_says_what_makes_a_card(tmp_path, capsys):
    assert report.main(["--leaderboard", str(tmp_path)]) == 2
    assert "testbed.examine" in complaint(capsys)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_numbers_that_are_missing_are_shown_as_such(value, low, high):
    text = show_number({"value": value, "low": low, "high": high})
    assert (text == "-") == (value is None)
    assert ("[" in text) == (None not in (value, low, high))


def test_the_page_in_the_docs_is_of_the_frozen_suite():
    """Its rows are those of the card, its control stands last, and both files are small."""
    docs = ROOT / "docs"
    content = json.loads((docs / "leaderboard.json").read_text(encoding="utf-8"))
    assert (content["format"], content["suite"]) == (FORMAT, "v1")
    assert [row["row"] for row in content["rows"]] == [row.name for row in ROWS]
    names = [editor["name"] for editor in content["editors"]]
    assert names[-1] == "random-target"
    assert {*REFERENCES, "keyed"} < set(names)
    page = (docs / "leaderboard.html").read_text(encoding="utf-8")
    assert all(name in page for name in names)
    assert max((docs / f"leaderboard.{kind}").stat().st_size for kind in ("html", "json")) <= 200_000
