"""The support law: consequences by how many subjects share the new object, as picture and table."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from testbed.evaluations.hase.meanings import FOLLOWS
from testbed.pages.charts import finish_figure, interval_halves, make_panels, wrap_title
from testbed.pages.style import AGENT, GRID, MODEL, QUIET, picture_style, save_figure
from testbed.run.strata import SUPPORT_BINS
from testbed.scores.comparison import ScoredEditor
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.tables import Cell, Table, better_of

SUPPORT_LABELS = {FOLLOWS: "consequences followed"}


def draw_support(editors: Sequence[ScoredEditor], metric: str, path: Path) -> None:
    """A panel an editor: one metric by support, with intervals; the agent, and all others in grey."""
    with picture_style():
        figure, axes = make_panels(len(editors))
        at = np.arange(len(SUPPORT_BINS))
        curves = [_support_curve(e, e.name, metric) for e in editors]
        for axis, editor, curve in zip(axes, editors, curves, strict=True):
            for other in curves:
                if other is not curve:
                    axis.plot(at, other[0], color=QUIET, lw=0.7, alpha=0.5, zorder=1)
            agent = _support_curve(editor, BAYESIAN, metric)
            axis.plot(
                at, agent[0], "_", color=AGENT, markersize=13, markeredgewidth=2.4, label="rational agent"
            )
            axis.errorbar(
                at, curve[0], curve[1:], fmt="o-", color=MODEL, ms=4, lw=1.2, capsize=2, label="this editor"
            )
            axis.set_title(wrap_title(editor.name), fontsize=9)
            axis.set_xticks(at, SUPPORT_BINS)
            axis.grid(axis="y", color=GRID, lw=0.6)
        if len(editors) > 1:
            axes[0].plot([], [], color=QUIET, lw=0.9, label="the other editors")
        finish_figure(
            figure, axes, "subjects that share the new object (support)", SUPPORT_LABELS.get(metric, metric)
        )
        save_figure(figure, path)


def _support_curve(editor: ScoredEditor, reader: str, metric: str) -> np.ndarray:
    """float64[3, bins]: value, and how far its interval reaches below and above."""
    estimates = [editor.summary[f"support {name}"][reader][metric] for name in SUPPORT_BINS]
    value, low, high = (np.array([e[i] for e in estimates]) for i in range(3))
    return np.stack([value, *interval_halves(value, low, high)])


def support_table(editors: Sequence[ScoredEditor], metric: str, key: str) -> Table:
    """One metric of contradicting edits, a column a bin of the new object's support."""
    subsets = [f"support {name}" for name in SUPPORT_BINS]
    readers = [(e, e.name) for e in editors] + [
        (editors[0], floor) for floor in editors[0].reference_names if floor != NO_EDIT
    ]
    rows: list[list[Cell]] = [
        [reader, *(e.summary[subset][reader].get(metric) for subset in subsets)] for e, reader in readers
    ]
    heads = [f"{name} subjects" if name != "0" else "0 (noise)" for name in SUPPORT_BINS]
    direction = better_of(editors[0].evaluation.metrics)[metric]
    return Table(
        key,
        f"{metric}, by support",
        ["editor", *heads],
        rows,
        "Contradicting edits, by how many subjects have the new object as their true one.",
        better=dict.fromkeys(heads, direction),
        contest=len(editors),
    )
