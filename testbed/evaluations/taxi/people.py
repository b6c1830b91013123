"""People's answers, recomputed from the authors' file, and editors on the very questions that people saw."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus.errors import InputError
from testbed.engine.results import Results, clusters
from testbed.evaluations.taxi.kinds import Kinds
from testbed.evaluations.taxi.metrics import marks
from testbed.evaluations.taxi.roles import PROPERTY
from testbed.evaluations.taxi.tables import MEMBERSHIP
from testbed.run.world import World
from testbed.scores.comparison import Scored
from testbed.scores.metric import by_case
from testbed.scores.readers import CHANCE, NO_EDIT
from testbed.scores.statistics import Estimate, estimate
from testbed.scores.tables import Cell, Table

RESPONSES = Path("human-tests") / "human-responses.csv"
COLUMNS = ("edit", "property", "token_type", "orig_answer_fwd", "answer_fwd", "correct", "pass")
ARROW = " -> "


class Answer(NamedTuple):
    """One person's answer to a question about a property.

    Attributes:
        subject, new, value: names of the edited subject, its new category, and the right answer.
        typical: whether the subject is; changed: whether the edit changes the answer.
    """

    subject: str
    new: str
    property: str
    value: str
    typical: bool
    changed: bool
    right: bool


def answers(folder: Path) -> list[Answer]:
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
        found = []
        for row in reader:
            if ARROW not in row["edit"] or row["correct"] not in ("TRUE", "FALSE"):
                raise InputError(
                    f"{path}, line {reader.line_num}: an edit is 'subject{ARROW}category', 'correct' TRUE or "
                    f"FALSE; not {row['edit']!r} and {row['correct']!r}; restore the file"
                )
            if row["pass"] == "TRUE" and row["property"] != MEMBERSHIP:
                subject, _, new = row["edit"].partition(ARROW)
                found.append(
                    Answer(
                        subject,
                        new,
                        row["property"],
                        row["answer_fwd"],
                        row["token_type"] == "typical",
                        row["orig_answer_fwd"] != row["answer_fwd"],
                        row["correct"] == "TRUE",
                    )
                )
    return found


def recomputed(folder: Path) -> tuple[float, ...] | None:
    """People's property success, invariance, consistency, and that of typical and of rare subjects."""
    found = answers(folder)
    parts: tuple[Callable[[Answer], bool], ...] = (
        lambda _: True,
        lambda a: not a.changed,
        lambda a: a.changed,
        lambda a: a.changed and a.typical,
        lambda a: a.changed and not a.typical,
    )
    return tuple(_share([a for a in found if part(a)]) for part in parts) if found else None


def beside_people(editors: Sequence[Scored], world: World) -> Table | None:
    """People by superordinate, and editors on exactly the questions that people saw; None without people."""
    found = answers(world.path) if world.path else []
    if not found:
        return None
    kinds = Kinds(world.graph)
    of = [kinds.superordinate(kinds.entity(a.subject)) for a in found]
    names = sorted(set(of))
    by_kind = [[a for a, kind in zip(found, of, strict=True) if kind == name] for name in names]
    rows: list[list[Cell]] = [["people", len(found), _share(found), *map(_share, by_kind)]]
    seen = {(kinds.entity(a.subject), kinds.entity(a.new), a.property, kinds.entity(a.value)) for a in found}
    first = editors[0]
    for editor, name in [*((e, e.name) for e in editors), (first, NO_EDIT), (first, CHANCE)]:
        results = editor.edited.results
        among = _asked(results, kinds, seen)
        right = marks(results, editor.evaluation.readers(results, editor.name)[name]).right
        shares = [_estimate(results, right, among, kind) for kind in ("", *names)]
        rows.append([name, int(among.sum()), *shares])
    note = "Property success; editors on the very questions that people saw, each counted once."
    return Table("people", "Beside people", ["who", "answers", "all", *names], rows, note)


def _asked(results: Results, kinds: Kinds, seen: set[tuple[int, int, str, int]]) -> np.ndarray:
    """bool[N]: whether people saw a question."""
    c, properties = results.choices, kinds.graph.properties
    columns = (
        results.cases["subject"][c.case].tolist(),
        results.cases["object"][c.case].tolist(),
        [properties[r] for r in c.relation.tolist()],
        c.facets["label"].tolist(),
    )
    there = np.array([key in seen for key in zip(*columns, strict=True)], bool)
    return there & (c.role == PROPERTY) & (results.cases["run"][c.case] == 0)


def _estimate(results: Results, right: np.ndarray, among: np.ndarray, kind: str) -> Estimate:
    of_kind = results.cases["superordinate"].astype(str)[results.choices.case] == kind
    metric = by_case(right, results.choices.case, len(results), among & (of_kind | (kind == "")))
    return estimate(metric._replace(share=True), clusters(results), np.ones(len(results), bool))


def _share(found: Sequence[Answer]) -> float:
    return sum(a.right for a in found) / len(found) if found else float("nan")
