"""The picture of an edit: what model and agent answer before it and after it, question by question."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from testbed.pages.charts import AGENT, MODEL, picture_style, save_figure
from testbed.scores.movement import MOVED

BARS = 4
EDITED_FACT, CONSEQUENCE = "the edited fact:\n", "what depends on it:\n"
"""What is said before the name of a relation."""


class BeliefPanel(NamedTuple):
    """A question: its label, the objects shown, and float64[2, objects] of each reader, before and after."""

    label: str
    objects: Sequence[str]
    lm: np.ndarray
    agent: np.ndarray


def find_tallest(height: np.ndarray) -> np.ndarray:
    """Which few objects are worth showing, the most probable first; float64[objects] to int64[shown]."""
    tallest = np.argsort(-height, kind="stable")[:BARS]
    return tallest[height[tallest] >= max(0.0, min(MOVED, height.max()))]


def draw_beliefs(title: str, panels: Sequence[BeliefPanel], path: Path) -> None:
    """A row a question, before the edit on the left and after it on the right, as PNG."""
    # Margins wide enough for the longest names are quicker than measuring what is drawn.
    with picture_style(**{"savefig.bbox": "standard"}):
        figure, axes = plt.subplots(
            len(panels), 2, figsize=(8.6, 2.3 * len(panels)), sharex=True, sharey="row", squeeze=False
        )
        for row, panel in zip(axes, panels, strict=True):
            at = np.arange(len(panel.objects))[::-1]
            for t, axis in enumerate(row):
                axis.barh(at + 0.19, panel.lm[t], 0.36, color=MODEL, label="language model")
                axis.barh(at - 0.19, panel.agent[t], 0.36, color=AGENT, label="rational agent")
                axis.set_yticks(at, [_shorten(name) for name in panel.objects])
                axis.set_xlim(0, 1)
                axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
            row[0].set_ylabel(panel.label, fontweight="bold")
        axes[0, 0].set_title("before the edit")
        axes[0, 1].set_title("after the edit")
        for axis in axes[-1]:
            axis.set_xlabel("probability")
        figure.suptitle(title, fontsize=12, fontweight="bold")
        figure.subplots_adjust(left=0.31, right=0.98, top=0.86, bottom=0.18, wspace=0.08, hspace=0.16)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=2, frameon=False)
        save_figure(figure, path)


def _shorten(name: str, most: int = 26) -> str:
    return name if len(name) <= most else name[: most - 1] + "\u2026"
