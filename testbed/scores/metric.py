"""What a metric is: a pair of numbers per case, and what it means (design.md 11).

A metric's value is the ratio of the sums of its two columns. For a mean the denominator is 1 where a case has
the metric and 0 where it has not. That makes means, shares and ratios of sums one
thing to pool, to pair and to bootstrap.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any, Literal, NamedTuple

import numpy as np

from testbed.engine.results import Results

Better = Literal["high", "low", "one"]
Place = Literal["headline", "compared", "table", "file"]
DISTANCE = (0.0, 1.0)
"""The limits of total variation, and of what else is a distance of probabilities."""
_LEVELS: tuple[Place, ...] = ("headline", "compared", "table", "file")
ARROWS: dict[str, str] = {"high": "↑", "low": "↓", "one": "→1"}
SIZE_RECORDS = ("2026-11-26-transfer", "2026-11-27-transfer")
"""Records of the same editors on models of several sizes, behind `MetricDefinition.alike`."""


class MetricDefinition(NamedTuple):
    """What a metric says, as an evaluation's table of metrics has it.

    Attributes:
        id: by which files and code know it.
        description: for people, in a sentence or two.
        better: whether high or low values are better, or those near one.
        shown_in: headline: what commands print; compared: in the report's first table too, with paired
            differences; table: in tables; file: in files only. Each includes those before it.
        follows_sequences: whether it is followed along sequences of edits.
        compute: the metric of a reader from its `testbed.scores.readers.Answers`, or what the evaluation has
            in their place; None where it means nothing for that reader.
        needs_edit: whether it means nothing before an edit.
        of_claims: whether it is about truth values, so that who gives nothing else has it.
        label: as tables and pictures show it; its id if there is none.
        version: raised when the metric comes to another figure of the same answers.
        alike: of the pairs of editors that surely differ in it on a model of 83 million parameters, how many
            models of 0.4 to 20 million order alike, and how many pairs these are; None if not measured.
    """

    id: str
    description: str
    better: Better
    shown_in: Place = "table"
    follows_sequences: bool = False
    compute: Callable[[Any], "Metric | None"] = lambda _: None
    needs_edit: bool = False
    of_claims: bool = False
    label: str = ""
    version: int = 1
    alike: tuple[int, int] | None = None

    @property
    def title(self) -> str:
        """What people see."""
        return self.label or self.id


def make_id(words: str) -> str:
    """Words as part of an id.

    >>> make_id("consequence of old object's holder")
    'consequence_of_old_object_s_holder'
    """
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")


def labels_of(definitions: Iterable[MetricDefinition]) -> dict[str, str]:
    """What people see of some metrics, by id."""
    return {m.id: m.title for m in definitions}


def metrics_shown_in(definitions: Sequence[MetricDefinition], where: Place) -> list[str]:
    """Ids of the metrics that are shown at one place."""
    return [m.id for m in definitions if _LEVELS.index(m.shown_in) <= _LEVELS.index(where)]


class Metric(NamedTuple):
    """A metric per case.

    Attributes:
        numerator, denominator: float64[E].
        share: whether it counts how many of some things are so. Then a value of 0 or 1 is what was seen, and
            what was not seen may exist; a distance of 0 is a distance of 0.
        limits: the least and the most that the ratio of any cases can be; its interval ends there. Below a
            least of 0 there is nothing to average out: such means have an interval of their own.
    """

    numerator: np.ndarray
    denominator: np.ndarray
    share: bool = False
    limits: tuple[float, float] = (-inf, inf)

    @property
    def by_case(self) -> np.ndarray:
        """float64[E], NaN where a case does not have the metric."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.numerator / self.denominator

    def take(self, cases: np.ndarray) -> "Metric":
        """The metric of some cases, int[n]."""
        return self._replace(numerator=self.numerator[cases], denominator=self.denominator[cases])

    def value(self) -> float:
        """The ratio of sums; nan where no case has the metric."""
        total = float(self.denominator.sum())
        return float(self.numerator.sum()) / total if total else float("nan")


def mean_of(values: np.ndarray, among: np.ndarray | bool = True) -> Metric:
    """The mean of values over some cases; a share where they are true or false.

    >>> followed, must_change = np.array([True, False, True]), np.array([True, True, False])
    >>> metric = mean_of(followed, must_change)
    >>> float(metric.numerator.sum() / metric.denominator.sum()), metric.share
    (0.5, True)
    """
    there = np.broadcast_to(among, values.shape)
    return Metric(np.where(there, values, 0.0), there.astype(float), share=values.dtype == bool)


def sum_by_case(values: np.ndarray, case: np.ndarray, cases: int, among: np.ndarray | bool = True) -> Metric:
    """Values of questions, summed by case, over some of them.

    Args:
        case: int64, the row of each question's case.
        cases: how many there are.
    """
    # Places are taken much faster than a mask is applied.
    there = np.flatnonzero(np.broadcast_to(among, values.shape))
    case_there = case[there]
    total = np.bincount(case_there, values[there], cases)
    return Metric(total, np.bincount(case_there, minlength=cases).astype(float), values.dtype == bool)


def all_cases(results: Results) -> dict[str, np.ndarray]:
    """The only part of the cases that is reported on where an evaluation has no others."""
    return {"all": np.ones(len(results), bool)}
