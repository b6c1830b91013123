"""Results a part of their cases at a time: a part's arrays fit into the processor's cache.

Every metric is a pair of numbers per case, so that cases can be measured apart, and side by side.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from corpus.errors import InputError
from testbed.engine.results import Choices, Claims, Passages, Results
from testbed.scores.cores import map_on_cores
from testbed.scores.metric import Metric

Name = TypeVar("Name", bound=Hashable)
Table = TypeVar("Table", Choices, Claims, Passages)
CASES_IN_A_PART = 1000
"""So many are measured at a time."""
Rows = slice | np.ndarray
"""Which rows of a table; a slice where they stand together, so that nothing is copied."""


class CasePart(NamedTuple):
    """Some cases of results, and which rows of the whole they and their questions are."""

    results: Results
    cases: slice
    choices: Rows
    claims: Rows
    passages: Rows


def split_cases(results: Results, size: int) -> Iterator[CasePart]:
    """The results in parts of at most `size` cases, in their order; questions follow their case."""
    tables = (results.choices, results.claims, results.passages)
    rows_by_part = zip(*(_rows_by_part(table.case, len(results), size) for table in tables), strict=True)
    for first, rows in zip(range(0, len(results), size), rows_by_part, strict=True):
        cases = slice(first, min(first + size, len(results)))
        part = replace(
            results,
            cases={name: column[cases] for name, column in results.cases.items()},
            choices=_take_rows(results.choices, rows[0], first),
            claims=_take_rows(results.claims, rows[1], first),
            passages=_take_rows(results.passages, rows[2], first),
            lost=None if results.lost is None else results.lost[cases],
            recalibrated=None if results.recalibrated is None else results.recalibrated[rows[0]],
        )
        yield CasePart(part, cases, *rows)


def measure_parts(results: Results, measure: Callable[[CasePart], dict[Name, Metric]]) -> dict[Name, Metric]:
    """Metrics of all cases, of which `measure` gives those of some; on all cores."""
    return join_metrics(map_on_cores(measure, [*split_cases(results, CASES_IN_A_PART)]))


def join_metrics(parts: Sequence[Mapping[Name, Metric]]) -> dict[Name, Metric]:
    """Metrics of parts, case after case.

    Raises:
        InputError: a part has other metrics than the first, so they depend on more than the reader.
    """
    for part in parts:
        if odd := part.keys() ^ parts[0].keys():
            raise InputError(
                f"the metrics {', '.join(map(str, odd))} are None for some cases only; whether a metric is "
                "None may depend on its reader alone: give it a denominator of 0 where a case lacks it"
            )
    return {
        name: metric._replace(
            numerator=np.concatenate([part[name].numerator for part in parts]),
            denominator=np.concatenate([part[name].denominator for part in parts]),
        )
        for name, metric in parts[0].items()
    }


def _take_rows(table: Table, rows: Rows, first: int) -> Table:
    """Some rows of a table, whose cases are numbered from `first` on."""

    def take(column: Any) -> Any:
        return {k: take(one) for k, one in column.items()} if isinstance(column, Mapping) else column[rows]

    columns = {name: take(column) for name, column in table._asdict().items()}
    return table._replace(**columns | {"case": columns["case"] - first})


def _rows_by_part(case: np.ndarray, cases: int, size: int) -> Sequence[Rows]:
    """The rows of each part's cases in a table, case by case."""
    edges = [*range(0, cases, size), cases]
    if (case[1:] >= case[:-1]).all():
        ends = np.searchsorted(case, edges).tolist()
        return [slice(*pair) for pair in pairwise(ends)]
    order = np.argsort(case, kind="stable")
    return np.split(order, np.searchsorted(case[order], edges[1:-1]))
