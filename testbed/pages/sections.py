"""What every chapter may have: the unedited model, all editors, differences, what lasts, one editor."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from testbed.engine.results import cluster_levels
from testbed.pages.chapter import (
    Chapter,
    ChapterPlan,
    Chart,
    Material,
    Picture,
    PictureSource,
    Section,
    SectionPlan,
    TableSource,
)
from testbed.pages.charts import (
    STYLE,
    _points_of,
    draw_chart,
    draw_lines,
    finish_figure,
    interval_halves,
    make_panels,
    picture_style,
    save_figure,
    wrap_title,
)
from testbed.pages.costs import cost_section
from testbed.pages.edit_pictures import draw_edits
from testbed.pages.messages import describe_extremes, describe_lines
from testbed.pages.palette import GRID, LATER, LINES, MODEL, PAPER, QUIET
from testbed.run.strata import STRATA
from testbed.scores.before import BINS, DISTANCE, EXCESS, RIGHT, Stratum, score_before_edit
from testbed.scores.comparison import Differences
from testbed.scores.frame import ALL, CONTROL, EDITOR, EDITS, REFERENCE, Frame
from testbed.scores.headlines import describe_subset, headline_labels, headline_subset
from testbed.scores.metric import SIZE_RECORDS, MetricDefinition, metrics_shown_in
from testbed.scores.readers import (
    BAYESIAN,
    BEFORE_EDIT,
    CHANCE,
    NO_EDIT,
    ONE_HALF,
    PERFECT,
    EvaluationMetrics,
    Reader,
    is_undetermined,
)
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.summary import (
    AT_ONCE,
    KEPT,
    ScoredEditor,
    followed_metrics,
    measure_reader,
    subset_of_first,
)
from testbed.scores.tables import Cell, Table, case_counts, format_cell
from testbed.scores.views import Column, View, choose_readers, make_table

DETAILS = "After the edit. Two columns are told apart in most samples where they differ by twice the ±."


def usual_plan(material: Material) -> ChapterPlan:
    """What every chapter has: the tables of all editors, costs, and each editor whole.

    Costs are held against the last headline metric.
    """
    evaluation = material.editors[0].evaluation
    headlines, followed = [*headline_labels(evaluation)], followed_metrics(evaluation)
    return ChapterPlan(
        sections=(
            difference_section,
            partial(cost_section, metric=headlines[-1]),
            *([partial(lasting_section, metrics=followed[:2])] if followed else []),
        ),
        opening=(before_section,),
        parts=[name for name in evaluation.subsets(material.editors[0].edits.results) if name != ALL],
    )


def make_chapter(material: Material, plan: ChapterPlan | Callable[[Material], ChapterPlan]) -> Chapter:
    """A chapter as planned, with the table of all editors, and those of each one; draws its pictures."""
    plan = plan if isinstance(plan, ChapterPlan) else plan(material)
    editors, frame = material.editors, material.frame
    evaluation = editors[0].evaluation
    title, _, text = inspect.cleandoc(type(evaluation).__doc__ or type(evaluation).__name__).partition("\n")
    finding = plan.finding or partial(_describe_headlines, evaluation)
    made = [make_section(material, one) if isinstance(one, SectionPlan) else one(material)
            for one in plan.sections]  # fmt: skip
    chapter = Chapter(
        plan.title or title,
        plan.text or " ".join(text.split()),
        {e.name: _describe_finding(frame, e.name, finding) for e in editors},
        first_table(material, few := find_few(editors)),
        comparison_table(material),
        [section for section in made if section],
        draw_edits(material, *plan.edit) if plan.edit else {},
        {e.name: detail_tables(e, plan.parts, frame) for e in editors},
        plan.words,
        evaluation.metrics,
        [make(material) for make in plan.opening],
        plan.first_picture(material) if plan.first_picture else None,
        few,
    )
    return plan.finish(material, chapter)


def make_section(material: Material, plan: SectionPlan) -> Section | None:
    """A section as planned; None where it has no table and no picture."""
    tables, more = (
        [table for one in some for table in _tables_from(one, material) if table and table.rows]
        for some in (plan.tables, plan.more_tables)
    )
    pictures = [picture for one in plan.pictures for picture in _pictures_from(one, material)]
    text = plan.text if isinstance(plan.text, str) else plan.text(material)
    shown = Section(plan.key, plan.title, text, pictures, tables, more)
    return shown if tables or more or pictures else None


def _tables_from(source: TableSource, material: Material) -> Iterable[Table | None]:
    made = make_table(source, material.frame) if isinstance(source, View) else source(material)
    return [made] if made is None or isinstance(made, Table) else made


def _pictures_from(source: PictureSource, material: Material) -> Sequence[Picture]:
    if isinstance(source, Chart):
        # There may be nothing to draw, where no edit of this world has what the chart is about.
        who = BAYESIAN if source.kind == "bins" else EDITOR
        points = (_points_of(material.frame, one, who) for one in source.lines.values())
        if source.kind != "lines" and not any(points):
            return []
        return [draw_chart(source, material.frame, material.folder)]
    made = source(material)
    return [made] if isinstance(made, Picture) else made


def _describe_finding(frame: Frame, editor: str, finding: str | Callable[[Frame, str], str]) -> str:
    """What came out for an editor, see `ChapterPlan`."""
    if not isinstance(finding, str):
        return finding(frame, editor)
    readers = {"after": editor, "before": BEFORE_EDIT, "no_edit": NO_EDIT, "chance": CHANCE}
    return finding.format(**{name: frame.metrics_of(editor, reader) for name, reader in readers.items()})


def _describe_headlines(evaluation: EvaluationMetrics, frame: Frame, editor: str) -> str:
    """The headlines of an editor in words, and what they were before the edit, where they mean something."""
    subset = headline_subset(evaluation, frame)
    after, before = (frame.metrics_of(editor, reader, subset) for reader in (editor, BEFORE_EDIT))
    return "; ".join(
        f"{frame.label_of(name)} {format_cell(after.get(name))}"
        + (f", {format_cell(before[name])} before" if name in before else "")
        for name in headline_labels(evaluation)
    )


FEW = 0.1
"""Of the most edits of any editor: whoever has fewer is not on the first screen."""


def first_table(material: Material, few: Sequence[str] = ()) -> Table:
    """The table that is read first: the headlines of every editor, of no edit, and of perfect revision.

    Its title says of which kinds the worlds are (docs/kinds.md).
    """
    frame, editor = material.frame, material.editors[0]
    where = {"subset": headline_subset(editor.evaluation, editor.frame)}
    metrics = [*headline_labels(editor.evaluation)]
    many = [name for name in choose_readers(frame, (EDITOR,)) if name not in few]
    title = f"At a glance: worlds of kind {', '.join(material.kinds)}"
    note = describe_reach([m for m in editor.evaluation.metrics if m.id in metrics])
    view = View("first", title, metrics, who=(*many, NO_EDIT, PERFECT), where=where, note=note, ranked=True)
    return has_to_beat(make_table(view, frame), NO_EDIT)


def describe_reach(metrics: Iterable[MetricDefinition]) -> str:
    """How far an order of editors by some metrics holds for a larger model; nothing where it is not known."""
    known = [f"{m.title} {m.alike[0]} of {m.alike[1]}" for m in metrics if m.alike]
    if not known:
        return ""
    return (
        "Rule of thumb: of the pairs of seven editors that surely differ at 83 million parameters, models of "
        f"0.4 to 20 million order alike, by {'; '.join(known)}. All pairs but five by edit success have "
        f"in-context in them (records {' and '.join(SIZE_RECORDS)})."
    )


def find_few(editors: Sequence[ScoredEditor]) -> list[str]:
    """The editors with so few edits, beside the others', that the first screen leaves them out."""
    counts = {editor.name: len(editor.edits.results) for editor in editors}
    return [name for name, count in counts.items() if count < FEW * max(counts.values())]


def has_to_beat(table: Table, reader: str) -> Table:
    """The table where nobody stands out who is no better than a reader."""
    return table._replace(to_beat=[i for i, row in enumerate(table.rows) if row[0] == reader])


def comparison_table(material: Material) -> Table:
    """A row an editor, a control and a floor; the compared metrics with intervals."""
    editors, metrics = material.editors, compared_metrics(material.editors)
    about = f"; they are for the cases of {editors[0].name}" if len(editors) > 1 else ""
    seconds = Column("seconds", "seconds an edit", {"subset": ALL})
    columns = [Column(EDITS, "edits", show="count"), *map(Column, metrics), seconds]
    first = editors[0]
    note = (
        f"Over edits{describe_subset(first.evaluation, first.frame)}. "
        "The best editor of each column stands out; editors with lost or fewer edits never do, nor does "
        "one of which a column has fewer than nine tenths of the cases that it has of another. The last "
        f"rows bound the meaning of the numbers{about}."
    )
    who = (EDITOR, CONTROL, REFERENCE)
    where = {"subset": headline_subset(first.evaluation, first.frame)}
    table = make_table(
        View("comparison", "All editors", columns, who=who, where=where, note=note, ranked=True),
        material.frame,
    )
    least = [None, *_detectable_differences(material.differences, metrics), None]
    return has_to_beat(table, ONE_HALF)._replace(foot=[["smallest detectable difference", *least]])


def interpretation_table(
    material: Material,
    references: Sequence[str],
    metrics: Sequence[str],
    note: str,
    key: str = "interpretations",
    readers_at: Callable[[ScoredEditor, int], Mapping[str, Reader]] = lambda e, _: e.readers,
) -> Table:
    """Some metrics, with the agent under each interpretation of the request as the standard.

    Args:
        references: readers of the first editor, below those of all editors.
        readers_at: those of an editor, by the number of the interpretation, where they depend on it.
    """
    editors, frame, rows = material.editors, material.frame, list[list[Cell]]()
    for editor, name in [*((e, e.name) for e in editors), *((editors[0], name) for name in references)]:
        results, evaluation = editor.edits.results, editor.evaluation
        for time, interpretation in enumerate(evaluation.interpretations, start=1):
            reader = readers_at(editor, time)[name]._replace(time=time)
            measured = measure_reader(evaluation, results, reader)
            chosen = {metric: measured[metric] for metric in metrics if metric in measured}
            found = estimate_metrics(chosen, cluster_levels(results), np.ones(len(results), bool))
            rows.append([name, interpretation, *map(found.get, metrics)])
    better = {frame.label_of(name): frame.metrics[name].better for name in metrics}
    title, header = "Under both interpretations", ["who", "request", *map(frame.label_of, metrics)]
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
    first = material.editors[0]
    where = {"against": against, "subset": headline_subset(first.evaluation, first.frame)}
    note = (
        f"Paired, over edits{describe_subset(first.evaluation, first.frame)}, that both have. P-values are "
        "adjusted for the number of editors (Holm); bold differences have one below .05."
    )
    view = View("differences", f"Differences from {against}", columns, where=where, note=note)
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
    chart: Chart,
    lines: Mapping[str, Mapping[str, Sequence[Estimate]]],
    names: Sequence[str] = (),
) -> Picture:
    """Draw a chart of lines that are not in the frame.

    Args:
        names: what its ticks are in words, if not `ticks`.
    """
    draw_lines(lines, chart.ticks, chart.across, chart.up, material.folder / chart.file)
    message = describe_lines(lines, names or chart.ticks, chart.what or chart.up)
    return Picture(chart.file, chart.says, message)


def lasting_section(material: Material, metrics: Sequence[str]) -> Section | None:
    """Two metrics by number of edits, and the table of all that are followed; None for independent edits."""
    frame, labels = material.frame, [*map(material.frame.label_of, metrics)]
    counts = {e.name: [*e.edits.later_results] for e in material.editors if e.edits.later_results}
    if not counts:
        return None
    draw_retention(frame, counts, metrics, material.folder / "retention.svg")
    says = f"{' and '.join(labels)} by number of edits, at once and kept"
    message = describe_retention(frame, counts, *metrics[:1])
    text = "Edits made one after another in the same model: scored at once, and again after later ones."
    pictures = [Picture("retention.svg", says, message)]
    shown = followed_metrics(material.editors[0].evaluation)
    rows: list[list[Cell]] = []
    for name, count in ((name, count) for name, at in counts.items() for count in at):
        found = [frame.metrics_of(name, subset=subset_of_first(count, when)) for when in (AT_ONCE, KEPT)]
        rows.append([name, count, *(of.get(metric) for metric in shown for of in found)])
    heads = [f"{frame.label_of(metric)}, {when}" for metric in shown for when in (AT_ONCE, KEPT)]
    note = "The first edits of every sequence: each scored at once, and all of them after the last."
    table = Table("retention", "Scores at once, and kept", ["editor", "edits", *heads], rows, note)
    return Section("lasting", "Do edits last?", text, pictures, more_tables=[table])


def describe_retention(frame: Frame, counts: Mapping[str, Sequence[int]], metric: str = "") -> str:
    """Whose last edits are best kept, and whose least; `counts` are by editor, see `draw_retention`."""
    kept = {name: frame.cell(metric, name, subset_of_first(at[-1], KEPT)) for name, at in counts.items()}
    most = max((at[-1] for at in counts.values()), default=0)
    what = f"{frame.label_of(metric)} kept after {most:,} edits"
    return describe_extremes({name: cell.value for name, cell in kept.items() if cell}, what)


def draw_retention(
    frame: Frame, counts: Mapping[str, Sequence[int]], metrics: Sequence[str], path: Path
) -> None:
    """A panel an editor: two metrics by number of edits, at once and kept.

    Args:
        counts: by editor, the numbers of edits after which all were asked again.
    """
    with picture_style():
        figure, axes = make_panels(len(counts))
        for axis, (name, at) in zip(axes, counts.items(), strict=True):
            for metric, colour, mark in zip(metrics, (MODEL, LATER), "os", strict=False):
                for when, style, fill in ((AT_ONCE, "--", PAPER), (KEPT, "-", colour)):
                    estimates = [frame.cell(metric, name, subset_of_first(count, when)) for count in at]
                    values, low, high = ([e[k] for e in estimates] for k in range(3))
                    axis.fill_between(at, low, high, color=colour, alpha=0.08, lw=0)
                    look: dict[str, Any] = {"marker": mark, "ms": 4, "color": colour, "mfc": fill}
                    axis.plot(at, values, style, label=f"{frame.label_of(metric)}, {when}", **look)
            axis.set_xscale("log")
            axis.set_xticks(at, [f"{edits:,}" for edits in at], minor=False)
            axis.minorticks_off()
            axis.set_title(wrap_title(name), fontsize=9)
            axis.grid(axis="y", color=GRID, lw=0.6)
        finish_figure(figure, axes, "edits in the sequence", "share, ratio")
        save_figure(figure, path)
