"""The pictures that hold several editors: the support law, cost against propagation, and retention."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from testbed.cases import SUPPORT_BINS
from testbed.comparison import Scored
from testbed.contents import amortised
from testbed.pictures import AGENT, MODEL, QUIET, STYLE, save
from testbed.retention import Kept
from testbed.statistics import Estimate

KEPT = "#8f3d76"
LINES = (MODEL, AGENT, KEPT, "#2f855a", QUIET, "#1a202c")
FOLLOWS = "answer s1r2, must change"
RATIO = "propagation ratio"
SAID = {FOLLOWS: "consequences followed"}
UNITS = {"flops": "FLOPs an edit", "seconds": "seconds an edit"}
COLUMNS = 4
PANEL = (2.6, 2.1)


class Point(NamedTuple):
    """An editor on the plane of cost and propagation; `whole` is its cost with preparation, if known."""

    name: str
    cost: float
    whole: float | None
    ratio: Estimate


def draw_support(editors: Sequence[Scored], metric: str, path: Path) -> None:
    """A panel an editor: one metric by support, with intervals; the agent, and all others in grey."""
    with plt.rc_context(STYLE):
        figure, axes = panels(len(editors))
        at = np.arange(len(SUPPORT_BINS))
        curves = [_by_support(e, e.name, metric) for e in editors]
        for axis, editor, own in zip(axes, editors, curves, strict=True):
            for other in curves:
                if other is not own:
                    axis.plot(at, other[0], color=QUIET, lw=0.7, alpha=0.5, zorder=1)
            agent = _by_support(editor, "Bayesian reader", metric)
            axis.plot(
                at, agent[0], "_", color=AGENT, markersize=13, markeredgewidth=2.4, label="rational agent"
            )
            axis.errorbar(
                at, own[0], own[1:], fmt="o-", color=MODEL, ms=4, lw=1.2, capsize=2, label="this editor"
            )
            axis.set_title(_wrapped(editor.name), fontsize=9)
            axis.set_xticks(at, SUPPORT_BINS)
            axis.grid(axis="y", color="#e4e7eb", lw=0.6)
        if len(editors) > 1:
            axes[0].plot([], [], color=QUIET, lw=0.9, label="the other editors")
        _finish(figure, axes, "subjects that share the new object (support)", SAID.get(metric, metric))
        save(figure, path)


def draw_frontier(editors: Sequence[Scored], unit: str, path: Path) -> list[str]:
    """Propagation against the cost of an edit, with the editors that nothing cheaper beats joined.

    Hollow markers count the share of the preparation too. Returns the editors drawn, those of known cost;
    without any there is no picture.

    Args:
        unit: "flops" or "seconds".
    """
    points = [
        Point(e.name, e.edited.cost[unit], amortised(e, unit), e.summary["all"][e.name][RATIO])
        for e in editors
        if _has(e, unit)
    ]
    if not points:
        return []
    best = pareto(points)
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(8.4, max(3.6, 0.27 * len(points) + 1.6)))
        axis.set_xscale("log")
        for point in points:
            value, low, high = point.ratio[:3]
            colour = MODEL if point in best else "#5f6c7b"
            axis.errorbar(
                point.cost, value, _halves(value, low, high), fmt="o", color=colour, ms=6, capsize=2, lw=1
            )
            if point.whole is not None and point.whole > point.cost * 1.01:
                axis.plot([point.cost, point.whole], [value, value], ":", color=colour, lw=1)
                axis.plot(point.whole, value, "o", color=colour, mfc="white", ms=6)
        line = axis.step(
            [p.cost for p in best], [p.ratio.value for p in best], where="post", color=AGENT, lw=1.6, zorder=1
        )
        axis.axhline(0, color=QUIET, lw=0.8)
        axis.set(xlabel=UNITS[unit], ylabel="propagation ratio (1 is Bayes)")
        axis.set_title("Does propagation cost more?")
        handles = [
            plt.Line2D([], [], marker="o", ls="", color=MODEL),
            plt.Line2D([], [], marker="o", ls="", color=MODEL, mfc="white"),
            line[0],
        ]
        words = ["one edit", "with its share of the preparation", "nothing cheaper does better"]
        axis.legend(
            handles, words, frameon=False, fontsize=8, ncols=3, loc="upper left", bbox_to_anchor=(0, -0.16)
        )
        _label_right(figure, axis, [(p.name, p.whole or p.cost, p.ratio.value) for p in points])
        save(figure, path)
    return [point.name for point in points]


def pareto(points: Sequence[Point]) -> list[Point]:
    """The points that no point of the same or less cost beats, by rising cost."""
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p.cost, -p.ratio.value)):
        if not best or point.ratio.value > best[-1].ratio.value:
            best.append(point)
    return best


def draw_retention(curves: Mapping[str, Sequence[Kept]], path: Path) -> None:
    """A panel an editor: edit success and propagation by number of edits, at once and kept."""
    with plt.rc_context(STYLE):
        figure, axes = panels(len(curves))
        for axis, (name, found) in zip(axes, curves.items(), strict=True):
            at = [k.edits for k in found]
            for metric, colour, mark in (("edit success", MODEL, "o"), (RATIO, KEPT, "s")):
                for part, style, fill in (("immediate", "--", "white"), ("retained", "-", colour)):
                    shown = [getattr(k, part)[metric] for k in found]
                    values = [e.value for e in shown]
                    low, high = ([getattr(e, end) for e in shown] for end in ("low", "high"))
                    when = "at once" if part == "immediate" else "kept"
                    axis.fill_between(at, low, high, color=colour, alpha=0.08, lw=0)
                    axis.plot(
                        at,
                        values,
                        style,
                        marker=mark,
                        ms=4,
                        color=colour,
                        mfc=fill,
                        label=f"{metric}, {when}",
                    )
            axis.set_xscale("log")
            axis.set_xticks(at, [f"{edits:,}" for edits in at], minor=False)
            axis.minorticks_off()
            axis.set_title(_wrapped(name), fontsize=9)
            axis.grid(axis="y", color="#e4e7eb", lw=0.6)
        _finish(figure, axes, "edits in the sequence", "share, ratio")
        save(figure, path)


def draw_lines(
    found: Mapping[str, Mapping[str, Sequence[Estimate]]],
    ticks: Sequence[str],
    across: str,
    up: str,
    path: Path,
) -> None:
    """A panel for each of `found`, in it a line with intervals for each name, over the same ticks."""
    with plt.rc_context(STYLE):
        figure, axes = panels(len(found))
        at = np.arange(len(ticks))
        for axis, (title, lines) in zip(axes, found.items(), strict=True):
            for i, (name, estimates) in enumerate(lines.items()):
                value, low, high = (np.array([e[k] for e in estimates]) for k in range(3))
                axis.errorbar(
                    # Side by side, so that intervals do not hide each other.
                    at + 0.08 * (i - (len(lines) - 1) / 2),
                    value,
                    _halves(value, low, high),
                    fmt="o-",
                    color=LINES[i % len(LINES)],
                    ms=3.5,
                    lw=1.2,
                    capsize=2,
                    label=name,
                )
            axis.set_title(_wrapped(title), fontsize=9)
            axis.set_xticks(at, ticks)
            axis.set_xlim(-0.5, len(ticks) - 0.5)
            axis.grid(axis="y", color="#e4e7eb", lw=0.6)
        _finish(figure, axes, across, up)
        save(figure, path)


def panels(count: int) -> tuple[Figure, list[Axes]]:
    """A grid of `count` panels that share their axes, at most COLUMNS a row."""
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


def separated(wanted: Sequence[float], gap: float) -> np.ndarray:
    """Positions near the wanted ones, in their order, at least `gap` apart, with the same mean."""
    order = np.argsort(wanted, kind="stable")
    clusters: list[list[float]] = []
    for i, target in enumerate(np.asarray(wanted, float)[order]):
        # In steps of the gap, least squares without overtaking is isotonic regression.
        clusters.append([target - i * gap, 1])
        while len(clusters) > 1 and clusters[-2][0] >= clusters[-1][0]:
            value, size = clusters.pop()
            before, count = clusters.pop()
            clusters.append([(before * count + value * size) / (count + size), count + size])
    free = np.concatenate([np.full(int(size), value) for value, size in clusters])
    placed = np.empty(len(order))
    placed[order] = free + gap * np.arange(len(order))
    return placed


def _label_right(figure: Figure, axis: Axes, labels: Sequence[tuple[str, float, float]]) -> None:
    """Names beside the axes, each joined to its point by a thin line."""
    low, high = axis.get_ylim()
    height = figure.get_size_inches()[1] * axis.get_position().height
    places = separated([y for _, _, y in labels], 0.19 / height * (high - low))
    for (name, x, y), place in zip(labels, places, strict=True):
        axis.annotate(
            name,
            (x, y),
            xytext=(1.03, (place - low) / (high - low)),
            textcoords="axes fraction",
            fontsize=8.5,
            va="center",
            arrowprops={"arrowstyle": "-", "color": "#b8c2cc", "lw": 0.6, "shrinkB": 4},
        )


def _finish(figure: Figure, axes: Sequence[Axes], across: str, up: str) -> None:
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


def _by_support(editor: Scored, reader: str, metric: str) -> np.ndarray:
    """float64[3, bins]: value, and how far its interval reaches below and above."""
    found = [editor.summary[f"support {name}"][reader][metric] for name in SUPPORT_BINS]
    value, low, high = (np.array([e[i] for e in found]) for i in range(3))
    return np.stack([value, *_halves(value, low, high)])


def _halves(
    value: np.ndarray | float, low: np.ndarray | float, high: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """How far intervals reach below and above their values."""
    below, above = (np.clip(np.atleast_1d(x), 0, None) for x in (value - low, high - value))
    return below, above


def _has(editor: Scored, unit: str) -> bool:
    """Whether an editor can stand on a logarithmic axis: its cost is known, and some."""
    return editor.edited.cost.get(unit, 0.0) > 0 and editor.summary["all"][editor.name][RATIO].cases > 0


def _wrapped(name: str, width: int = 28) -> str:
    """A name as the title of a panel, on two lines at most."""
    return "\n".join(textwrap.wrap(name, width, max_lines=2, placeholder="\u2026"))
