"""Do edits last? Scores immediately after each of a sequence of edits, and after more of them (DESIGN 7)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from testbed.comparison import Scored
from testbed.metrics import Metric
from testbed.records import clusters
from testbed.statistics import Estimate, estimates
from testbed.summary import measured
from testbed.tables import Cell, Table

FOLLOWED = ("edit success", "propagation ratio", "answer s1r2, must change", "answer s2")


class Kept(NamedTuple):
    """The first k edits of every sequence: each scored at once, and all scored after k; by metric."""

    edits: int
    immediate: dict[str, Estimate]
    retained: dict[str, Estimate]


def kept(editor: Scored) -> list[Kept]:
    """Immediate and retained scores by number of edits; empty for independent edits."""
    outcomes, found = editor.edited.outcomes, []
    for edits, after in editor.edited.retained.items():
        later = measured(after, editor.name)[editor.name]
        among = outcomes.scalars["position"] < edits
        now = _followed(editor.values[editor.name])
        found.append(
            Kept(
                edits,
                estimates(now, clusters(outcomes), among),
                estimates(_followed(later), clusters(after), np.ones(len(after.objects), bool)),
            )
        )
    return found


def retention_table(editors: Sequence[Scored], curves: dict[str, list[Kept]]) -> Table | None:
    """Immediate and retained metrics of every editor, a row a number of edits."""
    rows: list[list[Cell]] = [
        [e.name, at.edits, *(part.get(name) for name in FOLLOWED for part in (at.immediate, at.retained))]
        for e in editors
        for at in curves.get(e.name, [])
    ]
    header = ["editor", "edits", *(f"{name}, {when}" for name in FOLLOWED for when in ("at once", "kept"))]
    note = "The first edits of every sequence: each scored at once, and all of them after the last."
    return Table("retention", "Scores at once, and kept", header, rows, note) if rows else None


def _followed(metrics: dict[str, Metric]) -> dict[str, Metric]:
    return {name: metrics[name] for name in FOLLOWED if name in metrics}
