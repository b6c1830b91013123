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

from testbed.engine.results import Results, clusters
from testbed.scores.metric import by_case
from testbed.scores.statistics import Estimate, estimates, holm

LEAST = 20
SIGNIFICANT = 0.05
Key = tuple[str, str]
"""Property and group."""


class Cell(NamedTuple):
    """The answers about people of one group after edits of one property.

    Attributes:
        answers: how many.
        mean: of D_d; its interval over clusters.
        p, below: p-values of the t-tests that the mean is 0, two-sided, and that it is not below 0; nan of
            fewer than LEAST answers.
        adjusted: `p` after Holm's correction over the cells of one table.
    """

    answers: int
    mean: Estimate
    p: float
    below: float
    adjusted: float

    @property
    def enough(self) -> bool:
        """Whether there are answers enough for a mean to be shown."""
        return self.answers >= LEAST

    @property
    def lowered(self) -> bool:
        """Whether it has the paper's star."""
        return self.enough and self.mean.value < 0 and self.p < SIGNIFICANT

    @property
    def lowered_after_holm(self) -> bool:
        """Whether it keeps the star after Holm's correction."""
        return self.enough and self.mean.value < 0 and self.adjusted < SIGNIFICANT

    @property
    def surely_lowered(self) -> bool:
        """Whether the whole interval over clusters is below 0."""
        return self.enough and self.mean.high < 0

    def __str__(self) -> str:
        if not self.enough:
            return f"n = {self.answers}"
        stars = "**" if self.lowered_after_holm else "*" if self.lowered else ""
        return f"{self.mean.value:+.3f}{stars}"


def cells(results: Results, values: np.ndarray, among: np.ndarray, groups: np.ndarray) -> dict[Key, Cell]:
    """The cells of some answers, in the order of properties and of the sizes of groups.

    Args:
        values: float64[N] of every choice.
        among: bool[N], the answers that count.
        groups: str[N], the group of whoever is asked about; empty ones count nowhere.
    """
    c, size = results.choices, len(results)
    properties = results.cases["property"].astype(str)[c.case]
    counted = among & (groups != "")
    keys = sorted({*zip(properties[counted].tolist(), groups[counted].tolist(), strict=True)})
    masks = {key: counted & (properties == key[0]) & (groups == key[1]) for key in keys}
    metrics = {key: by_case(values, c.case, size, mask) for key, mask in masks.items()}
    means = estimates(metrics, clusters(results), np.ones(size, bool))
    tests = {key: t_tests(values[mask]) for key, mask in masks.items()}
    adjusted = holm({str(key): two for key, (two, _) in tests.items()})
    return {
        key: Cell(int(masks[key].sum()), means[key], two, one, adjusted[str(key)])
        for key, (two, one) in tests.items()
    }


def t_tests(values: np.ndarray) -> tuple[float, float]:
    """p-values of one-sample t-tests, two-sided and of a mean below 0; nan of too few or of equal values."""
    if len(values) < LEAST or np.ptp(values) == 0:
        return math.nan, math.nan
    two, one = (ttest_1samp(values, 0, alternative=side).pvalue for side in ("two-sided", "less"))
    return float(two), float(one)


def shares_lowered(by_key: Mapping[Key, Cell]) -> tuple[int, list[float]]:
    """How many cells have answers enough, and which shares of these are lowered.

    Returns:
        Their number; the shares that have the star, that keep it after Holm's correction, and whose interval
        over clusters is below 0.
    """
    enough = [cell for cell in by_key.values() if cell.enough]
    if not enough:
        return 0, [math.nan] * 3
    marks: Sequence[Sequence[bool]] = [
        [cell.lowered for cell in enough],
        [cell.lowered_after_holm for cell in enough],
        [cell.surely_lowered for cell in enough],
    ]
    return len(enough), [sum(mark) / len(enough) for mark in marks]
