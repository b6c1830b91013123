"""What edits cost: a table, and propagation or another metric against cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
from matplotlib.ticker import LogFormatter

from testbed.pages.chapter import Material, Picture, Section
from testbed.pages.charts import interval_halves, label_right, picture_style, save_figure
from testbed.pages.messages import capitalise, describe_extremes
from testbed.pages.palette import AGENT, PAPER, QUIET, assign_slots, colour_of, has_ring
from testbed.scores.frame import Frame
from testbed.scores.gather import ELSEWHERE
from testbed.scores.statistics import Estimate
from testbed.scores.tables import Table
from testbed.scores.views import Column, View, make_table

COST_COLUMNS = {
    "steps": "gradient steps",
    "forward": "forward tokens",
    "backward": "backward tokens",
    "flops": "FLOPs",
    "first_seconds": "seconds, first edit",
    "seconds": "seconds, thousandth",
    "peak_bytes": "peak bytes",
    "prepare_seconds": "seconds to prepare",
    "knew": "what it knew before it read, kept",
    "knew_nats": "nats from what it wrote before it read",
}
UNITS = {"flops": "FLOPs an edit", "seconds": "seconds an edit"}


class CostPoint(NamedTuple):
    """An editor on the plane of cost and a metric; `first_cost` is that of the first edit, if known.

    `is_elsewhere`: its cost is that of another library or machine.
    """

    name: str
    cost: float
    first_cost: float | None
    score: Estimate
    is_elsewhere: bool = False


def cost_section(material: Material, metric: str) -> Section | None:
    """The table, and pictures of one metric, of which more is better, against each unit of cost."""
    frame, label = material.frame, material.frame.label_of(metric)
    table = cost_table(frame, metric)
    if table is None:
        return None
    text = f"Editors above and to the left are better: more {label} for less work."
    pictures, drawn_editors = [], set[str]()
    for unit, words in UNITS.items():
        columns = [Column(name) for name in (unit, f"first_{unit}", ELSEWHERE, metric)]
        rows: list[list[Any]] = [[*row] for row in make_table(View("", "", columns), frame).rows]
        # On a logarithmic axis: those of known cost, which is some, and with the metric.
        points = [
            CostPoint(name, cost, first, score, elsewhere is not None)
            for name, cost, first, elsewhere, score in rows
            if cost and score and score.cases
        ]
        file = f"frontier-{unit}.svg"
        if points:
            draw_frontier(points, label, unit, material.folder / file)
            message = f"{describe_extremes({p.name: p.score.value for p in points}, label)}; by {words}"
            pictures.append(Picture(file, f"{capitalise(label)} against {words}", message))
            drawn_editors.update(p.name for p in points)
    left_out = [e.name for e in material.editors if e.name not in drawn_editors]
    if drawn_editors and left_out:
        text += f" Not drawn, as their cost is nothing or not known: {', '.join(left_out)}."
    if frame.where(metric=ELSEWHERE).values("editor"):
        text += " Squares are edits made by PyTorch or on another machine: their seconds are not comparable."
    return Section("cost", "What does it cost?", text, pictures, more_tables=[table])


def cost_table(frame: Frame, metric: str) -> Table | None:
    """What the first edit costs, and what a later one, beside one metric."""
    known = {*frame.values("metric")}
    columns = [Column(name, head) for name, head in COST_COLUMNS.items() if name in known]
    if not columns:
        return None
    note = "Means of one edit. The first has the preparation, once for a model; the thousandth is one more."
    columns += [Column(metric)]
    table = make_table(View("costs", "What an edit costs", columns, note=note), frame)
    elsewhere = frame.where(metric=ELSEWHERE).values("editor")
    rows = [[f"{name} (elsewhere)" if name in elsewhere else name, *cells] for name, *cells in table.rows]
    return table._replace(rows=rows)


def draw_frontier(points: Sequence[CostPoint], label: str, unit: str, path: Path) -> None:
    """A metric against the cost of an edit, with the editors that nothing cheaper beats joined.

    Crosses are first edits, which have the preparation.

    Args:
        unit: "flops" or "seconds".
    """
    slots, best = assign_slots(p.name for p in points), pareto_front(points)
    with picture_style():
        figure, axis = plt.subplots(figsize=(8.4, max(3.6, 0.27 * len(points) + 1.6)))
        axis.set_xscale("log")
        # Plain numbers: names are never formulas (see styled), so that nothing else may be one.
        axis.xaxis.set_major_formatter(LogFormatter())
        axis.xaxis.set_minor_formatter(LogFormatter(labelOnlyBase=False, minor_thresholds=(2, 0.4)))
        # A single cost spans no axis.
        costs = [p.cost for p in points] + [p.first_cost for p in points if p.first_cost is not None]
        axis.set_xlim(min(costs) / 2, max(costs) * 2)
        for point in points:
            value, low, high = point.score[:3]
            slot = slots[point.name]
            colour = colour_of(slot).light
            axis.errorbar(
                point.cost,
                value,
                interval_halves(value, low, high),
                fmt="s" if point.is_elsewhere else "o",
                color=colour,
                mfc=PAPER if has_ring(slot) else colour,
                ms=6,
                capsize=2,
                lw=1,
            )
            if point.first_cost is not None and point.first_cost > point.cost * 1.01:
                axis.plot([point.cost, point.first_cost], [value, value], ":", color=colour, lw=1)
                axis.plot(point.first_cost, value, "P", color=colour, ms=6)
        line = axis.step(
            [p.cost for p in best], [p.score.value for p in best], where="post", color=AGENT, lw=1.6, zorder=1
        )
        axis.axhline(0, color=QUIET, lw=0.8)
        axis.set(xlabel=UNITS[unit], ylabel=label)
        handles = [
            plt.Line2D([], [], marker="o", ls="", color=QUIET),
            plt.Line2D([], [], marker="P", ls="", color=QUIET),
            line[0],
        ]
        words = ["a later edit", "the first edit", "nothing cheaper does better"]
        axis.legend(
            handles, words, frameon=False, fontsize=8, ncols=3, loc="upper left", bbox_to_anchor=(0, -0.16)
        )
        label_right(figure, axis, [(p.name, p.first_cost or p.cost, p.score.value) for p in points])
        save_figure(figure, path)


def pareto_front(points: Sequence[CostPoint]) -> list[CostPoint]:
    """The points that no point of the same or less cost beats, by rising cost; of those timed here."""
    best: list[CostPoint] = []
    timed_here = [point for point in points if not point.is_elsewhere]
    for point in sorted(timed_here, key=lambda p: (p.cost, -p.score.value)):
        if not best or point.score.value > best[-1].score.value:
            best.append(point)
    return best
