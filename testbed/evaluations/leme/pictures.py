"""Pictures of LEME's chapter: a heat map of correlations, bars of errors, bars of coupling and twin."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from testbed.evaluations.leme.correlation import Correlation
from testbed.evaluations.leme.metrics import NINE, error_share
from testbed.evaluations.leme.passages import ERROR_CLASSES
from testbed.pages.charts import (
    finish_figure,
    interval_halves,
    make_panels,
    picture_style,
    save_figure,
    wrap_title,
)
from testbed.pages.inks import GRID, LINES
from testbed.pages.palette import assign_slots, colour_of
from testbed.scores.statistics import Estimate
from testbed.scores.summary import ScoredEditor

SIGNIFICANT = 0.05
WHITE = "#fefefe"
"""White that stays white on a dark page, as what lies below it does."""


def draw_correlations(
    by_pair: Mapping[tuple[str, str], Correlation], measures: Sequence[str], path: Path
) -> None:
    """Pooled correlation in colour, with its interval; bold where Holm's p is below .05."""
    with picture_style():
        figure, axis = plt.subplots(figsize=(12.4, 0.6 * len(measures) + 0.6))
        table = np.array([[by_pair[measure, question].pooled for question in NINE] for measure in measures])
        image = axis.imshow(table, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
        for i, measure in enumerate(measures):
            for j, question in enumerate(NINE):
                one = by_pair[measure, question]
                if not np.isfinite(one.pooled):
                    axis.text(j, i, "-", ha="center", va="center", fontsize=8)
                    continue
                sure = one.p < SIGNIFICANT
                text = f"{one.pooled:.2f}\n[{one.low:.2f}, {one.high:.2f}]"
                axis.text(j, i, text, ha="center", va="center", fontsize=7,
                          fontweight="bold" if sure else "normal",
                          color=WHITE if abs(one.pooled) > 0.6 else "black")  # fmt: skip
        axis.set_xticks(range(len(NINE)), [wrap_title(name, 12) for name in NINE], fontsize=8)
        axis.set_yticks(range(len(measures)), measures, fontsize=8)
        figure.colorbar(image, ax=axis, label="Spearman's correlation")
        save_figure(figure, path)


def draw_errors(editors: Sequence[ScoredEditor], path: Path) -> None:
    """A panel an editor: the share of pairs of passages that have an error of each class."""
    rows = {
        e.name: [e.summary["all"][e.name].get(error_share(name)) for name in ERROR_CLASSES] for e in editors
    }
    with picture_style():
        figure, axes = make_panels(len(rows))
        at = np.arange(len(ERROR_CLASSES))[::-1]
        slots = assign_slots(rows)
        for axis, (title, estimates) in zip(axes, rows.items(), strict=True):
            value, low, high = _interval_bounds(estimates)
            colour = colour_of(slots[title]).light
            axis.barh(at, value, 0.7, xerr=interval_halves(value, low, high), color=colour, capsize=1.5)
            axis.set_yticks(at, list(ERROR_CLASSES), fontsize=7)
            axis.set_xlim(0, 1.02)
            axis.set_title(wrap_title(title), fontsize=9)
            axis.grid(axis="x", color=GRID, lw=0.6)
        finish_figure(figure, axes, "share of pairs of passages", "")
        save_figure(figure, path)


def draw_bars(
    rows: Mapping[str, Sequence[Estimate | None]], names: Sequence[str], across: str, path: Path
) -> None:
    """A group of bars for each row, a bar for each of its names, with intervals."""
    with picture_style():
        figure, axis = plt.subplots(figsize=(6.8, 0.9 + 0.34 * len(rows) * max(len(names) / 2, 1)))
        at, width = np.arange(len(rows))[::-1], 0.8 / len(names)
        for i, name in enumerate(names):
            value, low, high = _interval_bounds([estimates[i] for estimates in rows.values()])
            place = at + width * ((len(names) - 1) / 2 - i)
            axis.barh(place, value, width, xerr=interval_halves(value, low, high),
                      color=LINES[i % len(LINES)], capsize=1.5, label=name)  # fmt: skip
        axis.set_yticks(at, list(rows), fontsize=8)
        axis.grid(axis="x", color=GRID, lw=0.6)
        finish_figure(figure, [axis], across, "")
        save_figure(figure, path)


def _interval_bounds(estimates: Sequence[Estimate | None]) -> Iterator[np.ndarray]:
    """Values, and both ends of their intervals; NaN where there is none."""
    return (np.array([e[k] if e else np.nan for e in estimates]) for k in range(3))
