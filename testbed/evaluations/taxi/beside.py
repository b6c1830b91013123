"""TAXI's own tables of an edit, with what the paper prints below ours (Powell et al. 2024)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.paper_tables import put_above_figures, read_paper_figures
from testbed.evaluations.taxi import PROPERTY, REVERSE, Taxi
from testbed.evaluations.taxi import metrics as m
from testbed.evaluations.taxi.people import people_rows, people_table
from testbed.pages.chapter import Material, SectionPlan
from testbed.scores.frame import CONTROL, EDITOR, REFERENCE, Frame
from testbed.scores.metric import labels_of
from testbed.scores.readers import is_undetermined
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.scores.views import Column, View, make_table

LABELS = labels_of(m.METRICS)
PAPER_COLUMNS = {LABELS[name]: ("all", name) for name in m.FOUR} | {
    f"{m.CONSISTENCY}, typical": (m.TYPICAL, m.CONSISTENCY),
    f"{m.CONSISTENCY}, rare": (m.RARE, m.CONSISTENCY),
}
"""Subset and metric of each column of Tables 2 and 4."""
PAPER: Any = {"rows": {"reader": "who"}, "who": (EDITOR, CONTROL, REFERENCE), "ranked": True}
"""What is shown beside the paper."""


def forward_table(material: Material) -> Table:
    """Table 2: every editor, reference and control, the printed rows, and people where their answers are."""
    note = (
        "As Table 2 of Powell et al. 2024: the right answer is the most probable option. Their rows are of "
        "another model and other words; people saw some of the questions, "
        "and the columns of right answers in their file are mostly those of another question."
    )
    columns = [Column(name, head, {"subset": part}) for head, (part, name) in PAPER_COLUMNS.items()]
    view = View("taxi-2", "Edits and what follows (Table 2)", columns, **PAPER, note=note)
    return _above_figures(2, view, material.frame, people_rows(material.world))


def reverse_table(material: Material) -> Table:
    """Table 4: the same of questions asked inversely."""
    note = "As their Table 4: which subject is one, or has it; the edited one is right. "
    note += describe_undetermined(material.editors[0].edits.results)
    columns = [
        Column(m.reverse_name(name), head, {"subset": part}) for head, (part, name) in PAPER_COLUMNS.items()
    ]
    view = View("taxi-4", "The same asked inversely (Table 4)", columns, **PAPER, note=note)
    return _above_figures(4, view, material.frame)


def describe_undetermined(results: Results) -> str:
    """How many inverse questions have no answer, at each of the agent's times, and what becomes of them."""
    inverse = results.choices.role == REVERSE
    counts = (
        f"{int((inverse & is_undetermined(results.choices, t)).sum()):,} ({name})"
        for t, name in enumerate(results.times)
    )
    return (
        f"Of {int(inverse.sum()):,} inverse questions so many have no answer, since the corpus leaves more "
        f"doubt than the agent's beliefs tell apart: {', '.join(counts)}. They count neither as right nor as "
        "wrong."
    )


def _above_figures(number: int, view: View, frame: Frame, people: Sequence[Sequence[Cell]] = ()) -> Table:
    """This run's rows, people's, and those that a table of the paper prints."""
    printed = read_paper_figures(Taxi.package, f"table{number}")
    return put_above_figures(make_table(view, frame), printed, [*PAPER_COLUMNS], between=people)


def count_table(editor: ScoredEditor) -> Table:
    """How much was asked: edits and questions by superordinate (Tables 1 and 3)."""
    results = editor.edits.results
    c, cases, superordinate = results.choices, results.cases, results.cases["superordinate"].astype(str)
    undetermined = [is_undetermined(c, t) for t in range(len(results.times))]
    rows: list[list[Cell]] = []
    for name in [*np.unique(superordinate), "all"]:
        mine = (cases["run"] == 0) & ((superordinate == name) | (name == "all"))
        asked, inverse = (mine[c.case] & (c.role == role) for role in (PROPERTY, REVERSE))
        changed = asked & c.facets["changed"]
        things = cases["subject"][mine], cases["object"][mine], c.relation[asked]
        questions = asked, changed, asked & ~changed, inverse, *(inverse & which for which in undetermined)
        rows.append([str(name), int(mine.sum()), *(len(np.unique(of)) for of in things),
                     *(int(which.sum()) for which in questions)])  # fmt: skip
    header = ["superordinate", "edits", "subjects", "categories", "relations", "property questions",
              "that change", "that stay", "inverse questions",
              *(f"undetermined, {name}" for name in results.times)]  # fmt: skip
    note = "Of inverse questions, so many have no answer: the corpus leaves too much doubt. "
    note += "The paper counts forward and inverse questions together: 976 edits, 1,952 and 9,168 questions."
    return Table("counts", "What was asked (Tables 1 and 3)", header, rows, note)


SECTION = SectionPlan(
    "paper", "Beside Powell et al. 2024",
    "The paper's own questions and metrics. Controls got a context that says nothing about the request.",
    tables=[forward_table, reverse_table],
    more_tables=[people_table, lambda of: count_table(of.editors[0])],
)  # fmt: skip
