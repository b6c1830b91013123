"""The experiment of equal strength: what was reached, what is shown, and a picture of it."""

import numpy as np
import pytest

from corpus.errors import InputError
from experiments.studies.strength import (
    NO_DIAL,
    Settings,
    _choose_metrics,
    _edit_settings,
    _is_of_study,
    _measure_point,
    draw_strengths,
    request_probability,
    strength_table,
)
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.evaluations.hase.metrics import METRICS
from testbed.run.runs import Run
from testbed.scores.gather import gather_results
from testbed.scores.metric import metrics_shown_in
from testbed.scores.summary import score_editors
from testbed.scores.tables import markdown_section
from tests.edited import cases_of, rows_of, write_edits
from tests.runs import copied


@pytest.fixture
def editors(built, tmp_path):
    """One at two strengths and one without a dial, of edits that nobody made."""
    run = Run(copied(built, tmp_path), "x")
    cases = cases_of(run, 12)
    for follows, strength in ((0.2, 0.5), (0.6, 0.9)):
        write_edits(run, "lora-down", rows_of(run, cases, follows), strength=strength)
    write_edits(run, "in-context", rows_of(run, cases, 0.4), strength=None)
    return score_editors(gather_results([run], recorded_evaluation_named("hase")))


def test_what_was_reached_is_the_requests_own_probability(editors):
    for editor in editors:
        results = editor.edits.results
        reached = request_probability(results)
        for k, (s, r, o) in enumerate(
            zip(*(results.cases[n].tolist() for n in ("subject", "relation", "object")), strict=True)
        ):
            (q,) = (q for q in np.flatnonzero(results.choices.case == k) if results.choices.role[q] == "s1r1")
            assert (results.choices.subject[q], results.choices.relation[q]) == (s, r)
            p = dict(zip(results.choices.options[q].tolist(), results.choices.lm[q, 1].tolist(), strict=True))
            assert reached[k] == pytest.approx(p[o])


def test_a_row_and_a_line_for_each(editors, tmp_path):
    metrics = _choose_metrics(METRICS, ("damage", "propagation"))
    points = [_measure_point(editor, [m.name for m in metrics]) for editor in editors]
    assert {(p.editor, p.strength) for p in points} == {
        ("lora-down", 0.5), ("lora-down", 0.9), ("in-context", None),
    }  # fmt: skip
    for point, editor in zip(points, editors, strict=True):
        p = request_probability(editor.edits.results)
        assert point.reached.value == pytest.approx(p.mean())
        if point.strength is None:
            assert point.within is None
        else:
            assert point.within.value == pytest.approx((p >= point.strength - 0.02).mean())
        assert set(point.estimates) == {m.name for m in metrics}
    made = strength_table(points, metrics)
    assert len(made.rows) == 3
    assert "| in-context | none |" in markdown_section(made)
    draw_strengths(points, [metric.name for metric in metrics], tmp_path / "strength.png")
    assert (tmp_path / "strength.png").stat().st_size > 1000


def test_metrics_are_named_by_the_evaluation():
    names = [m.name for m in _choose_metrics(METRICS, Settings().show)]
    assert names
    assert set(names) <= set(metrics_shown_in(METRICS, "table"))
    with pytest.raises(InputError, match="no metric is called anything like nothing"):
        _choose_metrics(METRICS, ("nothing",))


def test_every_editor_is_asked_at_every_strength_that_it_can_have():
    options = Settings(editors=("rome", *NO_DIAL), strengths=(0.5, 0.9))
    asked = list(_edit_settings(options))
    assert [(a.editors[0], a.strength) for a in asked] == [
        ("rome", 0.5), ("rome", 0.9), *((name, None) for name in NO_DIAL),
    ]  # fmt: skip
    for one in asked:
        config = {"editor": one.editors[0], "settings": one.settings_as_data()}
        assert _is_of_study(options, config)
        for other in ({"cases": {"count": 7}}, {"seed": 5}, {"strength": 0.7}, {"batch": 2}):
            assert not _is_of_study(options, config | {"settings": config["settings"] | other})
