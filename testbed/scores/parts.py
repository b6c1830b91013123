"""Results a part of their cases at a time: a part's arrays fit into the processor's cache.

Every metric is a pair of numbers per case, so that cases can be measured apart, and side by side.
"""

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from corpus.compiled import map_in_order
from testbed.engine.results import Choices, Claims, Passages, Results
from testbed.scores.metric import Metric
from testbed.scores.readers import Reader

Name = TypeVar("Name", bound=Hashable)
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
    tables = [_rows_by_part(of.case, len(results), size) for of in _tables_of(results)]
    for first, *rows in zip(range(0, len(results), size), *tables, strict=True):
        cases = slice(first, min(first + size, len(results)))
        part = replace(
            results,
            cases={name: column[cases] for name, column in results.cases.items()},
            choices=_take_choices(results.choices, rows[0], first),
            claims=Claims(*(column[rows[1]] for column in results.claims))._replace(
                case=results.claims.case[rows[1]] - first
            ),
            passages=Passages(*(column[rows[2]] for column in results.passages))._replace(
                case=results.passages.case[rows[2]] - first
            ),
            lost=None if results.lost is None else results.lost[cases],
            recalibrated=None if results.recalibrated is None else results.recalibrated[rows[0]],
        )
        yield CasePart(part, cases, *rows)


def measure_parts(results: Results, measure: Callable[[CasePart], dict[Name, Metric]]) -> dict[Name, Metric]:
    """Metrics of all cases, of which `measure` gives those of some; on all cores."""
    parts = split_cases(results, CASES_IN_A_PART)
    return join_metrics([*map_in_order(measure, parts, os.cpu_count() or 1)])


def take_readers(readers: Mapping[str, Reader], part: CasePart) -> dict[str, Reader]:
    """What readers of the whole results answer in a part of them.

    An array that several of them have, or one before and after the edit, is one array again.
    """
    taken: dict[int, np.ndarray] = {}

    def take(array: np.ndarray, rows: Rows) -> np.ndarray:
        return taken.setdefault(id(array), array[rows])

    def take_known(array: np.ndarray | None, rows: Rows) -> np.ndarray | None:
        return None if array is None else take(array, rows)

    return {
        name: reader._replace(
            probability=take(reader.probability, part.choices),
            answer=take(reader.answer, part.choices),
            start=take(reader.start, part.choices),
            start_answer=take(reader.start_answer, part.choices),
            claims=take_known(reader.claims, part.claims),
            texts=take_known(reader.texts, part.passages),
            losses=take_known(reader.losses, part.passages),
            lost=take_known(reader.lost, part.cases),
        )
        for name, reader in readers.items()
    }


def join_metrics(parts: Sequence[Mapping[Name, Metric]]) -> dict[Name, Metric]:
    """Metrics of parts, case after case."""
    return {
        name: metric._replace(
            numerator=np.concatenate([part[name].numerator for part in parts]),
            denominator=np.concatenate([part[name].denominator for part in parts]),
        )
        for name, metric in parts[0].items()
    }


def _tables_of(results: Results) -> tuple[Choices, Claims, Passages]:
    return results.choices, results.claims, results.passages


def _take_choices(choices: Choices, rows: Rows, first: int) -> Choices:
    columns = {name: getattr(choices, name)[rows] for name in Choices._fields if name != "facets"}
    facets = {name: column[rows] for name, column in choices.facets.items()}
    return Choices(**columns | {"case": columns["case"] - first}, facets=facets)


def _rows_by_part(case: np.ndarray, cases: int, size: int) -> Sequence[Rows]:
    """The rows of each part's cases in a table, case by case."""
    edges = [*range(0, cases, size), cases]
    if (case[1:] >= case[:-1]).all():
        ends = np.searchsorted(case, edges).tolist()
        return [slice(*pair) for pair in pairwise(ends)]
    order = np.argsort(case, kind="stable")
    return np.split(order, np.searchsorted(case[order], edges[1:-1]))
