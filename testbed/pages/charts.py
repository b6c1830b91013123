"""How pictures look and are written, pictures of several panels, and the picture of a training."""

import io
import math
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import scipy
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from corpus.files import staged_file
from testbed.pages.chapter import Chart, Picture
from testbed.pages.messages import NOTHING, capitalise, describe_extremes, describe_lines, format_number
from testbed.pages.palette import (
    AGENT,
    GRID,
    JOIN,
    LINES,
    MODEL,
    ON_DARK,
    PAPER,
    QUIET,
    TEXT,
    assign_slots,
    colour_of,
    has_ring,
)
from testbed.run.strata import SUPPORT_BINS
from testbed.scores.frame import EDITOR, Frame
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.statistics import Estimate
from testbed.scores.views import Column, View, choose_readers, make_table

matplotlib.use("Agg")
import matplotlib.pyplot as plt

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


STYLE: dict = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.dpi": 150,
    "savefig.bbox": "tight",
    # Names are never formulas, whatever signs they hold.
    "text.parse_math": False,
    # Text of an SVG stays text; the same numbers make the same bytes.
    "svg.fonttype": "none",
    "svg.hashsalt": "credence",
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), TEXT),
}


@contextmanager
def picture_style(**changes: object) -> Iterator[None]:
    """Draw in this style; letters that no font has become boxes, without a word each."""
    with plt.rc_context(STYLE | changes), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, or as SVG that is dark on a dark page, whole or not at all, and close it."""
    try:
        with staged_file(path) as aside:
            if path.suffix == ".svg":
                svg = io.StringIO()
                figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None})
                rules = (
                    f'[style*="{how}: {light}"]{{{how}:{dark}!important}}'
                    for light, dark in ON_DARK.items()
                    for how in ("fill", "stroke")
                )
                style = f"<style>@media screen and (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"
                head, end, rest = NOT_XML.sub("\ufffd", svg.getvalue()).partition("<defs>")
                aside.write_text(f"{head}{style}{end}{rest}", encoding="utf-8")
            else:
                figure.savefig(aside, format="png")
    finally:
        plt.close(figure)


FEW, MANY = SUPPORT_BINS[:2], SUPPORT_BINS[3:]
"""Objects that one subject has or none, and those that five have or more."""
WHITE = "#fefefe"
"""White that stays white on a dark page, as what lies below it does."""
COLUMNS = 4
PANEL = (2.6, 2.1)
WORDS_IN_A_ROW = 24
"""Letters of all ticks of a panel that stand side by side; longer ones are slanted."""
MARKS = ("o-", "s--", "^:", "D-.")
"""When every colour has had its turn, the next mark."""


def draw_chart(chart: Chart, frame: Frame, folder: Path) -> Picture:
    """Draw a chart of the frame; its message is made from the numbers."""
    path, what = folder / chart.file, chart.what or chart.up or chart.across
    if chart.kind == "lines":
        lines = lines_of(frame, chart.lines)
        draw_lines(lines, chart.ticks, chart.across, chart.up, path)
        return Picture(chart.file, chart.says, describe_lines(lines, chart.ticks, what))
    (columns,) = chart.lines.values()
    own = _points_of(frame, columns, EDITOR)
    if chart.kind == "bins":
        (agent,) = _points_of(frame, columns, BAYESIAN).values()
        draw_by_bin(own, agent, chart.ticks, chart.across, chart.up, path)
        return Picture(chart.file, chart.says, _describe_support(own.values(), what))
    if chart.kind == "panels":
        draw_bar_panels(own, chart.ticks, chart.across, path)
        values = {f"{tick} by {who}": point.value for who, points in own.items()
                  for tick, point in zip(chart.ticks, points, strict=True) if point}  # fmt: skip
    else:
        rows = _points_of(frame, columns, EDITOR, NO_EDIT, BAYESIAN)
        draw_bars(rows, chart.ticks, chart.across, path)
        values = {who: points[0].value for who, points in rows.items() if points[0]}
    return Picture(chart.file, chart.says, describe_extremes(values, what))


def lines_of(frame: Frame, lines: Mapping[str, Sequence[str | Column]]) -> dict[str, dict[str, list[Any]]]:
    """By editor and by name of a line, its estimates; of the editors that have all of them."""
    tables = {name: make_table(View("", name, columns), frame) for name, columns in lines.items()}
    by_line = {name: {str(who): cells for who, *cells in table.rows} for name, table in tables.items()}
    return {
        editor: {name: of[editor] for name, of in by_line.items()}
        for editor in choose_readers(frame, (EDITOR,))
        if all(None not in of.get(editor, [None]) for of in by_line.values())
    }


def _points_of(frame: Frame, columns: Sequence[Any], *who: str) -> dict[str, list[Any]]:
    """By reader, the estimates of some columns."""
    return {str(name): points for name, *points in make_table(View("", "", columns, who=who), frame).rows}


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
            at = np.arange(len(ticks))
            for i, (name, line) in enumerate(lines.items()):
                # Side by side, so that intervals do not hide each other.
                place, mark = at + 0.08 * (i - (len(lines) - 1) / 2), MARKS[i // len(LINES) % len(MARKS)]
                draw_interval_line(axis, place, line, fmt=mark, color=LINES[i % len(LINES)], label=name)
            axis.set_title(wrap_title(title), fontsize=9)
            if sum(map(len, ticks)) > WORDS_IN_A_ROW:
                axis.set_xticks(at, ticks, rotation=25, ha="right", fontsize=8)
            else:
                axis.set_xticks(at, ticks)
            axis.set_xlim(-0.5, len(ticks) - 0.5)
            axis.grid(axis="y", color=GRID, lw=0.6)
        finish_figure(figure, axes, across, up)
        save_figure(figure, path)


def draw_by_bin(
    lines: Mapping[str, Sequence[Estimate]],
    agent: Sequence[Estimate],
    bins: Sequence[str],
    across: str,
    up: str,
    path: Path,
) -> None:
    """A panel an editor: its line over bins with intervals, the agent's, and those of all others in grey."""
    slots, at = assign_slots(lines), np.arange(len(bins))
    with picture_style():
        figure, axes = make_panels(len(lines))
        for axis, (name, line) in zip(axes, lines.items(), strict=True):
            for other in lines:
                if other != name:
                    axis.plot(at, [e.value for e in lines[other]], color=QUIET, lw=0.7, alpha=0.5, zorder=1)
            values = [e.value for e in agent]
            axis.plot(
                at, values, "_", color=AGENT, markersize=13, markeredgewidth=2.4, label="rational agent"
            )
            colour = colour_of(slots[name]).light
            ring = PAPER if has_ring(slots[name]) else colour
            draw_interval_line(axis, at, line, fmt="o-", color=colour, mfc=ring, ms=4, label="this editor")
            axis.set_title(wrap_title(name), fontsize=9)
            axis.set_xticks(at, bins)
            axis.grid(axis="y", color=GRID, lw=0.6)
        if len(lines) > 1:
            axes[0].plot([], [], color=QUIET, lw=0.9, label="the other editors")
        finish_figure(figure, axes, across, up)
        save_figure(figure, path)


def _describe_support(lines: Iterable[Sequence[Estimate]], what: str) -> str:
    """Whether a metric of all editors together is higher where many subjects share the new object.

    Args:
        lines: of each editor, an estimate for each of SUPPORT_BINS.
    """
    by_bin = dict(zip(SUPPORT_BINS, zip(*lines, strict=True), strict=True))
    few, many = (_mean_of_all([e for b in bins for e in by_bin[b]]) for bins in (FEW, MANY))
    if few is None or many is None:
        return f"{capitalise(what)} by support: {NOTHING}"
    rises = "rises with" if many > few else "does not rise with"
    return (
        f"{capitalise(what)} {rises} support: {format_number(few)} where one subject or none has the "
        f"object, {format_number(many)} where five or more do, over all editors"
    )


def _mean_of_all(estimates: Sequence[Estimate]) -> float | None:
    """The mean of some estimates, weighted by cases; None where there are none."""
    known = [e for e in estimates if e.cases and not math.isnan(e.value)]
    cases = sum(e.cases for e in known)
    return sum(e.value * e.cases for e in known) / cases if cases else None


def draw_bars(
    rows: Mapping[str, Sequence[Estimate | None]], names: Sequence[str], across: str, path: Path
) -> None:
    """A group of bars for each row, a bar for each of its names, with intervals."""
    with picture_style():
        figure, axis = plt.subplots(figsize=(6.8, 0.9 + 0.34 * len(rows) * max(len(names) / 2, 1)))
        at, width = np.arange(len(rows))[::-1], 0.8 / len(names)
        for i, name in enumerate(names):
            value, low, high = _bounds_of([estimates[i] for estimates in rows.values()])
            place = at + width * ((len(names) - 1) / 2 - i)
            axis.barh(place, value, width, xerr=interval_halves(value, low, high),
                      color=LINES[i % len(LINES)], capsize=1.5, label=name)  # fmt: skip
        axis.set_yticks(at, list(rows), fontsize=8)
        axis.grid(axis="x", color=GRID, lw=0.6)
        finish_figure(figure, [axis], across, "")
        save_figure(figure, path)


def draw_bar_panels(
    panels: Mapping[str, Sequence[Estimate | None]], names: Sequence[str], across: str, path: Path
) -> None:
    """A panel an editor in its colour, a bar for each name, with intervals; of shares."""
    at, slots = np.arange(len(names))[::-1], assign_slots(panels)
    with picture_style():
        figure, axes = make_panels(len(panels))
        for axis, (title, estimates) in zip(axes, panels.items(), strict=True):
            value, low, high = _bounds_of(estimates)
            colour = colour_of(slots[title]).light
            axis.barh(at, value, 0.7, xerr=interval_halves(value, low, high), color=colour, capsize=1.5)
            axis.set_yticks(at, list(names), fontsize=7)
            axis.set_xlim(0, 1.02)
            axis.set_title(wrap_title(title), fontsize=9)
            axis.grid(axis="x", color=GRID, lw=0.6)
        finish_figure(figure, axes, across, "")
        save_figure(figure, path)


def _bounds_of(estimates: Sequence[Estimate | None]) -> Iterator[np.ndarray]:
    """Values, and both ends of their intervals; NaN where there is none."""
    return (np.array([e[k] if e else np.nan for e in estimates]) for k in range(3))


def draw_interval_line(axis: Axes, at: Any, line: Sequence[Estimate], **style: Any) -> None:
    """Estimates at some places, with their intervals."""
    value, low, high = (np.array([e[k] for e in line]) for k in range(3))
    axis.errorbar(
        at, value, interval_halves(value, low, high), **{"ms": 3.5, "lw": 1.2, "capsize": 2} | style
    )


def make_panels(count: int) -> tuple[Figure, list[Axes]]:
    """A grid of `count` panels, at most COLUMNS a row, which share their axes."""
    if count == 1:
        figure, axis = plt.subplots(figsize=(6.4, 3.2))
        return figure, [axis]
    rows = math.ceil(count / COLUMNS)
    columns = math.ceil(count / rows)
    size = (PANEL[0] * columns, PANEL[1] * rows + 0.5)
    figure, grid = plt.subplots(rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False)
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


def spread_labels(positions: Sequence[float], gap: float) -> np.ndarray:
    """Positions near the wanted ones, in their order, at least `gap` apart, with the same mean."""
    order = np.argsort(positions, kind="stable")
    steps, placed = gap * np.arange(len(order)), np.empty(len(order))
    # In steps of the gap, least squares without overtaking is isotonic regression.
    placed[order] = scipy.optimize.isotonic_regression(np.asarray(positions, float)[order] - steps).x + steps
    return placed


def label_right(figure: Figure, axis: Axes, labels: Sequence[tuple[str, float, float]]) -> None:
    """Names beside the axes, each joined to its point by a thin line."""
    low, high = axis.get_ylim()
    height = figure.get_size_inches()[1] * axis.get_position().height
    places = spread_labels([y for _, _, y in labels], 0.19 / height * (high - low))
    for (name, x, y), place in zip(labels, places, strict=True):
        axis.annotate(
            name,
            (x, y),
            xytext=(1.03, (place - low) / (high - low)),
            textcoords="axes fraction",
            fontsize=8.5,
            va="center",
            arrowprops={"arrowstyle": "-", "color": JOIN, "lw": 0.6, "shrinkB": 4},
        )


LABEL_STYLES = {"truth": "-", "not": "--", "and": "-.", "or": ":"}


def draw_training(metrics: Sequence[dict], path: Path) -> str:
    """Accuracy of facts and of every kind of sentence, and loss, against training steps (Hase, Fig. 3).

    Returns:
        What is to be seen, in a sentence.
    """
    with picture_style():
        figure, axis = plt.subplots(figsize=(6.4, 3.6))
        steps = [m["step"] for m in metrics]
        axis.plot(
            steps, [m["accuracy"] for m in metrics], color=MODEL, marker="o", markersize=3, label="facts"
        )
        for kind, style in LABEL_STYLES.items():
            if metrics and kind in metrics[0]:
                axis.plot(steps, [m[kind] for m in metrics], color=AGENT, linestyle=style, lw=1, label=kind)
        axis.set(xlabel="training step", ylabel="accuracy", ylim=(0, 1.02), xlim=(0, None))
        axis.legend(frameon=False, ncols=5, fontsize=8, loc="lower right")
        other = axis.twinx()
        other.plot(steps, [m["loss"] for m in metrics], color=QUIET)
        other.set_ylabel("loss (nats per token)", color=QUIET)
        other.spines["right"].set_visible(True)
        save_figure(figure, path)
    if not metrics:
        return "Nothing is known of the training"
    return f"After {metrics[-1]['step']:,} steps the model states {metrics[-1]['accuracy']:.0%} of the facts"
