"""People's answers, recomputed from the authors' file, and editors on the very questions that people saw."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus.errors import InputError
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.taxi import PROPERTY
from testbed.evaluations.taxi.edits import MEMBERSHIP, QUERIES, Taxonomy, read_edits
from testbed.evaluations.taxi.metrics import Answers
from testbed.pages.chapter import Material
from testbed.run.world import World
from testbed.scores.readers import CHANCE, NO_EDIT
from testbed.scores.statistics import Estimate, estimate_metric
from testbed.scores.tables import Cell, Table

RESPONSES = Path("human-tests") / "human-responses.csv"
COLUMNS = (
    "edit", "property", "token_type", "orig_answer_fwd", "answer_fwd", "corr_choice", "correct", "pass",
)  # fmt: skip
ARROW = " -> "
QuestionKey = tuple[int, int, str, int]
"""Subject, new category, property and right value of a question."""


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


def people_rows(world: World) -> list[list[Cell]]:
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


def people_table(material: Material) -> Table | None:
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
