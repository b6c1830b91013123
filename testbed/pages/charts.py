"""Pictures of several panels: one for each editor, or for each of some other thing."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from testbed.pages.style import GRID, LINES, picture_style, save_figure
from testbed.scores.statistics import Estimate

COLUMNS = 4
PANEL = (2.6, 2.1)
WORDS_IN_A_ROW = 24
"""Letters of all ticks of a panel that stand side by side; longer ones are slanted."""
MARKS = ("o-", "s--", "^:", "D-.")
"""When every colour has had its turn, the next mark."""


def draw_lines(
    estimates: Mapping[str, Mapping[str, Sequence[Estimate]]],
    ticks: Sequence[str],
    across: str,
    up: str,
    path: Path,
) -> None:
    """A panel for each title in `estimates`: a line with intervals for each name, over the same ticks."""
    with picture_style():
        figure, axes = make_panels(len(estimates))
        for axis, (title, lines) in zip(axes, estimates.items(), strict=True):
            fill_panel(axis, title, lines, ticks)
        finish_figure(figure, axes, across, up)
        save_figure(figure, path)


def fill_panel(axis: Axes, title: str, lines: Mapping[str, Sequence[Estimate]], ticks: Sequence[str]) -> None:
    """Draw a line with intervals for each name, over ticks that are words."""
    at = np.arange(len(ticks))
    for i, (name, estimates) in enumerate(lines.items()):
        value, low, high = (np.array([e[k] for e in estimates]) for k in range(3))
        axis.errorbar(
            # Side by side, so that intervals do not hide each other.
            at + 0.08 * (i - (len(lines) - 1) / 2),
            value,
            interval_halves(value, low, high),
            fmt=MARKS[i // len(LINES) % len(MARKS)],
            color=LINES[i % len(LINES)],
            ms=3.5,
            lw=1.2,
            capsize=2,
            label=name,
        )
    axis.set_title(wrap_title(title), fontsize=9)
    if sum(map(len, ticks)) > WORDS_IN_A_ROW:
        axis.set_xticks(at, ticks, rotation=25, ha="right", fontsize=8)
    else:
        axis.set_xticks(at, ticks)
    axis.set_xlim(-0.5, len(ticks) - 0.5)
    axis.grid(axis="y", color=GRID, lw=0.6)


def make_panels(count: int, across: bool = True) -> tuple[Figure, list[Axes]]:
    """A grid of `count` panels, at most COLUMNS a row, which share their upright axis.

    Args:
        across: whether they share the other one, too.
    """
    if count == 1:
        figure, axis = plt.subplots(figsize=(6.4, 3.2))
        return figure, [axis]
    rows = math.ceil(count / COLUMNS)
    columns = math.ceil(count / rows)
    size = (PANEL[0] * columns, PANEL[1] * rows + 0.5)
    figure, grid = plt.subplots(rows, columns, figsize=size, sharex=across, sharey=True, squeeze=False)
    axes = list(grid.flat)
    for spare in axes[count:]:
        spare.set_visible(False)
    for axis in axes[max(0, count - columns) : count]:
        axis.tick_params(labelbottom=True)
    return figure, axes[:count]


def finish_figure(figure: Figure, axes: Sequence[Axes], across: str, up: str) -> None:
    """Labels of the whole figure, and one legend below it."""
    figure.supxlabel(across, fontsize=10)
    figure.supylabel(up, fontsize=10)
    figure.tight_layout()
    handles, words = axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        words,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=4 if len(axes) > 2 else 2,
        frameon=False,
    )


def interval_halves(
    value: np.ndarray | float, low: np.ndarray | float, high: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """How far intervals reach below and above their values."""
    below, above = (np.clip(np.atleast_1d(x), 0, None) for x in (value - low, high - value))
    return below, above


def wrap_title(name: str, width: int = 28) -> str:
    """A name as the title of a panel, on two lines at most."""
    return "\n".join(textwrap.wrap(name, width, max_lines=2, placeholder="\u2026"))
