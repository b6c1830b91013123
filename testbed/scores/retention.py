"""Do edits last? Scores right after each edit of a sequence, and after more of them (design.md 7)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from testbed.engine.results import cluster_levels
from testbed.scores.comparison import ScoredEditor
from testbed.scores.measures import EvaluationMetrics
from testbed.scores.metric import Metric
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import Cell, Table


class Retention(NamedTuple):
    """The first k edits of every sequence: each scored at once, and all scored after k; by metric."""

    edits: int
    immediate: dict[str, Estimate]
    retained: dict[str, Estimate]


def retention_curve(editor: ScoredEditor) -> list[Retention]:
    """Immediate and retained scores by number of edits; empty for independent edits."""
    results, evaluation, curve = editor.edited.results, editor.evaluation, []
    names = followed_metrics(evaluation)

    def pick_metrics(metrics: dict[str, Metric]) -> dict[str, Metric]:
        return {name: metrics[name] for name in names if name in metrics}

    for edits, after in editor.edited.retained.items():
        later = evaluation.measure(after, evaluation.readers(after, editor.name)[editor.name])
        among = results.cases["position"] < edits
        now = pick_metrics(editor.values[editor.name])
        curve.append(
            Retention(
                edits,
                estimate_metrics(now, cluster_levels(results), among),
                estimate_metrics(pick_metrics(later), cluster_levels(after), np.ones(len(after), bool)),
            )
        )
    return curve


def followed_metrics(evaluation: EvaluationMetrics) -> list[str]:
    """The metrics that are followed along sequences."""
    return [meaning.name for meaning in evaluation.metrics if meaning.follows_sequences]


def retention_table(editors: Sequence[ScoredEditor], curves: dict[str, list[Retention]]) -> Table | None:
    """Immediate and retained metrics of every editor, a row a number of edits."""
    names = followed_metrics(editors[0].evaluation) if editors else []
    rows: list[list[Cell]] = [
        [e.name, at.edits, *(part.get(name) for name in names for part in (at.immediate, at.retained))]
        for e in editors
        for at in curves.get(e.name, [])
    ]
    header = ["editor", "edits", *(f"{name}, {when}" for name in names for when in ("at once", "kept"))]
    note = "The first edits of every sequence: each scored at once, and all of them after the last."
    return Table("retention", "Scores at once, and kept", header, rows, note) if rows else None
