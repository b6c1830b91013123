"""D, D_d and X_d: how sure a reader is of the right one of two objects, and how far an edit moves that.

    D(t)  = p(right | t) - p(wrong | t)     at time t, before or after the edit (Halevy et al. 2024, 4.1)
    D_d   = D(after) - D(before)
    D_d^q   the same of the agent
    X_d   = D_d - D_d^q                     what is not rational of it: the excess

Of those who have the new object right is the new and wrong the old one, as in the paper; of those who have
the old one the other way round; of those with neither `right` is the old and `wrong` the new one, so that
below 0 they are drawn towards the new one.
"""

from typing import NamedTuple

import numpy as np

from testbed.engine.results import Choices
from testbed.evaluations.seesaw.roles import OTHERS
from testbed.scores.readers import Reader


class ConfidenceChange(NamedTuple):
    """Every field is float64[N], 0 where two objects are not compared.

    Attributes:
        change: D_d.
        gold_change: D_d^q.
        excess: X_d.
    """

    change: np.ndarray
    gold_change: np.ndarray
    excess: np.ndarray


def confidence(p: np.ndarray, options: np.ndarray, right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """float64[N]: D, p(right) - p(wrong), of float64[N, C] over options int[N, C]."""
    return _object_probability(p, options, right) - _object_probability(p, options, wrong)


def confidence_change(choices: Choices, reader: Reader) -> ConfidenceChange:
    """D_d, D_d^q and X_d of every choice about others."""
    has_two_objects = np.isin(choices.role, OTHERS)
    right, wrong = choices.facets["right"], choices.facets["wrong"]

    def change_of_d(before: np.ndarray, after: np.ndarray) -> np.ndarray:
        d = [confidence(p, choices.options, right, wrong) for p in (before, after)]
        return np.where(has_two_objects, d[1] - d[0], 0.0)

    own = change_of_d(reader.start, reader.probability)
    rational = change_of_d(choices.agent[:, 0], choices.agent[:, reader.time])
    return ConfidenceChange(own, rational, own - rational)


def _object_probability(p: np.ndarray, options: np.ndarray, obj: np.ndarray) -> np.ndarray:
    return p.sum(axis=1, where=options == obj[:, None])
