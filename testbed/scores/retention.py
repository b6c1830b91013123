"""Do edits last? Scores immediately after each of a sequence of edits, and after more of them (DESIGN 7)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from testbed.engine.results import clusters
from testbed.scores.comparison import Scored
from testbed.scores.measures import Measures
from testbed.scores.metric import Metric
from testbed.scores.statistics import Estimate, estimates
from testbed.scores.tables import Cell, Table


class Kept(NamedTuple):
    """The first k edits of every sequence: each scored at once, and all scored after k; by metric."""

    edits: int
    immediate: dict[str, Estimate]
    retained: dict[str, Estimate]


def kept(editor: Scored) -> list[Kept]:
    """Immediate and retained scores by number of edits; empty for independent edits."""
    results, evaluation, curve = editor.edited.results, editor.evaluation, []
    everything = followed(evaluation)

    def some(metrics: dict[str, Metric]) -> dict[str, Metric]:
        return {name: metrics[name] for name in everything if name in metrics}

    for edits, after in editor.edited.retained.items():
        later = evaluation.measure(after, evaluation.readers(after, editor.name)[editor.name])
        among = results.cases["position"] < edits
        now = some(editor.values[editor.name])
        curve.append(
            Kept(
                edits,
                estimates(now, clusters(results), among),
                estimates(some(later), clusters(after), np.ones(len(after), bool)),
            )
        )
    return curve


def followed(evaluation: Measures) -> list[str]:
    """The metrics that are followed along sequences."""
    return [meaning.name for meaning in evaluation.metrics if meaning.kept]


def retention_table(editors: Sequence[Scored], curves: dict[str, list[Kept]]) -> Table | None:
    """Immediate and retained metrics of every editor, a row a number of edits."""
    names = followed(editors[0].evaluation) if editors else []
    rows: list[list[Cell]] = [
        [e.name, at.edits, *(part.get(name) for name in names for part in (at.immediate, at.retained))]
        for e in editors
        for at in curves.get(e.name, [])
    ]
    header = ["editor", "edits", *(f"{name}, {when}" for name in names for when in ("at once", "kept"))]
    note = "The first edits of every sequence: each scored at once, and all of them after the last."
    return Table("retention", "Scores at once, and kept", header, rows, note) if rows else None
