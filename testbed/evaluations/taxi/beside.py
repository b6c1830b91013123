"""TAXI's own tables of an edit, with what the paper prints below ours (Powell et al. 2024), and people.

Their answers are recomputed from the authors' file, and editors are asked the very questions that people saw.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus.errors import InputError
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.paper_tables import put_above_figures, read_paper_figures
from testbed.evaluations.taxi import PROPERTY, REVERSE, Taxi
from testbed.evaluations.taxi import metrics as m
from testbed.evaluations.taxi.edits import MEMBERSHIP, QUERIES, Taxonomy, read_edits
from testbed.evaluations.taxi.metrics import Answers
from testbed.pages.chapter import Material, SectionPlan
from testbed.run.world import World
from testbed.scores.frame import CONTROL, EDITOR, REFERENCE, Frame
from testbed.scores.metric import labels_of
from testbed.scores.readers import CHANCE, NO_EDIT, is_undetermined
from testbed.scores.statistics import Estimate, estimate_metric
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.scores.views import Column, View, make_table

RESPONSES = Path("human-tests") / "human-responses.csv"
COLUMNS = (
    "edit", "property", "token_type", "orig_answer_fwd", "answer_fwd", "corr_choice", "correct", "pass",
)  # fmt: skip
ARROW = " -> "
QuestionKey = tuple[int, int, str, int]
"""Subject, new category, property and right value of a question."""


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
    return _above_figures(2, view, material.frame, _people_rows(material.world))


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


class PersonAnswer(NamedTuple):
    """One person's answer to a question about a property.

    Attributes:
        subject, new, property: names of the edited subject, its new category and the property in question.
        value: the option that is marked as right.
        kind: "typical" or "rare".
        columns_differ: whether the columns of right answers before and after the edit differ. In the authors'
            file these belong to another question in 98% of the rows, so `find_changes` reads the tables.
        right: whether the person chose that option.
    """

    subject: str
    new: str
    property: str
    value: str
    kind: str
    columns_differ: bool
    right: bool


def read_answers(folder: Path) -> list[PersonAnswer]:
    """The answers of people who passed the authors' checks; none where the folder has none.

    Raises:
        InputError: the file lacks a column, or a cell is not as it should be.
    """
    path = folder / RESPONSES
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError(f"{path}, line 1: the header has no column {missing[0]!r}; restore the file")
        responses = []
        for row in reader:
            choice = f"choice_{row['corr_choice']}"
            if ARROW not in row["edit"] or row["correct"] not in ("TRUE", "FALSE") or choice not in row:
                raise InputError(
                    f"{path}, line {reader.line_num}: an edit is 'subject{ARROW}category', 'correct' TRUE or "
                    "FALSE, and 'corr_choice' the letter of a choice; restore the file"
                )
            if row["pass"] == "TRUE" and row["property"] != MEMBERSHIP:
                subject, _, new = row["edit"].partition(ARROW)
                differ, right = row["orig_answer_fwd"] != row["answer_fwd"], row["correct"] == "TRUE"
                question = subject, new, row["property"], row[choice], row["token_type"]
                responses.append(PersonAnswer(*question, differ, right))
    return responses


def find_changes(responses: Sequence[PersonAnswer], world: World) -> list[bool]:
    """Whether the edit changes what each answer is about, by TAXI's own questions.

    Raises:
        InputError: an answer to no such question.
    """
    assert world.path is not None
    taxonomy = Taxonomy(world.graph)
    changed_by_question = {
        (e.subject, e.new, world.graph.properties[q.relation], q.label): q.changed
        for e in read_edits(taxonomy, world.path)
        for q in e.queries
    }
    keys = [_question_key(a, taxonomy) for a in responses]
    strangers = [a for a, key in zip(responses, keys, strict=True) if key not in changed_by_question]
    if strangers:
        raise InputError(
            f"{world.path / RESPONSES}: {len(strangers)} answers are to no question of {QUERIES}, such as "
            f"{strangers[0][:4]}; restore both files"
        )
    return [changed_by_question[key] for key in keys]


def people_shares(responses: Sequence[PersonAnswer], changed: Sequence[bool]) -> tuple[float, ...]:
    """People's property success, invariance, consistency, and that of typical and of rare subjects."""
    both = [*zip(responses, changed, strict=True)]
    staying, changing = ([a for a, moves in both if moves == which] for which in (False, True))
    by_kind = ([a for a in changing if a.kind == kind] for kind in ("typical", "rare"))
    return tuple(map(_share_right, (responses, staying, changing, *by_kind)))


def _people_rows(world: World) -> list[list[Cell]]:
    """People's shares as rows of Table 2, by the changes of the taxonomy and by their file's own columns."""
    if not (responses := read_answers(world.path) if world.path else []):
        return []
    changes = {
        "recomputed": find_changes(responses, world),
        "recomputed by their columns": [a.columns_differ for a in responses],
    }
    return [["people", how, None, *people_shares(responses, of)] for how, of in changes.items()]


def _question_key(answer: PersonAnswer, taxonomy: Taxonomy) -> QuestionKey:
    subject, new, value = map(taxonomy.find_entity, (answer.subject, answer.new, answer.value))
    return subject, new, answer.property, value


def _people_table(material: Material) -> Table | None:
    """People by superordinate, and editors on exactly the questions that people saw; None without people."""
    editors, world = material.editors, material.world
    responses = read_answers(world.path) if world.path else []
    if not responses:
        return None
    taxonomy, by_superordinate = Taxonomy(world.graph), dict[str, list[PersonAnswer]]()
    for answer in responses:
        superordinate = taxonomy.superordinate_of(taxonomy.find_entity(answer.subject))
        by_superordinate.setdefault(superordinate, []).append(answer)
    names = sorted(by_superordinate)
    parts = [responses, *(by_superordinate[name] for name in names)]
    rows: list[list[Cell]] = [["people", len(responses), *map(_share_right, parts)]]
    keys = {_question_key(a, taxonomy) for a in responses}
    first = editors[0]
    for editor, name in [*((e, e.name) for e in editors), (first, NO_EDIT), (first, CHANCE)]:
        results = editor.edits.results
        answers = Answers(results, editor.readers[name])
        among = _is_question_seen(results, world, keys)
        rows.append([name, int(among.sum()), *(_property_success(answers, among, n) for n in ("", *names))])
    note = "Property success; editors on the very questions that people saw, each counted once."
    return Table("people", "Beside people", ["who", "answers", "all", *names], rows, note)


def _is_question_seen(results: Results, world: World, keys: set[QuestionKey]) -> np.ndarray:
    """bool[N]: whether people saw a question."""
    c, properties = results.choices, world.graph.properties
    columns = (
        results.cases["subject"][c.case].tolist(),
        results.cases["object"][c.case].tolist(),
        [properties[r] for r in c.relation.tolist()],
        c.facets["label"].tolist(),
    )
    there = np.array([key in keys for key in zip(*columns, strict=True)], bool)
    return there & (c.role == PROPERTY) & (results.cases["run"][c.case] == 0)


def _property_success(answers: Answers, among: np.ndarray, superordinate: str) -> Estimate:
    """Over some questions of one superordinate; "" stands for all of them."""
    results = answers.results
    of_kind = results.cases["superordinate"].astype(str)[results.choices.case] == superordinate
    metric = answers.share_over(answers.right_share, among & (of_kind | (superordinate == "")))
    return estimate_metric(metric, cluster_levels(results), np.ones(len(results), bool))


def _share_right(responses: Sequence[PersonAnswer]) -> float:
    return sum(a.right for a in responses) / len(responses) if responses else float("nan")


SECTION = SectionPlan(
    "paper", "Beside Powell et al. 2024",
    "The paper's own questions and metrics. Controls got a context that says nothing about the request.",
    tables=[forward_table, reverse_table],
    more_tables=[_people_table, lambda of: count_table(of.editors[0])],
)  # fmt: skip
