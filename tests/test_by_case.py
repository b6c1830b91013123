"""Cases kept with a record: the intervals that they come to again are those of the scores."""

import pytest

from corpus.errors import InputError
from experiments import by_case, intervals
from experiments.by_case import CASES, read_estimates, write_cases
from experiments.command import run_module
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


@pytest.mark.parametrize("subset", [ALL, CONTRADICTS])
def test_intervals_of_the_cases_are_those_of_the_scores(editors, subset, tmp_path):
    path = tmp_path / CASES
    write_cases([({"seed": 7}, editors)], (CONTRADICTS,), path)
    found = list(read_estimates(path, subset))
    by_name = {one.name: one for one in editors}
    assert {of["editor"] for of, _, _ in found} == {*by_name}
    for of, metric, estimate in found:
        assert of["seed"] == "7"
        scored = by_name[of["editor"]].frame.cell(metric, of["editor"], subset)
        assert estimate[:3] == pytest.approx(scored[:3], abs=2e-3, nan_ok=True)
        assert estimate[3:5] == scored[3:5]


def test_metrics_that_do_not_fit_are_left_out_last_ones_first(editors, tmp_path, monkeypatch):
    whole, part = tmp_path / "whole", tmp_path / "part"
    write_cases([({}, editors)], (), whole)
    monkeypatch.setattr(by_case, "LARGEST", whole.stat().st_size - 1)
    write_cases([({}, editors)], (), part)
    names = [[*dict.fromkeys(metric for _, metric, _ in read_estimates(path))] for path in (whole, part)]
    assert names[1] == names[0][: len(names[1])]
    assert 0 < len(names[1]) < len(names[0])
    assert part.stat().st_size < whole.stat().st_size


def test_the_command_prints_them_and_names_what_is_not_there(editors, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(intervals, "RECORDS", tmp_path)
    (tmp_path / "a").mkdir()
    write_cases([({}, editors)], (CONTRADICTS,), tmp_path / "a" / CASES)
    metric = next(read_estimates(tmp_path / "a" / CASES))[1]
    assert run_module(intervals, ["a", "--metrics", metric, "--subset", CONTRADICTS]) == 0
    assert f"| lora-down | {metric} |" in capsys.readouterr().out
    for asked, said in (
        (["b"], "keeps no cases; those that do: a"),
        (["a", "--subset", "x"], "no subset 'x'"),
        (["a", "--metrics", "x"], "does not keep x"),
    ):
        assert run_module(intervals, asked) == 2
        shown = capsys.readouterr()
        assert said in " ".join((shown.err + shown.out).split())
    with pytest.raises(InputError, match="no subset"):
        list(read_estimates(tmp_path / "a" / CASES, "nobody's"))
