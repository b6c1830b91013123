"""Groups by property: D_d of each cell with the paper's star, and with what the star leaves out.

The paper's star is that of a one-sample t-test of all answers as if they were independent: mean below 0 and
p < .05, two-sided. Beside it stand the one-sided p-value, Holm's correction over all cells of one editor, and
an interval over edited people and objects. A cell with fewer than LEAST answers has its number and no star.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import ttest_1samp

from testbed.engine.results import Results, cluster_levels
from testbed.scores.metric import sum_by_case
from testbed.scores.statistics import Estimate, adjust_holm, estimate_metrics

LEAST_ANSWERS = 20
SIGNIFICANCE_LEVEL = 0.05
CellKey = tuple[str, str]
"""Property and group."""


class GroupCell(NamedTuple):
    """The answers about people of one group after edits of one property.

    Attributes:
        answers: how many.
        mean: of D_d; its interval over clusters.
        p, p_below: p-values of the t-tests that the mean is 0, two-sided, and that it is not below 0; nan of
            fewer than LEAST answers.
        p_holm: `p` after Holm's correction over the cells of one table.
    """

    answers: int
    mean: Estimate
    p: float
    p_below: float
    p_holm: float

    @property
    def has_enough_answers(self) -> bool:
        """Whether there are answers enough for a mean to be shown."""
        return self.answers >= LEAST_ANSWERS

    @property
    def is_lowered(self) -> bool:
        """Whether it has the paper's star."""
        return self.has_enough_answers and self.mean.value < 0 and self.p < SIGNIFICANCE_LEVEL

    @property
    def is_lowered_after_holm(self) -> bool:
        """Whether it keeps the star after Holm's correction."""
        return self.has_enough_answers and self.mean.value < 0 and self.p_holm < SIGNIFICANCE_LEVEL

    @property
    def has_interval_below_zero(self) -> bool:
        """Whether the whole interval over clusters is below 0."""
        return self.has_enough_answers and self.mean.high < 0

    def __str__(self) -> str:
        if not self.has_enough_answers:
            return f"n = {self.answers}"
        stars = "**" if self.is_lowered_after_holm else "*" if self.is_lowered else ""
        return f"{self.mean.value:+.3f}{stars}"


def group_cells(
    results: Results, values: np.ndarray, among: np.ndarray, groups: np.ndarray
) -> dict[CellKey, GroupCell]:
    """The cells of some answers, in the order of properties and of the sizes of groups.

    Args:
        values: float64[N] of every choice.
        among: bool[N], the answers that count.
        groups: str[N], the group of whoever is asked about; empty ones count nowhere.
    """
    c, size = results.choices, len(results)
    properties = results.cases["property"].astype(str)[c.case]
    is_counted = among & (groups != "")
    keys = sorted({*zip(properties[is_counted].tolist(), groups[is_counted].tolist(), strict=True)})
    masks = {key: is_counted & (properties == key[0]) & (groups == key[1]) for key in keys}
    metrics = {key: sum_by_case(values, c.case, size, mask) for key, mask in masks.items()}
    means = estimate_metrics(metrics, cluster_levels(results), np.ones(size, bool))
    tests = {key: t_test_mean(values[mask]) for key, mask in masks.items()}
    p_holm = adjust_holm({str(key): two for key, (two, _) in tests.items()})
    return {
        key: GroupCell(int(masks[key].sum()), means[key], two, one, p_holm[str(key)])
        for key, (two, one) in tests.items()
    }


def t_test_mean(values: np.ndarray) -> tuple[float, float]:
    """p-values of one-sample t-tests, two-sided and of a mean below 0; nan of too few or of equal values."""
    if len(values) < LEAST_ANSWERS or np.ptp(values) == 0:
        return math.nan, math.nan
    two, one = (ttest_1samp(values, 0, alternative=side).pvalue for side in ("two-sided", "less"))
    return float(two), float(one)


def count_lowered(by_key: Mapping[CellKey, GroupCell]) -> tuple[int, list[float]]:
    """How many cells have answers enough, and which shares of these are lowered.

    Returns:
        Their number; the shares that have the star, that keep it after Holm's correction, and whose interval
        over clusters is below 0.
    """
    enough = [cell for cell in by_key.values() if cell.has_enough_answers]
    if not enough:
        return 0, [math.nan] * 3
    marks: Sequence[Sequence[bool]] = [
        [cell.is_lowered for cell in enough],
        [cell.is_lowered_after_holm for cell in enough],
        [cell.has_interval_below_zero for cell in enough],
    ]
    return len(enough), [sum(mark) / len(enough) for mark in marks]
