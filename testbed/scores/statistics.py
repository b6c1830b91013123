"""How sure a number is: intervals over clusters, paired comparisons, Holm's correction (design.md 6).

The standard error of a metric is that of `testbed.scores.jackknife`, over subjects (or sequences of edits),
requested objects and worlds at once; quantiles are Student's t. Then:

- Shares have Wilson's interval (1927) at the sample size that has this standard error, as clustered
  proportions have in surveys (Korn & Graubard 1998; Dean & Pagano 2015).
- Means that cannot be below 0, as distances, many of which are 0, have Wilson's interval of a variance in
  proportion to the mean, which is that of shares near 0, and Johnson's correction (below). The fewer clusters
  the sum rests on, the less is known of how they vary, so the quantile is that of their effective number.
- Anything else has the symmetric one, and Johnson's correction for skewness (1978) where it moves an end
  outward, with the same quantile and the skewness of the population.
- Where leaving out no cluster changes the value, as for a share of exactly 0 or a distance of 0 in every
  case, it would seem certain. What can be said then is that clusters unlike all `n` seen are at most a part
  `u` of all there are, `(1 - u)^n = 2.5%` (Clopper & Pearson 1934; `u` is about 3.7/n), and the interval is
  what they could make of it, at the least and the most that is possible, if they weigh as much as those
  seen. A constant without such limits is taken to be one.
- A level with fewer than LEAST clusters has no interval, but the range of their values. Few worlds leave the
  interval over the other levels, which then is about these worlds alone. Fewer than MANY_WORLDS are said to
  be these only, with their range. Two to LEAST have no p-value: exchanging five worlds in every way there is
  gives no p below 2/32, which is never 5%. The p-value of one world is about its cases.

How often the intervals cover the truth is measured by `python -m experiments.coverage`.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from math import isnan, nan, sqrt
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import stdtrit

from testbed.scores.cores import map_on_cores
from testbed.scores.jackknife import (
    ROUNDING,
    Clusters,
    Crossing,
    cluster_sums,
    contrast_values,
    cross_levels,
    has_metric,
    metric_pairs,
    number_clusters,
    outermost_levels,
    ratio,
    spread,
)
from testbed.scores.metric import Metric

INTERVALS = "95% intervals are over subjects (or sequences), requested objects and worlds."
"""The note under a table."""
LEAST = 5
WORLD = "world"
MANY_WORLDS = 10
"""Fewer are not said to stand for others."""
FLIPS = 10_000
LEVEL = 0.95
POWER = 0.8
NUMBERS_AT_A_TIME = 1_000_000
"""Metrics are estimated so many that about so many numbers of cases are worked on at a time."""
_TAIL = (1 - LEVEL) / 2
# Of eight clusters, those that are exchanged in each of the 256 ways there are.
_CHOICES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(float)

Name = TypeVar("Name", bound=Hashable)
_Kind = tuple[bool, tuple[float, float]]


class Few(NamedTuple):
    """The range of a metric's values over few clusters: fewer than LEAST, or than MANY_WORLDS worlds."""

    level: str
    clusters: int
    low: float
    high: float


class Estimate(NamedTuple):
    """A metric's value.

    Attributes:
        low, high: ends of its 95% interval, nan where there is none.
        cases: how many have the metric.
        clusters: how many clusters the level has that has fewest, of those the interval is over.
        few: levels that it is not over, as they have too few clusters; and worlds, where they are few.
    """

    value: float
    low: float
    high: float
    cases: int
    clusters: int = 0
    few: tuple[Few, ...] = ()


class Comparison(NamedTuple):
    """The difference of two metrics on the same cases.

    Attributes:
        difference: first minus second; low, high: its 95% interval, nan where there is none.
        p: two-sided p-value of no difference, nan where worlds are too few for a verdict.
        detectable: the smallest true difference that this many cases would show, see
        `detectable_difference`; nan where so few clusters differ that the test could show none.
        cases: cases that have either metric.
        clusters, few: as in Estimate.
    """

    difference: float
    low: float
    high: float
    p: float
    detectable: float
    cases: int
    clusters: int = 0
    few: tuple[Few, ...] = ()


_NOTHING = Estimate(nan, nan, nan, 0)
_INCOMPARABLE = Comparison(nan, nan, nan, nan, nan, 0)


def estimate_metric(metric: Metric, clusters: Clusters, among: np.ndarray) -> Estimate:
    """The value of a metric with its interval.

    Args:
        clusters: by level, which cases depend on each other; int[E] each.
        among: bool[E], the cases to use.

    Returns:
        nan throughout where no case has the metric.

    >>> followed = Metric(np.arange(40) % 4 == 0, np.ones(40), share=True)
    >>> subject = {"subject": np.repeat(np.arange(20), 2)}
    >>> found = estimate_metric(followed, subject, np.ones(40, bool))
    >>> f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
    '0.25 [0.15, 0.38]'
    """
    return estimate_metrics({"": metric}, clusters, among)[""]


def estimate_metrics(
    metrics: Mapping[Name, Metric], clusters: Clusters, among: np.ndarray
) -> dict[Name, Estimate]:
    """As `estimate_metric`, for many metrics of the same cases."""
    if not metrics or not among.any():
        return dict.fromkeys(metrics, _NOTHING)
    levels, names = _Levels(number_clusters(clusters, among)), [*metrics]
    size = max(1, NUMBERS_AT_A_TIME // len(among))

    def estimate_some(first: int) -> dict[Name, Estimate]:
        some = {name: metrics[name] for name in names[first : first + size]}
        of = metric_pairs([*some.values()], among)
        cases = (of[..., 1] > 0).sum(0).tolist()
        kinds = [(metric.share, (0, 1) if metric.share else metric.limits) for metric in some.values()]
        contrasts = _estimate_contrasts(of[:, :, None], levels, kinds)
        return {
            name: Estimate(f.value, f.low, f.high, n, f.clusters, f.few) if n else _NOTHING
            for name, n, f in zip(some, cases, contrasts, strict=True)
        }

    batches = map_on_cores(estimate_some, range(0, len(names), size))
    return {name: estimate for batch in batches for name, estimate in batch.items()}


def compare_metrics(
    first: Metric, second: Metric, clusters: Clusters, among: np.ndarray, rng: np.random.Generator
) -> Comparison:
    """Two metrics of the same cases, such as those of two editors.

    The p-value is that of a paired permutation test. Its null hypothesis: the two are exchangeable, so that
    each cluster's two results could have come the other way round, whichever way those of other clusters
    came. It is the share of FLIPS random exchanges that differ at least as much, the observed one counted in
    (Phipson & Smyth 2010), so it is at least 1/(FLIPS + 1), and under that hypothesis it is below any level
    at most that often, however few clusters differ. Clusters of each level are exchanged in turn, and the
    largest p-value counts; n clusters that differ have at least 2^(1 - n), so two to LEAST worlds have none.
    Of one world its cases are exchanged, and no other world is spoken of.
    Where subjects and objects cross and both matter, neither exchange alone is exact: 8% for 5% was measured.

    Returns:
        nan throughout where no case has one of the metrics.
    """
    of = metric_pairs([first, second], among)
    if not (of[..., 1] > 0).any(0).all():
        return _INCOMPARABLE
    groups = number_clusters(clusters, among)
    share, levels = first.share and second.share, _Levels(groups)
    (difference,) = _estimate_contrasts(of[:, None], levels, [(share, _limits_of_difference(first, second))])
    worlds = next((few.clusters for few in difference.few if few.level == WORLD), MANY_WORLDS)
    is_verdict = worlds == 1 or worlds > LEAST
    tested = {level: group for level, group in groups.items() if level != WORLD or worlds > 1}
    exchanged = outermost_levels(tested).values() if is_verdict else ()
    testable = is_verdict and difference.error > 0 and 2.0 ** (1 - difference.clusters) <= 1 - LEVEL
    return Comparison(
        difference.value,
        difference.low,
        difference.high,
        max((_permutation_p(cluster_sums(of, group), rng) for group in exchanged), default=nan),
        detectable_difference(difference.error, difference.freedom) if testable else nan,
        int((of[..., 1] > 0).any(1).sum()),
        difference.clusters,
        difference.few,
    )


def _limits_of_difference(first: Metric, second: Metric) -> tuple[float, float]:
    """The least and the most that the first can be above the second."""
    (low, high), (other_low, other_high) = ((0, 1) if m.share else m.limits for m in (first, second))
    return low - other_high, high - other_low


def detectable_difference(standard_error: float, freedom: float = np.inf) -> float:
    """The true difference that a two-sided test at 5% finds in 80% of experiments: 2.80 standard errors."""
    return float(_t_quantile(1 - _TAIL, freedom) + _t_quantile(POWER, freedom)) * standard_error


def adjust_holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down adjusted p-values (Holm 1979); a nan is not a test and stays.

    Rejecting those below 5% makes one false rejection or more in at most 5% of families, whatever the
    dependence of the tests.
    """
    tests = sorted((name for name in p_values if p_values[name] == p_values[name]), key=p_values.__getitem__)
    adjusted, least = dict(p_values), 0.0
    for rank, name in enumerate(tests):
        least = max(least, min(1.0, (len(tests) - rank) * p_values[name]))
        adjusted[name] = least
    return adjusted


class _Variation(NamedTuple):
    """How one value varies; see `jackknife.Spread`."""

    error: float
    skew: float
    freedom: float
    carriers: float
    clusters: int


class _Contrast(NamedTuple):
    """One value with its interval and what it was made from; see Estimate and `jackknife.Spread`."""

    value: float
    low: float
    high: float
    error: float
    freedom: float
    clusters: int
    few: tuple[Few, ...]


class _Levels:
    """The clusters of some cases by level, int[E'] each, and how levels cross, which is found once."""

    def __init__(self, groups: Mapping[str, np.ndarray]) -> None:
        self.groups = groups
        self._crossings: dict[frozenset[str], list[Crossing]] = {}

    def cross_without(self, missing: Collection[str]) -> list[Crossing]:
        """The crossings of all levels but some."""
        key = frozenset(missing)
        if key not in self._crossings:
            rest = {level: group for level, group in self.groups.items() if level not in key}
            self._crossings[key] = cross_levels(outermost_levels(rest))
        return self._crossings[key]


def _estimate_contrasts(of: np.ndarray, levels: _Levels, kinds: Sequence[_Kind]) -> list[_Contrast]:
    """The contrasts of float64[E', V, K, 2], each over the levels that have clusters enough.

    Args:
        kinds: by value, whether it is of shares, and the least and the most that a cluster's can be.
    """
    groups = levels.groups
    by_cluster = {level: cluster_sums(of, group) for level, group in groups.items()}
    counts = {level: has_metric(s).sum(0) for level, s in by_cluster.items()}
    values = contrast_values(of.sum(0)).tolist()
    lacking = [tuple(level for level in groups if counts[level][v] < LEAST) for v in range(len(values))]
    contrasts = [_Contrast(value, nan, nan, nan, nan, 0, ()) for value in values]
    ranges = {level: _range_by_value(sums) for level, sums in by_cluster.items()}
    for missing in set(lacking):
        which = [v for v, levels in enumerate(lacking) if levels == missing]
        if set(missing) <= {WORLD} and len(missing) < len(groups):
            varying, sums = of, by_cluster
            if len(which) < len(values):
                varying = of.take(which, axis=1)
                sums = {level: one.take(which, axis=1) for level, one in by_cluster.items()}
            variations = spread(varying, levels.cross_without(missing), sums)
            errors = zip(*(x.tolist() for x in variations), strict=True)
            for v, variation in zip(which, map(_Variation._make, errors), strict=True):
                ends = _interval_ends(values[v], variation, kinds[v])
                error, freedom, clusters = variation.error, variation.freedom, variation.clusters
                contrasts[v] = _Contrast(values[v], *ends, error, freedom, clusters, ())
        for v in which:
            named = [x for x in groups if x in missing or (x == WORLD and counts[x][v] < MANY_WORLDS)]
            few = tuple(Few(level, int(counts[level][v]), *ranges[level][v]) for level in named)
            contrasts[v] = contrasts[v]._replace(few=few)
    return contrasts


def _range_by_value(sums: np.ndarray) -> list[tuple[float, float]]:
    """The least and the largest contrast of a cluster in float64[C, V, K, 2], by value; nan where none is."""
    values = contrast_values(sums)
    known = np.isfinite(values)
    low, high = np.where(known, values, np.inf).min(0), np.where(known, values, -np.inf).max(0)
    missing = ~known.any(0)
    low[missing] = high[missing] = nan
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _interval_ends(value: float, of: _Variation, kind: _Kind) -> tuple[float, float]:
    """The ends of the interval of one value; the module's docstring has the cases."""
    (share, limits), error = kind, of.error
    if isnan(error):
        return nan, nan
    if error == 0 and not np.isfinite(limits).all():
        return value, value
    if error == 0:
        unlike = 1 - _TAIL ** (1 / of.clusters)
        low, high = ((1 - unlike) * value + unlike * limit for limit in limits)
        return low, high
    is_distance = limits[0] == 0 and not share
    freedom = min(of.freedom, of.carriers) if is_distance else of.freedom
    quantile = _t_quantile(1 - _TAIL, freedom)
    margin = quantile * error
    if share and limits == (0.0, 1.0):
        return _score_ends(value, margin, 1.0)
    shift = error * _population_skewness(of.skew, freedom + 1) * (1 + 2 * quantile**2) / 6
    low, high = _score_ends(value, margin, 0.0) if is_distance else (value - margin, value + margin)
    return max(low + min(shift, 0), limits[0]), min(high + max(shift, 0), limits[1])


def _score_ends(value: float, margin: float, curved: float) -> tuple[float, float]:
    """Between the means x that `value` is no further from than `margin`, if the variance goes with the mean.

    It is in proportion to x(1 - curved x): of shares (curved 1) this is Wilson's interval, of sums of what is
    rare (curved 0) the score interval of Poisson's distribution.
    """
    scale = margin**2 / max(value * (1 - curved * value), ROUNDING)
    middle, half = value + scale / 2, sqrt(margin**2 + scale**2 / 4)
    return (middle - half) / (1 + curved * scale), (middle + half) / (1 + curved * scale)


def _population_skewness(skewness: float, clusters: float) -> float:
    """Fisher's G1: what few clusters were drawn from is more skewed than they are (Joanes & Gill 1998)."""
    n = max(clusters, 3.0)
    return skewness * sqrt(n * (n - 1)) / (n - 2)


def _t_quantile(level: float, freedom: float = np.inf) -> float:
    """Of Student's t."""
    return float(stdtrit(freedom, level))


def _permutation_p(of: np.ndarray, rng: np.random.Generator) -> float:
    """The p-value of paired permutations of sums by cluster, float64[G, pair, 2]; see `compare_metrics`."""
    differ = of[(of[:, 0] != of[:, 1]).any(1)]
    # Exchanging a cluster moves its gap from one sum to the other.
    gap, total = differ[:, 1] - differ[:, 0], of.sum(0)
    observed = abs(float(contrast_values(total)))
    if not len(gap):
        return 1.0
    shift = np.zeros((FLIPS, 2))
    for first in range(0, len(gap), 8):
        # What each choice among eight clusters moves, and which choice each exchange makes.
        eight = gap[first : first + 8]
        choice = rng.integers(0, len(_CHOICES), FLIPS, np.uint8)
        shift += (_CHOICES[:, : len(eight)] @ eight).take(choice, axis=0)
    flipped = np.abs(ratio(total[0] + shift) - ratio(total[1] - shift))
    as_far = int((~(flipped < observed - ROUNDING)).sum())
    return (as_far + 1) / (FLIPS + 1)


def draw_case_weights(levels: Mapping[str, np.ndarray], count: int, rng: np.random.Generator) -> np.ndarray:
    """float64[1 + count, E]: ones, then how often each case was drawn: as often as all its clusters were."""
    weights = np.ones((1 + count, len(next(iter(levels.values())))))
    for members in levels.values():
        place = np.unique(members, return_inverse=True)[1]
        size = place.max() + 1
        weights[1:] *= rng.multinomial(size, np.full(size, 1 / size), count)[:, place]
    return weights


def estimate_from_draws(draws: np.ndarray, cases: int) -> Estimate:
    """A value and its interval from float64[1 + count]: of all cases, then of resampled ones."""
    low, high = np.nanquantile(draws[1:], [_TAIL, 1 - _TAIL])
    return Estimate(float(draws[0]), float(low), float(high), cases)
