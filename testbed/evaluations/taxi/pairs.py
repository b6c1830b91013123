"""Typical against rare subjects, paired within category: is what is said more often harder to edit?"""

from collections.abc import Sequence

import numpy as np

from corpus.seeds import generator
from testbed.engine.results import Results
from testbed.evaluations.taxi.metrics import CONSISTENCY, PROPERTIES, SUCCESS, stratum_name
from testbed.run.strata import STRATA
from testbed.scores.comparison import ScoredEditor
from testbed.scores.metric import Metric
from testbed.scores.readers import NO_EDIT
from testbed.scores.statistics import compare_metrics
from testbed.scores.tables import Cell, Table

COMPARED_METRICS = (
    SUCCESS,
    PROPERTIES,
    CONSISTENCY,
    *(stratum_name(CONSISTENCY, stratum) for stratum in STRATA),
)


def rare_against_typical_table(editors: Sequence[ScoredEditor]) -> Table:
    """Rare minus typical, for every editor."""
    rows: list[list[Cell]] = []
    for e, reader in [*((e, e.name) for e in editors), (editors[0], NO_EDIT)]:
        rare, typical, levels = pair_cases(e.edited.results)
        rng = generator(e.edited.seed, "typical against rare")
        row: list[Cell] = [reader, len(rare)]
        for name in COMPARED_METRICS:
            metric = e.values[reader][name]
            both = (_take_cases(metric, rare), _take_cases(metric, typical))
            row.append(compare_metrics(*both, levels, np.ones(len(rare), bool), rng) if len(rare) else None)
        rows.append(row)
    return Table(
        "frequency",
        "Rare minus typical",
        ["editor", "pairs", *COMPARED_METRICS],
        rows,
        "Paired differences; above 0, rare subjects follow more. Intervals are over old and new categories.",
    )


def pair_cases(results: Results) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Cases of rare and of typical subjects with the same old and new category, the n-th with the n-th.

    Returns:
        int[P] twice, and by level, int[P], which pairs depend on each other.
    """
    cases = results.cases
    places: dict[tuple[int, ...], tuple[list[int], list[int]]] = {}
    columns = (cases.get("run", np.zeros_like(cases["truth"])), cases["truth"], cases["object"])
    for i, key in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        places.setdefault(key, ([], []))[int(bool(cases["typical"][i]))].append(i)
    pairs = [(r, t, key) for key, (rare, typical) in sorted(places.items())
             for r, t in zip(rare, typical, strict=False)]  # fmt: skip
    rare, typical = (np.array([pair[k] for pair in pairs], int) for k in range(2))
    keys = [key for *_, key in pairs]
    levels = {
        "old category": _number_keys([(run, old) for run, old, _ in keys]),
        "object": _number_keys([(run, new) for run, _, new in keys]),
    }
    return rare, typical, levels


def _number_keys(keys: Sequence[tuple[int, int]]) -> np.ndarray:
    known = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return np.array([known[key] for key in keys], int)


def _take_cases(metric: Metric, cases: np.ndarray) -> Metric:
    return metric._replace(numerator=metric.numerator[cases], denominator=metric.denominator[cases])
