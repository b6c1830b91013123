"""The study of the demo's table over worlds: which edits are its own, and that its rows are theirs."""

from dataclasses import replace

import pytest

from experiments.studies.demo_worlds import COLUMNS, EDITORS, Settings, editor_table, world_table
from testbed.engine.catalogue import editor_entries
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.evaluations.hase.metrics import CONTRADICTS, FOLLOWS, REPEATS, SUCCESS
from testbed.run.runs import Run
from testbed.scores.gather import gather_results
from testbed.scores.summary import score_editors
from tests.edited import cases_of, rows_of, write_edits
from tests.runs import copied


@pytest.fixture
def by_world(built, tmp_path):
    """Two editors of two runs, the first of whom follows more."""
    worlds = []
    for number, name in enumerate(("a", "b")):
        run = Run(copied(built, tmp_path / name), "x")
        cases = cases_of(run, 12)
        for editor, follows in (("lora-down", 0.9), ("rome", 0.1 + 0.2 * number)):
            write_edits(run, editor, rows_of(run, cases, follows))
        worlds.append(score_editors(gather_results([run], recorded_evaluation_named("hase"))))
    return worlds


def test_every_editor_of_the_catalogue_takes_part():
    assert {*editor_entries()} - {*EDITORS} <= {
        "memit", "retrain", "self-bayes-told", "oracle-world",
        "keyed", "keyed-counting", "keyed-request", "keyed-told", "keyed-oracle",
        "keyed-forms", "keyed-face-value",
    }  # fmt: skip
    assert len({*EDITORS}) == len(EDITORS)


def test_rows_are_those_of_editors_and_then_of_references(by_world):
    editors = by_world[0]
    for subset in (CONTRADICTS, REPEATS, "all"):
        table = editor_table(editors, subset)
        assert table.header == ["editor", *COLUMNS]
        assert [row[0] for row in table.rows] == [
            *(one.name for one in editors), *editors[0].reference_names
        ]  # fmt: skip
        for row, one in zip(table.rows, editors, strict=False):
            assert row[1 + COLUMNS.index(SUCCESS)] == one.summary[subset][one.name][SUCCESS]


def test_each_world_has_its_column(by_world):
    table = world_table(by_world, FOLLOWS)
    assert table.header == ["editor", "seed 0", "seed 1"]
    for row, *of_worlds in zip(table.rows, *by_world, strict=True):
        assert row[1:] == [one.summary[CONTRADICTS][one.name][FOLLOWS] for one in of_worlds]


def test_a_world_has_a_run_of_its_own():
    options = replace(Settings(), worlds=3)
    assert [run.name for run in options.world_runs] == ["demo-worlds-0", "demo-worlds-1", "demo-worlds-2"]
    assert options.command == "python -m experiments.demo_worlds --worlds 3"
