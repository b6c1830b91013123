"""An evaluation by name, as its results are read."""

from functools import partial

from testbed.evaluations.catalogue import cases_from, evaluation_named, rebuild_evaluation
from testbed.scores.gather import RecordedEvaluation


def recorded_evaluation_named(name: str) -> RecordedEvaluation:
    """The evaluation whose results are wanted.

    Raises:
        InputError: no such evaluation.
    """
    return RecordedEvaluation(name, cases_from(evaluation_named(name)), partial(rebuild_evaluation, name))
