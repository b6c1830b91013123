"""The study of edits at names: whose cells are whose, and what of a sequence is the latest."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import stages
from experiments.studies.lasting import (
    COLUMNS,
    SOURCES,
    STORAGES,
    Settings,
    are_latest,
    cell_settings,
    cross_table,
    edit_settings,
    editor_table,
)
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.evaluations.hase.metrics import CONTRADICTS, SUCCESS
from testbed.run.runs import Run
from testbed.scores.gather import gather_results
from testbed.scores.summary import score_editors
from tests.edited import cases_of, rows_of, write_edits
from tests.runs import copied


def test_every_cell_is_a_setting_of_its_own():
    options = Settings()
    run = options.report_runs[0]
    assert run.name == "demo-worlds-1", "settings were found on the first"
    cells = [cell_settings(options, run, source, storage) for source in SOURCES for storage in STORAGES]
    fits = {(one.editors, one.configs[one.editors[0]].fit) for one in cells}
    assert len(fits) == len(cells)
    keyed = cell_settings(options, run, "self-bayes", "keyed")
    assert keyed.configs["keyed"] == edit_settings(options, run, ("keyed",)).configs["keyed"]
    with pytest.raises(ValueError, match="behind the first"):
        replace(options, worlds=2)
    config = {"editor": "keyed", "settings": keyed.settings_as_data() | {"seed": 7}}
    assert not stages.config_matcher(keyed)(config | {"editor": "lora-down"})


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=12))
def test_the_latest_edit_of_a_fact_is_the_last_in_its_sequence(edits):
    """Against a loop; two sequences, three subjects, two relations."""
    sequence, subject, relation = np.array(edits).T
    position = np.arange(len(edits))
    cases = {"cluster": sequence, "subject": subject, "relation": relation, "position": position}
    expected = [edit not in edits[i + 1 :] for i, edit in enumerate(edits)]
    assert are_latest(cases).tolist() == expected
    mixed = np.random.default_rng(0).permutation(len(edits))
    shuffled = are_latest({name: values[mixed] for name, values in cases.items()})
    assert shuffled.tolist() == [expected[i] for i in mixed]


def test_tables_show_what_editors_did(built, tmp_path):
    run = Run(copied(built, tmp_path), "x")
    cases = cases_of(run, 12)
    for editor, follows in (("lora-down", 0.9), ("keyed", 0.2)):
        write_edits(run, editor, rows_of(run, cases, follows))
    editors = score_editors(gather_results([run], recorded_evaluation_named("hase")))
    table = editor_table(editors, "a", "b")
    assert [row[0] for row in table.rows][:2] == [one.name for one in editors]
    for row, one in zip(table.rows, editors, strict=False):
        assert row[2 + COLUMNS.index(SUCCESS)] == one.summary[CONTRADICTS][one.name][SUCCESS]
    crossed = cross_table({("counting", "row"): editors[0], ("self-bayes", "keyed"): editors[1]}, "a")
    assert [row[:2] for row in crossed.rows] == [["counting", "row"], ["self-bayes", "keyed"]]
