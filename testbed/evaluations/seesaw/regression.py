"""Least squares with errors clustered by edit and by person, and what it would have shown.

The two-way clustered covariance (Cameron, Gelbach & Miller 2011) is that of statsmodels; tests are t-tests,
or Wald's F of all groups at once, at the number of clusters of the way that has fewer, less one. Importing
statsmodels takes seconds, so it is imported where a regression is made.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from testbed.scores.statistics import detectable

PER_COLUMN = 2
""
"""Clusters that a column needs, of the way that has fewer: few clusters do not tell how many columns vary.

At 5% the test of four groups that do not differ rejects 10% of samples of 60 edits and 120 people, 5.5% of
100 and 300, 8% of 200 and 600 (200 simulations each, so ±3%; `tests/test_seesaw.py`).
"""


class Slope(NamedTuple):
    """By how much the outcome is larger where a column is larger by one.

    Attributes:
        low, high: ends of the 95% interval.
        detectable: the smallest true slope that a test at 5% would show in 80% of such samples.
    """

    value: float
    low: float
    high: float
    p: float
    detectable: float


class Groups(NamedTuple):
    """Differences between groups at equal columns.

    Attributes:
        largest: the largest difference of a group from the first one, with its sign, and its name.
        p: of no difference between any of them.
        detectable: a difference from the first group that would be shown of whichever group it is.
    """

    largest: tuple[str, float]
    p: float
    detectable: float


class Fit(NamedTuple):
    """A regression; empty where the outcome is constant, or the clusters are too few (PER_COLUMN).

    Columns that others determine, as constant ones, are absent.

    Attributes:
        observations: how many.
        clusters: of the way that has fewer.
    """

    slopes: dict[str, Slope]
    groups: Groups | None
    observations: int
    clusters: int


def fit(
    outcome: np.ndarray,
    columns: Mapping[str, np.ndarray],
    clusters: tuple[np.ndarray, np.ndarray],
    groups: np.ndarray | None = None,
    worlds: np.ndarray | None = None,
) -> Fit:
    """Regress float64[n] on columns, groups and worlds.

    Args:
        columns: float64[n] each.
        clusters: int64[n] twice, equal for observations of one edit, and for those of one person.
        groups: str[n]; the one with most observations is the first.
        worlds: int64[n], each of which has a mean of its own.
    """
    names, design = _design(columns, groups, worlds)
    ways = np.column_stack([np.unique(way, return_inverse=True)[1] for way in clusters])
    count = int(ways.max(axis=0).min()) + 1 if len(ways) else 0
    if count < PER_COLUMN * len(names) or np.ptp(outcome) == 0:
        return Fit({}, None, len(outcome), count)
    from statsmodels.regression.linear_model import OLS

    model = OLS(outcome, design)
    found = model.fit(cov_type="cluster", cov_kwds={"groups": ways}, use_t=True)
    if not (np.diag(found.cov_params()) > 0).all():
        # A sum of variances less another can fail to be one; the way that has most then counts alone.
        single = [model.fit(cov_type="cluster", cov_kwds={"groups": way}, use_t=True) for way in ways.T]
        found = max(single, key=lambda one: float(np.trace(one.cov_params())))
    error, interval = found.bse, found.conf_int()
    slopes = {}
    for at, name in enumerate(names):
        if name in columns:
            low, high = map(float, interval[at])
            least = detectable(float(error[at]), count - 1)
            slopes[name] = Slope(float(found.params[at]), low, high, float(found.pvalues[at]), least)
    return Fit(slopes, _groups(found, names, count), len(outcome), count)


def _design(
    columns: Mapping[str, np.ndarray], groups: np.ndarray | None, worlds: np.ndarray | None
) -> tuple[list[str], np.ndarray]:
    """Names and columns of the design: a constant, what varies, and groups and worlds but the first ones."""
    size = len(next(iter(columns.values())))
    names, parts = [""], [np.ones(size)]
    for of, kind in ((groups, "group"), (worlds, "world")):
        if of is not None:
            values, often = np.unique(of, return_counts=True)
            for value in values[np.argsort(-often, kind="stable")][1:].tolist():
                names.append(f"{kind} {value}")
                parts.append((of == value).astype(float))
    for name, column in columns.items():
        together = np.column_stack([*parts, column])
        if np.linalg.matrix_rank(together) == len(parts) + 1:
            names.append(name)
            parts.append(column.astype(float))
    return names, np.column_stack(parts)


def _groups(found: Any, names: list[str], clusters: int) -> Groups | None:
    at = [i for i, name in enumerate(names) if name.startswith("group ")]
    if not at:
        return None
    which = np.zeros((len(at), len(names)))
    which[np.arange(len(at)), at] = 1
    test = found.f_test(which)
    top = max(at, key=lambda i: abs(found.params[i]))
    worst = float(np.max(found.bse[at]))
    p = float(np.squeeze(test.pvalue))
    return Groups(
        (names[top].removeprefix("group "), float(found.params[top])),
        p if math.isfinite(p) else math.nan,
        detectable(worst, clusters - 1),
    )
