"""--json: standard output is one JSON object that says what the tables say, with numbers as numbers."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed import __main__ as overview
from testbed import ask, corpus, edit, export, report, train, verify
from testbed.cells import Shown, as_json, show_number
from testbed.console import print_json, print_table, say
from tests.runs import EDITS, RECIPE, WORLD, at, copied

QUESTION = ["Ada Marlow educated at", "--edit", "Ada Marlow educated at = Quintal College", "--top", "3"]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below) | below.map(lambda v: Shown("text", v)),
)


@given(values)
def test_any_cell_is_json(value):
    assert json.loads(json.dumps(as_json(value), allow_nan=False)) == as_json(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_kept_to_the_last_bit(value):
    for cell in (value, np.float64(value), show_number(value, ".1f"), Shown("about", value)):
        assert json.loads(json.dumps(as_json(cell))) == value


def test_what_is_no_number_is_null_and_shown_as_nothing():
    assert as_json(show_number(float("nan"), ".2f")) is None
    assert str(show_number(float("nan"), ".2f")) == ""
    assert as_json([np.inf, np.int32(7)]) == [None, 7]


def test_lines_and_tables_are_one_object(capsys):
    with print_json():
        say("first")
        print_table("numbers", ("", "count"), [("a", 1234)])
    out, error = capsys.readouterr()
    assert json.loads(out) == {
        "tables": [{"title": "numbers", "columns": ["", "count"], "rows": [["a", 1234]]}],
        "lines": ["first"],
    }
    assert error == "first\n"
    print_table("numbers", ("", "count"), [("a", 1234)])
    assert "1,234" in capsys.readouterr().out


def count_numbers(cell):
    below = cell.values() if isinstance(cell, dict) else cell if isinstance(cell, list) else ()
    return isinstance(cell, int | float) + sum(map(count_numbers, below))


RUNS = {
    "corpus": (corpus.main, [*WORLD, "--stats"]),
    "train": (train.main, RECIPE),
    "edit": (edit.main, EDITS),
    "report": (report.main, []),
    "ask": (ask.main, QUESTION),
    "structure": (ask.main, ["--structure"]),
    "export": (export.main, []),
}


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.parametrize("name", RUNS)
def test_commands_say_the_same_in_json(name, finished, tmp_path, capsys, monkeypatch):
    """Every cell that people read is that of the JSON object, rounded; and there are numbers."""
    monkeypatch.setenv("COLUMNS", "400")
    main, args = RUNS[name]
    runs = copied(finished, tmp_path)
    assert main([*args, *at(runs)]) == 0
    text = capsys.readouterr().out
    assert main([*args, *at(runs), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert sum(count_numbers(table["rows"]) for table in document["tables"]) >= 3
    words = set(re.split(r"\s{2,}|\n", text))
    for table in document["tables"]:
        assert table["title"] in text
        for row in table["rows"]:
            assert len(row) == len(table["columns"])
            for cell in row:
                if isinstance(cell, int):
                    assert f"{cell:,}" in text
                if isinstance(cell, str) and cell:
                    assert any(cell in word for word in words)
                if isinstance(cell, dict) and "object" in cell:
                    assert f"{cell['probability']:.2f} {cell['object']}" in text
                if isinstance(cell, dict) and "value" in cell and cell["value"] is not None:
                    assert f"{cell['value']:.2f}" in text


def test_a_damaged_run_is_told_in_json_too(finished, tmp_path, capsys):
    runs = copied(finished, tmp_path)
    (runs / "x" / "world" / "names.json").write_text("{}", encoding="utf-8")
    assert verify.main([*at(runs), "--json"]) == 2
    out, error = capsys.readouterr()
    states = dict(json.loads(out)["tables"][0]["rows"])
    assert states["world"] == "DAMAGED"
    assert states["lm/finished.json"] == "whole"
    assert "damaged" in error


def test_bad_options_print_no_json(capsys):
    assert overview.main(["--json", "--runs", "nowhere"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"][1]["rows"] == []
    with pytest.raises(SystemExit):
        overview.main(["--json", "--nothing"])
    assert capsys.readouterr().out == ""
