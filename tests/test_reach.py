"""The study of where a vector at a name does not reach: what it shows exists, whose worlds it takes."""

import pytest

from experiments.studies.reach import COLUMNS, Settings, edit_settings, model_settings
from testbed.evaluations.leme import metrics as leme
from testbed.evaluations.seesaw import metrics as people
from testbed.evaluations.taxi import metrics as taxi
from testbed.presets import CORPUS

DEFINED = {"taxi": taxi.METRICS, "seesaw": people.METRICS, "leme": leme.METRICS}


@pytest.mark.parametrize("evaluation", COLUMNS)
def test_columns_are_metrics_of_their_evaluation(evaluation):
    assert set(COLUMNS[evaluation]) <= {metric.name for metric in DEFINED[evaluation]}


@pytest.mark.parametrize("evaluation", COLUMNS)
def test_worlds_are_those_of_the_evaluation(evaluation):
    options = Settings()
    corpus, training = model_settings(options, evaluation, 1)
    assert corpus.world.source == CORPUS[evaluation].world.source
    assert training.train.steps > 0
    run = options.list_runs(evaluation)[1]
    edits = edit_settings(options, evaluation, run, 1)
    assert (edits.evaluation, edits.seed, edits.cases.count) == (evaluation, 1, options.edits)


def test_an_unknown_benchmark_is_refused():
    with pytest.raises(ValueError, match="benchmarks must be some of taxi, seesaw, leme"):
        Settings(benchmarks=("tax",))
