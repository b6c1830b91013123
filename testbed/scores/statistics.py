"""How sure a number is: bootstrap intervals over clusters, paired comparisons, Holm's correction (DESIGN 6).

Cases of one cluster (a subject, or a sequence of edits) depend on each other, so clusters are what is
drawn. A metric is a ratio of sums, and a resample gives the ratio of the drawn clusters' sums.

Intervals are bias-corrected and accelerated, BCa (Efron 1987; Efron & Tibshirani 1993, chapter 14), with
the acceleration from leaving out one cluster at a time; where that is undefined, percentiles. Where no
resample differs from the value, as for a share of exactly 0 or 1, the bootstrap would call it certain. What
can be said then is that clusters unlike all `n` seen are at most a part `u` of all there are,
`(1 - u)^n = 2.5%` (Clopper & Pearson 1934; `u` is about 3.7/n), and the interval is what they could make of
the share, if they weigh as much as those seen. Any other constant, as a distance of 0 in every case, is
taken to be one: both ends are its value, and nan if only one cluster was seen.

With 50 clusters and skewed values BCa's 95% intervals miss about 7% of truths; its error falls as 1/n.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import ndtr, ndtri

from testbed.scores.metric import Metric

RESAMPLES = 2000
FLIPS = 10_000
LEVEL = 0.95
POWER = 0.8
_TAIL = (1 - LEVEL) / 2
_ROUNDING = 1e-12
_CELLS = 1 << 20

Name = TypeVar("Name", bound=Hashable)


class Estimate(NamedTuple):
    """A metric's value, the ends of its 95% bootstrap interval, and the number of cases behind it."""

    value: float
    low: float
    high: float
    cases: int


class Comparison(NamedTuple):
    """The difference of two metrics on the same cases.

    Attributes:
        difference: first minus second; low, high: its 95% interval.
        p: two-sided p-value of no difference.
        detectable: the smallest true difference that this many cases would show, see `detectable`.
        cases: cases that have either metric.
    """

    difference: float
    low: float
    high: float
    p: float
    detectable: float
    cases: int


_NAN = float("nan")
_NOTHING = Estimate(_NAN, _NAN, _NAN, 0)
_INCOMPARABLE = Comparison(_NAN, _NAN, _NAN, _NAN, _NAN, 0)


def estimate(metric: Metric, cluster: np.ndarray, among: np.ndarray, rng: np.random.Generator) -> Estimate:
    """The value of a metric with its interval.

    Args:
        cluster: int[E], cases of one cluster are drawn together.
        among: bool[E], the cases to use.

    Returns:
        nan throughout where no case has the metric.
    """
    return estimates({"": metric}, cluster, among, rng)[""]


def estimates(
    metrics: Mapping[Name, Metric], cluster: np.ndarray, among: np.ndarray, rng: np.random.Generator
) -> dict[Name, Estimate]:
    """As `estimate`, for many metrics of the same cases: all from the same resamples, drawn once."""
    if not metrics or not among.any():
        return dict.fromkeys(metrics, _NOTHING)
    group = _groups(cluster, among)
    parts = [_sums(metric, group, among) for metric in metrics.values()]
    resampled = np.stack([p.sums for p in parts], axis=-1)
    found = {}
    for name, part, draws in zip(metrics, parts, _resamples(resampled, rng), strict=True):
        if not part.cases:
            found[name] = _NOTHING
            continue
        total = part.sums.sum(0)
        value, without = float(_ratio(total)), _ratio(total - part.sums)
        ends = _interval(
            value, _ratio(draws), without, part.clusters, (0, 1) if metrics[name].share else None
        )
        found[name] = Estimate(value, *ends, part.cases)
    return found


def compare(
    first: Metric, second: Metric, cluster: np.ndarray, among: np.ndarray, rng: np.random.Generator
) -> Comparison:
    """Two metrics of the same cases, such as those of two editors, with one draw of clusters for both.

    The p-value is that of a paired permutation test: were there no difference, then each cluster's two
    results could have come the other way round. It is the share of FLIPS random exchanges that differ at
    least as much, the observed one counted in (Phipson & Smyth 2010), so it is at least 1/(FLIPS + 1),
    and under that null hypothesis it is below any level at most that often, however few clusters differ.

    Returns:
        nan throughout where no case has one of the metrics.
    """
    if not among.any():
        return _INCOMPARABLE
    group = _groups(cluster, among)
    parts = [_sums(metric, group, among) for metric in (first, second)]
    if not all(part.cases for part in parts):
        return _INCOMPARABLE
    sums = np.stack([part.sums for part in parts], axis=-1)
    draws = np.subtract(*map(_ratio, _resamples(sums, rng)))
    total = sums.sum(0)
    difference = float(np.subtract(*_ratio(np.moveaxis(total, -1, 0))))
    without = np.subtract(*_ratio(np.moveaxis(total - sums, -1, 0)))
    clusters = int((sums[:, 1] > 0).any(-1).sum())
    limits = (-1, 1) if first.share and second.share else None
    low, high = _interval(difference, draws, without, clusters, limits)
    spread = float(np.nanstd(draws))
    return Comparison(
        difference,
        low,
        high,
        _exchanged(sums, rng),
        detectable(spread) if spread > _ROUNDING else _NAN,
        int((among & (np.maximum(first.denominator, second.denominator) > _ROUNDING)).sum()),
    )


def detectable(standard_error: float) -> float:
    """The true difference that a two-sided test at 5% finds in 80% of experiments: 2.80 standard errors."""
    return float(ndtri(1 - _TAIL) + ndtri(POWER)) * standard_error


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down adjusted p-values (Holm 1979); a nan is no test and stays.

    Rejecting those below 5% makes one false rejection or more in at most 5% of families, whatever the
    dependence of the tests.
    """
    tests = sorted((name for name in p_values if p_values[name] == p_values[name]), key=p_values.__getitem__)
    adjusted, least = dict(p_values), 0.0
    for rank, name in enumerate(tests):
        least = max(least, min(1.0, (len(tests) - rank) * p_values[name]))
        adjusted[name] = least
    return adjusted


class _Sums(NamedTuple):
    """One metric by cluster.

    Attributes:
        sums: float64[G, 2], numerators and denominators.
        cases, clusters: how many have the metric.
    """

    sums: np.ndarray
    cases: int
    clusters: int


def _groups(cluster: np.ndarray, among: np.ndarray) -> np.ndarray:
    return np.unique(cluster[among], return_inverse=True)[1]


def _sums(metric: Metric, group: np.ndarray, among: np.ndarray) -> _Sums:
    """Sums over the clusters of `among`; a case with denominator 0, but for rounding, has no such metric."""
    has = metric.denominator[among] > _ROUNDING
    top, bottom = (np.where(has, x[among], 0.0) for x in (metric.numerator, metric.denominator))
    sums = np.stack([np.bincount(group, x, group.max() + 1) for x in (top, bottom)], axis=-1)
    return _Sums(sums, int(has.sum()), int((sums[:, 1] > 0).sum()))


def _ratio(sums: np.ndarray) -> np.ndarray:
    """Numerators over denominators on the last axis; nan where nothing was drawn that has the metric."""
    top, bottom = sums[..., 0], sums[..., 1]
    return np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > _ROUNDING)


def _resamples(sums: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """float64[M, RESAMPLES, 2]: sums over clusters drawn with replacement, from float64[G, 2, M]."""
    clusters, found = len(sums), []
    for rows in _blocks(RESAMPLES, clusters):
        drawn = rng.integers(0, clusters, (rows, clusters)) + clusters * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * clusters).reshape(rows, clusters)
        found.append(times.astype(float) @ sums.reshape(clusters, -1))
    return np.moveaxis(np.concatenate(found).reshape(RESAMPLES, *sums.shape[1:]), -1, 0)


def _blocks(rows: int, width: int) -> Iterator[int]:
    """`rows` in pieces that keep arrays of this width small."""
    step = max(1, _CELLS // width)
    while rows > 0:
        yield min(step, rows)
        rows -= step


def _interval(
    value: float,
    draws: np.ndarray,
    without: np.ndarray,
    clusters: int,
    limits: tuple[int, int] | None,
) -> tuple[float, float]:
    """BCa ends from resampled and leave-one-out values; the module's docstring has the exceptions.

    Args:
        clusters: how many have the metric.
        limits: the least and the most that a cluster's value can be, None where unknown.
    """
    draws = draws[np.isfinite(draws)]
    without = without[np.isfinite(without)]
    rounding = _ROUNDING * max(1.0, abs(value))
    if np.ptp(draws) <= rounding:
        if limits is not None:
            unlike: float = 1 - _TAIL ** (1 / clusters)
            low, high = ((1 - unlike) * value + unlike * limit for limit in limits)
            return low, high
        return (value, value) if clusters > 1 else (_NAN, _NAN)
    left = without.mean() - without
    acceleration = (left**3).sum() / (6 * (left**2).sum() ** 1.5) if (left != 0).any() else 0.0
    # Draws that equal the value count half, as for any discrete statistic.
    bias = ndtri(((draws < value - rounding).mean() + (draws <= value + rounding).mean()) / 2)
    shifted = bias + ndtri([_TAIL, 1 - _TAIL])
    levels = ndtr(bias + shifted / (1 - acceleration * shifted))
    if not (np.isfinite(bias) and (acceleration * shifted < 1).all()):
        levels = np.array([_TAIL, 1 - _TAIL])
    low, high = np.quantile(draws, levels)
    return float(low), float(high)


def _exchanged(sums: np.ndarray, rng: np.random.Generator) -> float:
    """The p-value of a paired permutation test on float64[G, 2, pair]; see `compare`."""
    differ = sums[(sums[..., 0] != sums[..., 1]).any(1)]
    # Exchanging a cluster moves its gap from one sum to the other.
    gap, total = differ[..., 1] - differ[..., 0], np.moveaxis(sums.sum(0), -1, 0)
    observed = abs(np.subtract(*_ratio(total)))
    if not len(gap):
        return 1.0
    as_far = 0
    for rows in _blocks(FLIPS, len(gap)):
        moved = rng.integers(0, 2, (rows, len(gap)), np.int8).astype(float) @ gap
        flipped = np.abs(_ratio(total[0] + moved) - _ratio(total[1] - moved))
        as_far += int((~(flipped < observed - _ROUNDING)).sum())
    return (as_far + 1) / (FLIPS + 1)
