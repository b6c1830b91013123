"""What every chapter may have: the unedited model, all editors, differences, what lasts, one editor."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from testbed.pages.chapter import Chapter, Material, Picture, Section
from testbed.pages.charts import (
    STYLE,
    draw_lines,
    finish_figure,
    interval_halves,
    make_panels,
    picture_style,
    save_figure,
    wrap_title,
)
from testbed.pages.costs import cost_section
from testbed.pages.inks import GRID, LATER, LINES, MODEL, PAPER, QUIET
from testbed.pages.messages import describe_extremes, describe_lines, describe_retention
from testbed.run.strata import STRATA
from testbed.scores.before import BINS, DISTANCE, EXCESS, RIGHT, Stratum, score_before_edit
from testbed.scores.comparison import Differences
from testbed.scores.frame import CONTROL, EDITOR, EDITS, REFERENCE, Frame
from testbed.scores.headlines import headline_labels, headline_subset
from testbed.scores.metric import labels_of, metrics_shown_in
from testbed.scores.readers import BEFORE_EDIT, NO_EDIT, ONE_HALF, PERFECT, is_undetermined
from testbed.scores.statistics import Estimate
from testbed.scores.summary import Retention, ScoredEditor, followed_metrics
from testbed.scores.tables import Cell, Table, better_of, case_counts, format_cell
from testbed.scores.views import Column, View, choose_readers, make_table

DETAILS = "After the edit. Two columns are told apart in most samples where they differ by twice the ±."


def usual_chapter(material: Material) -> Chapter:
    """What every chapter has: the tables of all editors, costs, and each editor whole.

    The first line of the evaluation's docstring is the title, the rest of it the text. Costs are held against
    the last headline metric.
    """
    editors, evaluation = material.editors, material.editors[0].evaluation
    title, _, text = inspect.cleandoc(type(evaluation).__doc__ or type(evaluation).__name__).partition("\n")
    headlines, followed = [*headline_labels(evaluation)], followed_metrics(evaluation)
    sections = [
        difference_section(material),
        cost_section(material, headlines[-1]),
        lasting_section(material, followed[:2]) if followed else None,
    ]
    parts = [name for name in editors[0].summary if name != "all"]

    subset = headline_subset(evaluation, editors[0].summary)

    def describe_headlines(editor: ScoredEditor) -> str:
        return "; ".join(map(partial(_describe_headline, material.frame, editor.name, subset), headlines))

    opening = [before_section(material)]
    return build_chapter(
        material,
        title,
        " ".join(text.split()),
        describe_headlines,
        sections,
        parts,
        opening=opening,
    )


def build_chapter(
    material: Material,
    title: str,
    text: str,
    describe_finding: Callable[[ScoredEditor], str],
    sections: Sequence[Section | None],
    parts: Sequence[str] = (),
    words: Mapping[str, str] = {},
    panels: Mapping[str, Picture] = {},
    opening: Sequence[Section] = (),
) -> Chapter:
    """A chapter with the table of all editors, and those of each one.

    Args:
        describe_finding: what came out for an editor, a sentence without its subject.
        parts: of the cases, over which the tables of an editor are shown besides all.
    """
    editors = material.editors
    return Chapter(
        title,
        text,
        {e.name: describe_finding(e) for e in editors},
        first_table(material.frame, editors[0], few := find_few(editors)),
        comparison_table(material),
        [section for section in sections if section],
        panels,
        {e.name: detail_tables(e, parts, material.frame) for e in editors},
        words,
        editors[0].evaluation.metrics,
        opening,
        few=few,
    )


FEW = 0.25


def first_table(frame: Frame, editor: ScoredEditor, few: Sequence[str] = ()) -> Table:
    """The table that is read first: the headlines of every editor, of no edit, and of perfect revision."""
    where = {"subset": headline_subset(editor.evaluation, editor.summary)}
    metrics = [*headline_labels(editor.evaluation)]
    many = [name for name in choose_readers(frame, (EDITOR,)) if name not in few]
    view = View("first", "At a glance", metrics, who=(*many, NO_EDIT, PERFECT), where=where, ranked=True)
    return has_to_beat(make_table(view, frame), NO_EDIT)


def find_few(editors: Sequence[ScoredEditor]) -> list[str]:
    """The editors with so few edits, beside the others', that the first screen leaves them out."""
    counts = {editor.name: len(editor.edits.results) for editor in editors}
    return [name for name, count in counts.items() if count < FEW * max(counts.values())]


def has_to_beat(table: Table, reader: str) -> Table:
    """The table where nobody stands out who is no better than a reader."""
    return table._replace(to_beat=[i for i, row in enumerate(table.rows) if row[0] == reader])


def _describe_headline(frame: Frame, editor: str, subset: str, metric: str) -> str:
    """A metric of an editor in words, and what it was before the edit, where it means something there."""
    after, before = (frame.cell(metric, reader, subset, editor=editor) for reader in (editor, BEFORE_EDIT))
    text = f"{frame.label_of(metric)} {format_cell(after)}"
    return f"{text}, {format_cell(before)} before" if before else text


def comparison_table(material: Material) -> Table:
    """A row an editor, a control and a floor; the compared metrics with intervals."""
    editors, metrics = material.editors, compared_metrics(material.editors)
    about = f"; they are for the cases of {editors[0].name}" if len(editors) > 1 else ""
    count, seconds = Column(EDITS, "edits", show="count"), Column("seconds", "seconds an edit")
    columns = [count, *map(Column, metrics), seconds]
    note = (
        "The best editor of each column stands out; editors with lost or fewer edits never do, nor does "
        "one of which a column has fewer than nine tenths of the cases that it has of another. The last "
        f"rows bound the meaning of the numbers{about}."
    )
    who = (EDITOR, CONTROL, REFERENCE)
    table = make_table(
        View("comparison", "All editors", columns, who=who, note=note, ranked=True), material.frame
    )
    least = [None, *_detectable_differences(material.differences, metrics), None]
    return has_to_beat(table, ONE_HALF)._replace(foot=[["smallest detectable difference", *least]])


def interpretation_table(
    editors: Sequence[ScoredEditor],
    references: Sequence[str],
    metrics: Sequence[str],
    estimate: Callable[[ScoredEditor, str, int], Mapping[str, Estimate]],
    note: str,
    key: str = "interpretations",
) -> Table:
    """Some metrics, with the agent under each interpretation of the request as the standard.

    Args:
        references: readers of the first editor, below those of all editors.
        estimate: the metrics of an editor's reader by its name, with the agent's belief at a time as the
            standard.
    """
    evaluation, rows = editors[0].evaluation, list[list[Cell]]()
    for editor, name in [*((e, e.name) for e in editors), *((editors[0], name) for name in references)]:
        for time, interpretation in enumerate(evaluation.interpretations, start=1):
            rows.append([name, interpretation, *map(estimate(editor, name, time).get, metrics)])
    labels, direction = labels_of(evaluation.metrics), better_of(evaluation.metrics)
    better = {labels[name]: direction[name] for name in metrics}
    title, header = "Under both interpretations", ["who", "request", *map(labels.__getitem__, metrics)]
    return Table(key, title, header, rows, note, words=2, better=better)


def difference_section(material: Material) -> Section | None:
    """Which differences from the reference are real; None where nothing is compared."""
    table = difference_table(material)
    text = (
        "This number of cases would often miss a difference smaller than that of the last row. If none is "
        "found, read \u201cnot known\u201d, not \u201cequal\u201d."
    )
    return Section("differences", "Which differences are real?", text, tables=[table]) if table else None


def difference_table(material: Material) -> Table | None:
    """Differences from the reference on the cases that both have, with adjusted p-values."""
    against, by_editor = material.differences
    metrics = [m for m in compared_metrics(material.editors) if any(m in row for row in by_editor.values())]
    if not metrics:
        return None
    columns = [Column(EDITS, "cases both have", show="count"), *map(Column, metrics)]
    note = (
        "Paired, over the cases that both have. P-values are adjusted for the number of editors (Holm); bold "
        "differences have one below .05."
    )
    view = View("differences", f"Differences from {against}", columns, where={"against": against}, note=note)
    least = ["smallest detectable difference", None, *_detectable_differences(material.differences, metrics)]
    return make_table(view, material.frame)._replace(foot=[least])


def detail_tables(editor: ScoredEditor, subsets: Sequence[str], frame: Frame) -> list[Table]:
    """Every metric of one editor beside its reference rows, over all cases and some parts of them."""
    shown = metrics_shown_in(editor.evaluation.metrics, "table")
    own, tables = frame.where(editor=editor.name, metric=shown, against=None), []
    columns = [Column("", name, {"reader": name}) for name in own.values("reader")]
    for subset in ("all", *subsets):
        among = "all cases" if subset == "all" else f"cases of the subset \u201c{subset}\u201d"
        where: dict[str, Any] = {"subset": subset, "metric": {name: own.label_of(name) for name in shown}}
        key, title = f"{editor.edits.slug}-{subset}".replace(" ", "-"), f"{editor.name}: {among}"
        table = make_table(View(key, title, columns, {"metric": "metric"}, where=where, note=DETAILS), own)
        mine = [row[table.header.index(editor.name)] for row in table.rows]
        if any(cell.cases for cell in mine if isinstance(cell, Estimate)):
            rows = [[*map(format_cell, row), _count_cases(row)] for row in table.rows]
            tables.append(table._replace(header=[*table.header, "cases (clusters)"], rows=rows))
    return tables


def _count_cases(row: Sequence[Cell]) -> str:
    return case_counts([cell for cell in row if isinstance(cell, Estimate) and cell.cases])


def compared_metrics(editors: Sequence[ScoredEditor]) -> list[str]:
    """The compared metrics that some editor has, in the evaluation's order."""
    names = {metric for e in editors for metric in e.compared_metrics()}
    return [m.id for m in editors[0].evaluation.metrics if m.id in names]


def _detectable_differences(differences: Differences, metrics: Sequence[str]) -> list[float]:
    return [round(differences.detectable_difference(metric), 3) for metric in metrics]


PICTURE = "before.svg"
SAYS = {"S0": "never stated", "S1": "stated one to three times", "S2": "stated more often"}
TEXT = (
    "Every editor starts from a model that is not the agent. What a model cannot infer before an edit, it "
    "will hardly infer after one. So first the unedited model answers the same questions. The table compares "
    "it with the agent before any edit, by how often the corpus states the fact."
)


def before_section(material: Material) -> Section:
    """Distance and calibration of the unedited model, by stratum, as picture and table."""
    first = material.editors[0]
    strata = score_before_edit(first.edits.results)
    draw_before(strata, material.folder / PICTURE)
    distances = {_stratum_label(name): of.estimates[DISTANCE].value for name, of in strata.items()}
    picture = Picture(
        PICTURE,
        "The unedited model's distance to the agent, and its calibration, by stratum",
        describe_extremes(distances, "distance of the unedited model to the agent"),
    )
    about = f"; questions are those of {first.name}" if len(material.editors) > 1 else ""
    table = before_table(strata)
    undetermined = int(is_undetermined(first.edits.results.choices).sum())
    left_out = (
        f" Left out: {undetermined:,} to which the corpus determines no answer." if undetermined else ""
    )
    table = table._replace(note=f"{table.note[:-1]}{about}.{left_out}")
    return Section("before", "Is the unedited model the agent?", TEXT, [picture], [table])


def before_table(strata: Mapping[str, Stratum]) -> Table:
    """A row a stratum."""
    columns = (DISTANCE, RIGHT, EXCESS)
    rows: list[list[Cell]] = [
        [_stratum_label(name), of.questions, *(of.estimates[m] for m in columns), of.calibration]
        for name, of in strata.items()
    ]
    note = (
        "Overconfidence is the model's probability of its likeliest option less the agent's belief in it. "
        f"Expected calibration error is its mean absolute value over {BINS} bins of the model's probability; "
        "it has no interval, and is never quite 0."
    )
    header = ["the fact in question", "questions", *columns, "expected calibration error"]
    return Table("before", "The unedited model beside the agent", header, rows, note)


def draw_before(strata: Mapping[str, Stratum], path: Path) -> None:
    """Total variation by stratum, and beside it the agent's belief by the model's probability."""
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.2), width_ratios=(2, 3))
        values = np.array([of.estimates[DISTANCE][:3] for of in strata.values()]).T
        at = np.arange(len(strata))
        left.bar(at, values[0], 0.55, yerr=interval_halves(*values), color=MODEL, capsize=3)
        left.set_xticks(at, list(strata))
        left.set_ylim(0, 1)
        left.set_ylabel("total variation to the agent")
        right.plot([0, 1], [0, 1], color=QUIET, lw=0.8, ls="--")
        for i, name in enumerate(s for s in STRATA if s in strata):
            bins = strata[name].bins
            belief = np.array([b.belief[:3] for b in bins]).T
            right.errorbar(
                [b.confidence.value for b in bins],
                belief[0],
                interval_halves(*belief),
                fmt="o-",
                color=LINES[i % len(LINES)],
                ms=3.5,
                lw=1.2,
                capsize=2,
                label=_stratum_label(name),
            )
        right.set_xlim(0, 1)
        right.set_ylim(0, 1)
        right.set_xlabel("model's probability of its likeliest answer")
        right.set_ylabel("agent's belief in it")
        for axis in (left, right):
            axis.grid(axis="y", color=GRID, lw=0.6)
            axis.set_axisbelow(True)
        right.legend(frameon=False)
        figure.tight_layout()
        save_figure(figure, path)


def _stratum_label(name: str) -> str:
    return f"{name}, {SAYS[name]}" if name in SAYS else name


def picture_lines(
    material: Material,
    file: str,
    says: str,
    lines: Mapping[str, Mapping[str, Sequence[Estimate]]],
    ticks: Sequence[str],
    across: str,
    up: str,
    what: str = "",
    names: Sequence[str] = (),
) -> Picture:
    """Draw a panel for each editor, see `draw_lines`.

    Args:
        what, names: what its values and ticks are in words, if not `up` and `ticks`.
    """
    draw_lines(lines, ticks, across, up, material.folder / file)
    return Picture(file, says, describe_lines(lines, names or ticks, what or up))


def lasting_section(material: Material, metrics: Sequence[str]) -> Section | None:
    """Two metrics by number of edits, and the table of all that are followed; None for independent edits."""
    editors, curves, labels = material.editors, material.curves, [*map(material.frame.label_of, metrics)]
    table = retention_table(editors, curves)
    if table is None:
        return None
    draw_retention(curves, dict(zip(metrics, labels, strict=True)), material.folder / "retention.svg")
    says = f"{' and '.join(labels)} by number of edits, at once and kept"
    message = describe_retention(curves, *metrics[:1], *labels[:1])
    text = "Edits made one after another in the same model: scored at once, and again after later ones."
    pictures = [Picture("retention.svg", says, message)]
    return Section("lasting", "Do edits last?", text, pictures, more_tables=[table])


def draw_retention(curves: Mapping[str, Sequence[Retention]], labels: Mapping[str, str], path: Path) -> None:
    """A panel an editor: two metrics, which have labels, by number of edits, at once and kept."""
    with picture_style():
        figure, axes = make_panels(len(curves))
        for axis, (name, curve) in zip(axes, curves.items(), strict=True):
            at = [k.edits for k in curve]
            for (metric, label), colour, mark in zip(labels.items(), (MODEL, LATER), "os", strict=False):
                for part, style, fill in (("at_once", "--", PAPER), ("at_end", "-", colour)):
                    estimates = [getattr(k, part)[metric] for k in curve]
                    values = [e.value for e in estimates]
                    low, high = ([getattr(e, end) for e in estimates] for end in ("low", "high"))
                    when = "at once" if part == "at_once" else "kept"
                    axis.fill_between(at, low, high, color=colour, alpha=0.08, lw=0)
                    look: dict[str, Any] = {"marker": mark, "ms": 4, "color": colour, "mfc": fill}
                    axis.plot(at, values, style, label=f"{label}, {when}", **look)
            axis.set_xscale("log")
            axis.set_xticks(at, [f"{edits:,}" for edits in at], minor=False)
            axis.minorticks_off()
            axis.set_title(wrap_title(name), fontsize=9)
            axis.grid(axis="y", color=GRID, lw=0.6)
        finish_figure(figure, axes, "edits in the sequence", "share, ratio")
        save_figure(figure, path)


def retention_table(editors: Sequence[ScoredEditor], curves: dict[str, list[Retention]]) -> Table | None:
    """Metrics at once and at the end of every editor, a row a number of edits."""
    names = followed_metrics(editors[0].evaluation) if editors else []
    rows: list[list[Cell]] = [
        [e.name, at.edits, *(part.get(name) for name in names for part in (at.at_once, at.at_end))]
        for e in editors
        for at in curves.get(e.name, [])
    ]
    labels = labels_of(editors[0].evaluation.metrics)
    header = ["editor", "edits", *(f"{labels[m]}, {when}" for m in names for when in ("at once", "kept"))]
    note = "The first edits of every sequence: each scored at once, and all of them after the last."
    return Table("retention", "Scores at once, and kept", header, rows, note) if rows else None
