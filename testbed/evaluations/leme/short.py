"""Short questions beside the passages: efficacy, generalisation, locality, portability (Yao et al. 2023)."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.leme import meanings as m
from testbed.evaluations.leme.roles import BELOW, CHILD, COUPLED, EDIT, OTHER, SYNONYM
from testbed.evaluations.leme.standard import STAYS
from testbed.protocol import is_equally_good
from testbed.run.strata import STRATA
from testbed.scores.distances import total_variation, with_remainder
from testbed.scores.metric import Metric, sum_by_case
from testbed.scores.readers import Reader


def measure_answers(results: Results, reader: Reader) -> dict[str, Metric]:
    """The metrics of choices; what is about the request is left out before it."""
    c, size = results.choices, len(results)
    p, q, q0 = reader.probability, c.agent[:, reader.time], c.agent[:, 0]

    def over(values: np.ndarray, among: np.ndarray) -> Metric:
        return sum_by_case(values, c.case, size, among)

    best = p.argmax(axis=1)[:, None]
    right = _take_at(is_equally_good(q, q.max(1, keepdims=True)), best)
    asked = c.role != SYNONYM
    metrics = {
        m.LOCALITY: over(_take_at(is_equally_good(q0, q0.max(1, keepdims=True)), best), c.role == OTHER),
        m.TV: over(total_variation(p, q), asked),
    }
    if reader.time == 0:
        return metrics
    moved = total_variation(q, q0) > STAYS
    is_new = np.take_along_axis(c.options, best, 1)[:, 0] == results.cases["object"][c.case]
    children, coupled = c.role == CHILD, np.isin(c.role, (COUPLED, BELOW))
    return metrics | {
        m.EFFICACY: over(is_new, c.role == EDIT),
        m.GENERALISATION: over(is_new, c.role == SYNONYM),
        m.PORTABILITY: over(right, moved & (children | coupled)),
        f"{m.PORTABILITY}, children": over(right, moved & children),
        f"{m.PORTABILITY}, coupled": over(right, moved & coupled),
        **{
            m.coupled_answers(s): over(right, (c.role == COUPLED) & (c.facets["stratum"] == s))
            for s in STRATA
        },
        m.RATIO: _propagation_ratio(results, reader, asked & (c.role != EDIT)),
    }


def _propagation_ratio(results: Results, reader: Reader, asked: np.ndarray) -> Metric:
    """Sum <dp, dq> / sum ||dq||^2 where the agent moved; dp, dq are the changes of model and agent."""
    c, size = results.choices, len(results)
    gold = with_remainder(c.agent[:, reader.time]) - with_remainder(c.agent[:, 0])
    change = with_remainder(reader.probability) - with_remainder(reader.start)
    among = asked & (np.abs(gold).sum(1) > STAYS)

    def summed(values: np.ndarray) -> np.ndarray:
        return np.bincount(c.case[among], values.sum(1)[among], minlength=size)

    return Metric(summed(change * gold), summed(gold * gold))


def _take_at(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    return np.take_along_axis(values, place, axis=1)[:, 0]
