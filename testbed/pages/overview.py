"""The tables that every chapter has: all editors, their differences, and each editor whole."""

import inspect
from collections.abc import Sequence
from functools import partial

from testbed.pages.before import before_section
from testbed.pages.chapter import Chapter, Material, Section
from testbed.pages.costs import cost_section
from testbed.pages.lasting import lasting_section
from testbed.scores.comparison import Differences, ScoredEditor
from testbed.scores.metric import metrics_shown_in
from testbed.scores.readers import BEFORE_EDIT
from testbed.scores.retention import followed_metrics
from testbed.scores.summary import summary_rows
from testbed.scores.tables import Cell, Table, better_of, format_cell

DETAILS = "After the edit. Two columns are told apart in most samples where they differ by twice the ±."


def usual_chapter(material: Material) -> Chapter:
    """What every chapter has: the tables of all editors, costs, and each editor whole.

    The first line of the evaluation's docstring is the title, the rest of it the text. Costs are held against
    the last headline metric.
    """
    editors, evaluation = material.editors, material.editors[0].evaluation
    title, _, text = inspect.cleandoc(type(evaluation).__doc__ or type(evaluation).__name__).partition("\n")
    headlines, followed = metrics_shown_in(evaluation.metrics, "headline"), followed_metrics(evaluation)
    sections = [
        difference_section(material),
        cost_section(editors, headlines[-1], material.folder),
        lasting_section(editors, material.curves, followed[:2], material.folder) if followed else None,
    ]
    parts = [name for name in editors[0].summary if name != "all"]
    return Chapter(
        title,
        " ".join(text.split()),
        {e.name: "; ".join(map(partial(_describe_headline, e), headlines)) for e in editors},
        comparison_table(editors, material.differences),
        [section for section in sections if section],
        panels={},
        details={e.name: detail_tables(e, parts) for e in editors},
        words={},
        metrics=evaluation.metrics,
        ahead=[before_section(material)],
    )


def _describe_headline(editor: ScoredEditor, metric: str) -> str:
    """A metric of an editor in words, and what it was before the edit, where it means something there."""
    after, before = (editor.summary["all"][reader].get(metric) for reader in (editor.name, BEFORE_EDIT))
    told = f"{metric} {format_cell(after)}"
    return f"{told}, {format_cell(before)} before" if before else told


def comparison_table(editors: Sequence[ScoredEditor], differences: Differences) -> Table:
    """A row an editor, a control and a floor; the compared metrics with intervals."""
    first = editors[0]
    metrics = compared_metrics(editors)
    rows: list[list[Cell]] = [
        [e.name, len(e.edited.results), *_metric_cells(e, e.name, metrics), e.edited.cost.get("seconds")]
        for e in editors
    ]
    rows += [
        [control, len(e.edited.results), *_metric_cells(e, control, metrics), None]
        for e in editors
        for control in e.control_readers
    ]
    rows += [
        [floor, len(first.edited.results), *_metric_cells(first, floor, metrics), None]
        for floor in first.reference_names
    ]
    note = "± is half of a 95% interval; the best editor of each column stands out. The last rows bound what "
    note += "the numbers can mean" + (
        f"; they are for the cases of {first.name}." if len(editors) > 1 else "."
    )
    return Table(
        "comparison",
        "All editors",
        ["editor", "edits", *metrics, "seconds an edit"],
        rows,
        note,
        foot=(
            ["smallest detectable difference", None, *_detectable_differences(differences, metrics), None],
        ),
        better=better_of(first.evaluation.metrics),
        contest=len(editors),
    )


def difference_section(material: Material) -> Section | None:
    """Which differences from the reference are real; None where nothing is compared."""
    table = difference_table(material.editors, material.differences)
    text = (
        "A difference smaller than that of the last row is one that this number of cases would often miss: "
        "read its absence as \u201cnot known\u201d, not as \u201cequal\u201d."
    )
    return Section("differences", "Which differences are real?", text, tables=[table]) if table else None


def difference_table(editors: Sequence[ScoredEditor], differences: Differences) -> Table | None:
    """Differences from the reference on the cases that both have, with adjusted p-values."""
    metrics = [
        m for m in compared_metrics(editors) if any(m in row for row in differences.comparisons.values())
    ]
    rows: list[list[Cell]] = []
    for editor in editors:
        row = differences.comparisons.get(editor.name)
        if row:
            rows.append([editor.name, max(c.cases for c in row.values()), *map(row.get, metrics)])
    if not rows:
        return None
    return Table(
        "differences",
        f"Differences from {differences.reference}",
        ["editor", "cases both have", *metrics],
        rows,
        "Paired, over the cases that both have; p-values are Holm's, adjusted for the number of editors, and "
        "bold differences have one below .05.",
        foot=(["smallest detectable difference", None, *_detectable_differences(differences, metrics)],),
    )


def detail_tables(editor: ScoredEditor, subsets: Sequence[str]) -> list[Table]:
    """Every metric of one editor beside its reference rows, over all cases and some parts of them."""
    tables = []
    for subset in ("all", *subsets):
        if any(e.cases for e in editor.summary[subset][editor.name].values()):
            header, rows = summary_rows(editor.evaluation, editor.summary, subset)
            among = "all cases" if subset == "all" else f"cases of the subset \u201c{subset}\u201d"
            key = f"{editor.edited.slug}-{subset}".replace(" ", "-")
            tables.append(Table(key, f"{editor.name}: {among}", header, rows, DETAILS))
    return tables


def compared_metrics(editors: Sequence[ScoredEditor]) -> list[str]:
    """The compared metrics that some editor has, in the evaluation's order."""
    known = {metric for e in editors for metric in e.compared_metrics()}
    return [meaning.name for meaning in editors[0].evaluation.metrics if meaning.name in known]


def _metric_cells(editor: ScoredEditor, reader: str, metrics: Sequence[str]) -> list[Cell]:
    return [editor.summary["all"][reader].get(metric) for metric in metrics]


def _detectable_differences(differences: Differences, metrics: Sequence[str]) -> list[float]:
    return [round(differences.detectable_difference(metric), 3) for metric in metrics]
