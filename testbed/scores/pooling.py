"""Results of several worlds or seeds as one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from testbed.engine.results import Choices, Claims, Passages, Results
from testbed.protocol import ABSENT


def pool_results(parts: Sequence[Results], runs: Sequence[int]) -> Results:
    """The cases of several results after one another, with a further column `run`.

    Args:
        runs: the run that each part is from; cases of different runs are in different clusters.
    """
    cases = {name: np.concatenate([p.cases[name] for p in parts]) for name in parts[0].cases}
    cases["run"] = np.repeat(runs, [len(p) for p in parts])
    pairs = np.stack([cases["run"], cases["cluster"]], axis=1)
    cases["cluster"] = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    first = np.cumsum([0, *(len(p) for p in parts[:-1])])
    width = max(p.choices.options.shape[-1] for p in parts)

    def join_column(which: str, name: str) -> Any:
        arrays = [getattr(getattr(p, which), name) for p in parts]
        if name == "case":
            arrays = [a + start for a, start in zip(arrays, first, strict=True)]
        if name == "facets":
            return {facet: np.concatenate([a[facet] for a in arrays]) for facet in arrays[0]}
        if name in ("options", "offered", "agent", "frequency", "lm", "lm_open") and which == "choices":
            padding = ABSENT if name == "options" else 0
            arrays = [pad_last_axis(a, width, padding) for a in arrays]
        return np.concatenate(arrays)

    return Results(
        cases,
        Choices(*(join_column("choices", name) for name in Choices._fields)),
        Claims(*(join_column("claims", name) for name in Claims._fields)),
        parts[0].times,
        Passages(*(join_column("passages", name) for name in Passages._fields)),
        sum(part.lost_edits for part in parts),
    )


def pad_last_axis(values: np.ndarray, width: int, padding: float) -> np.ndarray:
    """Values with their last axis filled up to a width."""
    rest = [(0, 0)] * (values.ndim - 1) + [(0, width - values.shape[-1])]
    return np.pad(values, rest, constant_values=padding)
