"""The study of counting's thresholds: whose edits are whose, what is chosen, and where."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import stages
from experiments.studies.counting_frontier import (
    COLUMNS,
    FOLLOWS_AT,
    OURS,
    POINTS,
    Settings,
    choose_point,
    compare_points,
    edit_settings,
    estimate_point,
)
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.evaluations.hase.metrics import FOLLOWS, SKILL_RECALIBRATED, SUCCESS
from testbed.run.runs import Run
from testbed.scores.gather import gather_results
from testbed.scores.statistics import Estimate
from testbed.scores.summary import measure_readers
from testbed.settings import TuneSettings
from tests.edited import cases_of, rows_of, write_edits
from tests.runs import copied


def test_every_point_is_a_setting_of_its_own():
    options = Settings()
    run = options.world_runs[1]
    assert len(POINTS) == TuneSettings.trials, "the budget of every editor"
    by_point = {name: edit_settings(options, run, name) for name in options.points}
    for name, settings in by_point.items():
        counting = settings.configs["keyed-counting"]
        assert (counting.fewest, counting.majority, counting.unread) == POINTS[name]
    assert edit_settings(options, run, OURS).editors == (OURS,)
    first = by_point[options.points[0]]
    assert not stages.config_matcher(first)(
        {"editor": OURS, "settings": first.settings_as_data() | {"seed": 1}}
    )
    for wrong, match in (({"worlds": 1}, "one for development"), ({"points": ("fewest 9",)}, "some of")):
        with pytest.raises(ValueError, match=match):
            replace(options, **wrong)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1)), min_size=1, max_size=6))
def test_most_skill_is_chosen_where_success_is_enough(values):
    """Against a loop; `keyed` itself is no choice."""
    rows = {
        f"point {i}": {SUCCESS: Estimate(a, a, a, 9), SKILL_RECALIBRATED: Estimate(b, b, b, 9)}
        for i, (a, b) in enumerate(values)
    }
    best = max(success for success, _ in values)
    least = 0.98 if best >= 0.98 else best - 0.02
    able = [skill for success, skill in values if success >= least - 1e-12]
    one = Estimate(1.0, 1.0, 1.0, 9)
    chosen = choose_point({OURS: {SUCCESS: one, SKILL_RECALIBRATED: one}, **rows})
    assert rows[chosen][SKILL_RECALIBRATED].value == max(able)


def test_supports_divide_the_consequences(built, tmp_path):
    run = Run(copied(built, tmp_path), "x")
    write_edits(run, "lora-down", rows_of(run, cases_of(run, 24), 0.5))
    (edits,) = gather_results([run], recorded_evaluation_named("hase"))
    row = estimate_point(edits)
    assert {*row} == {*COLUMNS}
    metric = measure_readers(edits.evaluation, edits.results, edits.name)[edits.name][FOLLOWS]
    among = ~edits.results.cases["reinforces"]
    parts = [row[name] for name in FOLLOWS_AT.values() if row[name].cases]
    whole = metric.numerator[among].sum(), metric.denominator[among].sum()
    assert sum(part.cases for part in parts) == whole[1] > 0
    assert np.isclose(sum(part.value * part.cases for part in parts), whole[0])


def test_a_point_that_is_the_same_differs_by_nothing(built, tmp_path):
    run = Run(copied(built, tmp_path), "x")
    write_edits(run, "lora-down", rows_of(run, cases_of(run, 24), 0.5))
    (edits,) = gather_results([run], recorded_evaluation_named("hase"))
    differences = compare_points(edits, edits)
    assert {*differences} == {*COLUMNS}
    assert all(of.difference == 0 for of in differences.values() if of.cases)
