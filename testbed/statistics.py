"""Bootstrap intervals over cases, clustered by subject (DESIGN 6)."""

from typing import NamedTuple

import numpy as np

from testbed.metrics import Metric

RESAMPLES = 2000
LEVEL = 0.95


class Estimate(NamedTuple):
    """A metric's value, the ends of its 95% bootstrap interval, and the number of cases behind it."""

    value: float
    low: float
    high: float
    cases: int


def estimate(metric: Metric, cluster: np.ndarray, among: np.ndarray, rng: np.random.Generator) -> Estimate:
    """Percentile bootstrap of a ratio of sums.

    Args:
        cluster: int[E], cases of one cluster (the subject) are drawn together.
        among: bool[E], the cases to use.

    Returns:
        nan throughout where no case has the metric.
    """
    used = among & (metric.denominator > 0)
    part = Metric(metric.numerator[used], metric.denominator[used])
    if not used.any():
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    _, group = np.unique(cluster[used], return_inverse=True)
    groups = int(group.max()) + 1
    top = np.bincount(group, part.numerator, groups)
    bottom = np.bincount(group, part.denominator, groups)
    draws = rng.multinomial(groups, np.full(groups, 1 / groups), RESAMPLES)
    values = (draws @ top) / np.maximum(draws @ bottom, 1e-12)
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(part.value(), float(low), float(high), int(used.sum()))
