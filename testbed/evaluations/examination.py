"""An evaluation by name, as its results are read."""

from functools import partial

from testbed.evaluations.catalogue import cases_from, evaluation_named, rebuilt
from testbed.scores.gather import Examination


def examination_named(name: str) -> Examination:
    """The evaluation whose results are wanted.

    Raises:
        InputError: no such evaluation.
    """
    return Examination(name, cases_from(evaluation_named(name)), partial(rebuilt, name))
