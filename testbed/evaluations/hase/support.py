"""Do consequences follow? By support and kin, beyond what any request brings, and beside what is kept."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from corpus.seeds import generator
from testbed.engine.results import cluster_levels
from testbed.evaluations.hase import CONTROL, KIN
from testbed.evaluations.hase import metrics as m
from testbed.pages.chapter import Chart, Material, Picture, SectionPlan
from testbed.pages.charts import interval_halves, label_right, picture_style, save_figure
from testbed.pages.messages import capitalise
from testbed.pages.palette import GRID, PAPER, QUIET, assign_slots, colour_of, has_ring
from testbed.run.strata import STRATA, SUPPORT_BINS
from testbed.scores.frame import ALL, EDITOR, REFERENCE, Frame
from testbed.scores.headlines import headline_subset
from testbed.scores.metric import labels_of
from testbed.scores.readers import BEFORE_EDIT, NO_EDIT, PERFECT
from testbed.scores.statistics import compare_metrics
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.scores.views import Column, View, choose_readers, make_table

INFERENCE = View(
    "inferred", "Followed, beside what was right before",
    [Column(m.FOLLOWS, "cases", show="count"), Column(m.FOLLOWS, "right before", {"reader": BEFORE_EDIT}),
     Column(m.FOLLOWS, "followed"), Column(m.FOLLOWS_RIGHT, "of these", show="count"),
     Column(m.FOLLOWS_RIGHT, "of these, followed")],
    {"subset": "consequence", "reader": "editor"},
    note="Dependent answers that the agent changes: how many the unedited model had right before the edit, "
    "how many follow, and how many of those that it had right. Of facts never stated (S0) it can have "
    "inferred them only; of others it may have read them.",
)  # fmt: skip


def inference_table(material: Material) -> Table:
    """Consequences that follow: of all, and of those that the unedited model had right; by stratum."""
    frame, first = material.frame, material.editors[0].name
    filled = [s for s in (f"stated {x}" for x in STRATA) if frame.cell(m.FOLLOWS, first, s).cases]
    return make_table(INFERENCE._replace(where={"subset": [ALL] * (len(filled) > 1) + filled}), frame)


def kinship_table(material: Material) -> Table | None:
    """Answers that must change and those that must stay, by the kin of the cases; None if they have none."""
    frame, first = material.frame, material.editors[0].name
    metrics = [name for role in KIN for name in (m.MUST_CHANGE[role], m.MUST_STAY[role])]
    counts = {name: cases for name in metrics if (cases := frame.cell(name, first).cases)}
    if not counts:
        return None
    each = ", ".join(f"{frame.label_of(name)}: {cases:,}" for name, cases in counts.items())
    note = (
        "Share of answers that are the agent's, where its own answer must change and where it stays. A "
        f"sibling depends on the same fact as the edited one. Cases ({first}): {each}."
    )
    title, who = "By what the fact is to the edited one", (EDITOR, REFERENCE)
    return make_table(View("kinship", title, [*counts], who=who, note=note, ranked=True), frame)


def control_table(editors: Sequence[ScoredEditor], frame: Frame) -> Table | None:
    """What follows a request beyond what follows when the same object is said of somebody else.

    None where no editor was told a control.
    """
    metrics, rows = (m.FOLLOWS, m.GAINED, m.RATIO), list[list[Cell]]()
    for e in editors:
        levels, everywhere = cluster_levels(e.edits.results), np.ones(len(e.edits.results), bool)
        for control in e.control_readers:
            row: list[Cell] = [e.name]
            for name in metrics:
                rng = generator(e.edits.seed, f"{control} {frame.label_of(name)}")
                pair = e.values[e.name][name], e.values[control][name]
                row += [frame.cell(name, e.name), compare_metrics(*pair, levels, everywhere, rng)]
            rows.append(row)
    heads = [head for label in map(frame.label_of, metrics) for head in (label, f"{label}, beyond")]
    note = (
        f"Beyond: less what the same editor reaches when it is told {CONTROL} in place of the request. Who "
        "moves everything, whatever it is told, has nothing beyond."
    )
    title = "What follows because of the request"
    return Table("beyond", title, ["editor", *heads], rows, note, words=2) if rows else None


HEADS = {name: "0 (noise)" if name == "0" else f"{name} subjects" for name in SUPPORT_BINS}
BY_SUPPORT = {
    metric: [Column(metric, head, {"subset": f"support {name}"}) for name, head in HEADS.items()]
    for metric in (m.FOLLOWS, m.RATIO)
}
"""A column for each bin of the new object's support."""


def support_table(frame: Frame, metric: str, key: str) -> Table:
    """One metric of contradicting edits, a column a bin of the new object's support."""
    who = [name for name in choose_readers(frame, (EDITOR, REFERENCE)) if name != NO_EDIT]
    note = "Contradicting edits, by how many subjects have the new object as their true one."
    title = f"{frame.label_of(metric)}, by support"
    return make_table(View(key, title, BY_SUPPORT[metric], who=who, note=note, ranked=True), frame)


def chart_support(metric: str, file: str) -> Chart:
    """A metric by the support of the new object, beside the agent's."""
    label = labels_of(m.METRICS)[metric]
    says = f"{capitalise(label)} by support of the new object, for every editor"
    across = "subjects that share the new object (support)"
    return Chart("bins", file, says, {label: BY_SUPPORT[metric]}, SUPPORT_BINS, across, label)


def picture_harm(material: Material) -> Picture:
    """What editors update against what they keep, over the cases of headlines."""
    frame, file, first = material.frame, "harm.svg", material.editors[0]
    where = {"subset": headline_subset(first.evaluation, first.frame)}
    view = View("", "", [m.FOLLOWS, m.KEPT], who=(EDITOR, NO_EDIT, PERFECT), where=where)
    rows: list[Any] = [*make_table(view, frame).rows]
    points = {name: (x, y) for name, x, y in rows if x and y and x.cases and y.cases}
    across, up = map(frame.label_of, (m.FOLLOWS, m.KEPT))
    references = (NO_EDIT, PERFECT)
    slots = assign_slots(name for name in points if name not in references)
    with picture_style():
        figure, axis = plt.subplots(figsize=(5.2, max(2.6, 0.22 * len(points) + 1.4)))
        for name, (x, y) in points.items():
            colour = QUIET if name in references else colour_of(slots[name]).light
            mark = "X" if name in references else "o"
            ring = PAPER if name in slots and has_ring(slots[name]) else colour
            bars: Any = {"xerr": interval_halves(*x[:3]), "yerr": interval_halves(*y[:3])}
            axis.errorbar(x.value, y.value, fmt=mark, color=colour, mfc=ring, ms=6, lw=1, capsize=2, **bars)
        axis.grid(color=GRID, lw=0.6)
        axis.set(xlabel=across, ylabel=up)
        label_right(figure, axis, [(name, x.value, y.value) for name, (x, y) in points.items()])
        save_figure(figure, material.folder / file)
    return Picture(file, f"{capitalise(up)} against {across}", "Best is above and to the right")


SECTION = SectionPlan(
    "support", "Do consequences follow?",
    "A consequence can be learned only from other subjects with the same upstream object.",
    [chart_support(m.FOLLOWS, "support.svg"), chart_support(m.RATIO, "propagation.svg")],
    [inference_table, kinship_table, lambda of: control_table(of.editors, of.frame)],
    [lambda of: support_table(of.frame, m.FOLLOWS, "support-followed"),
     lambda of: support_table(of.frame, m.RATIO, "support-ratio")],
)  # fmt: skip
