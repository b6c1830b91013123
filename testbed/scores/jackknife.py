"""How much a ratio of sums varies, where its cases depend on each other in several ways (design.md 6).

Cases depend on each other where they share a subject (or a sequence of edits), a requested object, or a
world. Each of these is a *level*, and the cases of one subject are a *cluster* of that level. The variance
over one level is that of the cluster jackknife, CV3: from the value without each cluster in turn, which shows
what a cluster weighs too (MacKinnon, Nielsen & Webb 2023). Over several levels it is the sum of theirs less
that of their intersections (Cameron, Gelbach & Miller 2011; with the jackknife MacKinnon, Nielsen & Webb
2024), which can be negative and is never taken below the smallest of the levels'. A level whose clusters each
lie within a cluster of another adds nothing and is left out.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from testbed.scores.metric import Metric

ROUNDING = 1e-12

Clusters = Mapping[str, np.ndarray]
"""Level ("subject" or "sequence", "object", "world") -> int[E], equal for cases of one cluster."""


class Spread(NamedTuple):
    """How a value varies, of V values: each float64[V], or int.

    Attributes:
        error: its standard error; 0 where leaving out any one cluster changes nothing.
        skew: third moment of what clusters add to the value, in units of the standard error.
        freedom: of its t-statistic: the effective number of clusters (one over the sum of their squared
            shares of the denominator: Kish 1965; Carter, Schnepel & Steigerwald 2017) less one, of the level
            that has fewest.
        carriers: as freedom, of their shares of the numerator, where no cluster's numerator is below 0: how
            many clusters carry the value. A mean of 90 zeros and 10 ones rests on ten.
        clusters: int[V], of the level that has fewest.
    """

    error: np.ndarray
    skew: np.ndarray
    freedom: np.ndarray
    carriers: np.ndarray
    clusters: np.ndarray


class _OneLevel(NamedTuple):
    """As Spread, over one level; the jackknife's variance in place of its root."""

    variance: np.ndarray
    skew: np.ndarray
    freedom: np.ndarray
    carriers: np.ndarray
    clusters: np.ndarray


def metric_pairs(metrics: Sequence[Metric], among: np.ndarray) -> np.ndarray:
    """float64[E', K, 2]: numerators and denominators of K metrics in the cases of bool[E] `among`.

    A case with denominator 0, but for rounding, has no such metric: both are 0.
    """
    both = np.empty((int(among.sum()), len(metrics), 2))
    for k, metric in enumerate(metrics):
        bottom = metric.denominator[among]
        there = bottom > ROUNDING
        both[:, k, 0] = np.where(there, metric.numerator[among], 0.0)
        both[:, k, 1] = np.where(there, bottom, 0.0)
    return both


def number_clusters(clusters: Clusters, among: np.ndarray) -> dict[str, np.ndarray]:
    """By level, int[E'] numbers of the clusters of the cases of `among`, from 0."""
    return {level: np.unique(of[among], return_inverse=True)[1] for level, of in clusters.items()}


def outermost_levels(levels: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The levels whose clusters do not all lie within clusters of another; of equal levels the first."""
    outermost: dict[str, np.ndarray] = {}
    for level, group in sorted(levels.items(), key=lambda item: np.max(item[1])):
        if not any(_intersect_levels((group, o)).max() == group.max() for o in outermost.values()):
            outermost[level] = group
    return outermost


def cluster_sums(of: np.ndarray, group: np.ndarray) -> np.ndarray:
    """float64[G, ...]: sums of float64[E', ...] over the cases of each cluster."""
    cases = len(group)
    member = csr_array((np.ones(cases), (group, np.arange(cases))), shape=(group.max() + 1, cases))
    return (member @ of.reshape(cases, -1)).reshape(-1, *of.shape[1:])


def ratio(of: np.ndarray) -> np.ndarray:
    """Numerators over denominators on the last axis; nan where there is no denominator.

    >>> ratio(np.array([[1.0, 4.0], [0.0, 0.0]]))
    array([0.25,  nan])
    """
    top, bottom = of[..., 0], of[..., 1]
    return np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > ROUNDING)


def contrast_values(of: np.ndarray) -> np.ndarray:
    """Values of sums, float64[..., K, 2]: the ratio of one metric, or how much the first of two is larger."""
    values = ratio(of)
    return values[..., 0] - values[..., 1] if values.shape[-1] == 2 else values[..., 0]


def has_metric(of: np.ndarray) -> np.ndarray:
    """bool[...]: whether there is a metric, or one of two, in sums float64[..., K, 2]."""
    # Of one metric the first is the last.
    return (of[..., 0, 1] > 0) | (of[..., -1, 1] > 0)


Crossing = tuple[tuple[str, ...], np.ndarray]
"""The levels that are crossed, and int[E'], equal for cases that share their clusters of all of them."""


def cross_levels(levels: Mapping[str, np.ndarray]) -> list[Crossing]:
    """Every combination of levels, from the levels themselves to all of them together."""
    return [
        (names, _intersect_levels([levels[name] for name in names]))
        for size in range(1, len(levels) + 1)
        for names in combinations(levels, size)
    ]


def spread(of: np.ndarray, crossings: Sequence[Crossing], by_cluster: Mapping[str, np.ndarray]) -> Spread:
    """How the contrasts of float64[E', V, K, 2] vary over the clusters of some levels, by `cross_levels`.

    Args:
        by_cluster: their sums over the clusters of each level alone.
    """
    total, single, variance = of.sum(0), [], np.zeros(of.shape[1])
    for names, group in crossings:
        is_single = len(names) == 1
        one = _jackknife_level(by_cluster[names[0]] if is_single else cluster_sums(of, group), total)
        variance -= (-1) ** len(names) * one.variance
        if is_single:
            single.append(one)
    variances, skews, freedom, carriers, clusters = map(np.stack, zip(*single, strict=True))
    widest = variances.argmax(0)[None]
    return Spread(
        np.sqrt(np.maximum(variance, variances.min(0))),
        np.take_along_axis(skews, widest, 0)[0],
        freedom.min(0),
        carriers.min(0),
        clusters.min(0),
    )


def _jackknife_level(of: np.ndarray, total: np.ndarray) -> _OneLevel:
    """The jackknife over sums by cluster, float64[G, V, K, 2]; clusters without the metric do not count."""
    value = contrast_values(total)
    changes = contrast_values(total - of) - value
    changes[np.abs(changes) <= ROUNDING * np.maximum(1, np.abs(value))] = 0.0
    clusters = has_metric(of).sum(0)
    squares = changes * changes
    square, cube = squares.sum(0), -(squares * changes).sum(0)
    return _OneLevel(
        (clusters - 1) / np.maximum(clusters, 1) * square,
        np.divide(cube, square**1.5, out=np.zeros_like(cube), where=square > 0),
        _effective_freedom(of[..., 1], total[..., 1]),
        _effective_freedom(of[..., 0], total[..., 0]),
        clusters,
    )


def _effective_freedom(of: np.ndarray, total: np.ndarray) -> np.ndarray:
    """float64[V]: Kish's effective number of clusters less one, of shares of float64[G, V, K] sums."""
    share = np.divide(of, total, out=np.zeros_like(of), where=total > 0)
    mean = (share[..., 0] + share[..., -1]) / 2
    return np.maximum(1 / np.maximum((mean**2).sum(0), ROUNDING) - 1, 1.0)


def _intersect_levels(levels: Sequence[np.ndarray]) -> np.ndarray:
    """The clusters of cases that share those of all levels."""
    return reduce(
        lambda one, other: np.unique(one * (other.max() + 1) + other, return_inverse=True)[1], levels
    )
