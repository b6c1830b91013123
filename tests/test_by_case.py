"""Cases kept with a record: the intervals that they come to again are those of the scores."""

import csv

import pytest

from experiments import by_case, redraw
from experiments.by_case import CASES, read_estimates, write_cases
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.evaluations.hase.metrics import CONTRADICTS
from testbed.run.runs import Run
from testbed.scores.frame import ALL
from testbed.scores.gather import gather_results
from testbed.scores.summary import score_editors
from tests.edited import cases_of, rows_of, write_edits
from tests.runs import copied


@pytest.fixture(scope="module")
def editors(built, tmp_path_factory):
    """Two editors of one model."""
    run = Run(copied(built, tmp_path_factory.mktemp("edited")), "x")
    cases = cases_of(run, 24)
    for name, follows in (("lora-down", 0.2), ("rome", 0.9)):
        write_edits(run, name, rows_of(run, cases, follows))
    return score_editors(gather_results([run], recorded_evaluation_named("hase")))


def test_intervals_of_the_cases_are_those_of_the_scores(editors, tmp_path):
    write_cases([({"seed": 7}, editors)], (CONTRADICTS,), tmp_path / CASES)
    found = list(read_estimates(tmp_path / CASES))
    by_name = {one.name: one for one in editors}
    assert {of["editor"] for of, _ in found} == {*by_name}
    assert {of["subset"] for of, _ in found} == {ALL, CONTRADICTS}
    for of, estimate in found:
        assert of["seed"] == "7"
        scored = by_name[of["editor"]].frame.cell(of["metric"], of["editor"], of["subset"])
        assert estimate[:3] == pytest.approx(scored[:3], abs=2e-3, nan_ok=True)
        assert estimate[3:5] == scored[3:5]
    redraw.write_intervals(tmp_path / CASES, tmp_path / "intervals.csv")
    with (tmp_path / "intervals.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value"]) for row in rows] == pytest.approx([e.value for _, e in found], nan_ok=True)


def test_metrics_that_do_not_fit_are_left_out_last_ones_first(editors, tmp_path, monkeypatch):
    whole, part = tmp_path / "whole", tmp_path / "part"
    write_cases([({}, editors)], (), whole)
    monkeypatch.setattr(by_case, "LARGEST", whole.stat().st_size - 1)
    write_cases([({}, editors)], (), part)
    names = [[*dict.fromkeys(of["metric"] for of, _ in read_estimates(path))] for path in (whole, part)]
    assert names[1] == names[0][: len(names[1])]
    assert 0 < len(names[1]) < len(names[0])
    assert part.stat().st_size < whole.stat().st_size
