"""TAXI's own 976 edits and their questions, by the names that the tables give them (Powell et al. 2024).

Beside them, the questions that are asked of a model before any edit.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from corpus.errors import InputError
from corpus.worlds import taxonomy
from corpus.worlds.taxonomy.build import ALIASES
from testbed.evaluations.taxi.edits import Edit, Query
from testbed.evaluations.taxi.kinds import Taxonomy
from testbed.protocol import ABSENT

QUERIES = Path("datasets") / "edits-evaluation.json"
BASELINE = Path("datasets") / "baseline-evaluation.json"
MEMBERSHIP = "category_membership"
ITSELF = "<subj>"
COLUMNS = (
    "subj", "entity", "orig_entity", "property", "answer_changed", "fwd_choices", "rev_choices",
    "answer_fwd", "orig_answer_fwd", "answer_rev",
)  # fmt: skip
"""Of questions after an edit."""
BASELINE_COLUMNS = (
    "subj", "entity", "token_type", "property", "fwd_choices", "rev_choices", "answer_fwd", "answer_rev",
)  # fmt: skip
"""Of questions before any edit."""


class BaselineQuestion(NamedTuple):
    """A question to the unedited model.

    Attributes:
        token_type: "typical", "rare", or "entity" where it is about a category itself.
        subjects: who is offered when it is asked inversely.
    """

    token_type: str
    subject: int
    relation: int
    label: int
    options: tuple[int, ...]
    subjects: tuple[int, ...]


def read_edits(kinds: Taxonomy, folder: Path) -> list[Edit]:
    """The edits of a folder of TAXI's data, each with its queries.

    Raises:
        InputError: no such file, a column missing, an unknown name, or an answer that no relation can have.
    """
    path = folder / QUERIES
    queries_by_edit: dict[tuple[int, int, int], list[Query]] = {}
    for where, row in _read_rows(path, COLUMNS):
        subject, new, old = (
            _find_entity(kinds, row[name], where) for name in ("subj", "entity", "orig_entity")
        )
        if kinds.category_by_member.get(subject) != old:
            raise InputError(
                f"{where}: {row['subj']!r} is not a {row['orig_entity']!r} in this world; build the world of "
                "this very folder"
            )
        query = _parse_query(kinds, row, (subject, old, new), where)
        queries = queries_by_edit.setdefault((subject, old, new), [])
        queries.insert(0 if row["property"] == MEMBERSHIP else len(queries), query)
    edits_without_membership = [
        edit for edit, queries in queries_by_edit.items() if queries[0].relation != kinds.root
    ]
    if edits_without_membership:
        s, _, c = (kinds.graph.entities[i] for i in edits_without_membership[0])
        raise InputError(f"{path}: the edit of {s!r} to {c!r} has no {MEMBERSHIP} query; restore the file")
    return [Edit(*edit, tuple(queries)) for edit, queries in queries_by_edit.items()]


def read_baseline(kinds: Taxonomy, folder: Path) -> list[BaselineQuestion]:
    """The questions that TAXI asks before any edit.

    Raises:
        InputError: as for `read_edits`.
    """
    questions = []
    for where, row in _read_rows(folder / BASELINE, BASELINE_COLUMNS):
        subject, category = (_find_entity(kinds, row[name], where) for name in ("subj", "entity"))
        options, subjects, label = _parse_answers(kinds, row, subject, where)
        relation = _find_relation(kinds, row, category, label, where)
        questions.append(BaselineQuestion(row["token_type"], subject, relation, label, options, subjects))
    return questions


def _parse_query(kinds: Taxonomy, row: dict[str, Any], edit: tuple[int, int, int], where: str) -> Query:
    subject, _, new = edit
    options, subjects, label = _parse_answers(kinds, row, subject, where)
    before = _find_entity(kinds, row["orig_answer_fwd"], where)
    relation = _find_relation(kinds, row, new, label, where)
    return Query(relation, options, label, before, bool(row["answer_changed"]), subjects)


def _parse_answers(
    kinds: Taxonomy, row: dict[str, Any], subject: int, where: str
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """The options, forward and inverse, and the right one of the first."""
    options = tuple(_find_entity(kinds, name, where) for name in row["fwd_choices"])
    subjects = tuple(_find_entity(kinds, name, where) for name in row["rev_choices"])
    label = _find_entity(kinds, row["answer_fwd"], where)
    if label not in options or row["answer_rev"] not in (ITSELF, row["subj"]) or subject not in subjects:
        raise InputError(f"{where}: the right answer is none of the options; restore the file")
    return options, subjects, label


def _find_relation(kinds: Taxonomy, row: dict[str, Any], category: int, label: int, where: str) -> int:
    """Of the relations that a property was split into, the one in which the category has the answer."""
    if row["property"] == MEMBERSHIP:
        return kinds.root
    able = taxonomy.relations_of(kinds.graph, int(kinds.graph.group[category]), row["property"])
    having = [r for r in able if kinds.value_of(category, r) == label]
    if not having:
        raise InputError(
            f"{where}: {row['entity']!r} does not have {row['answer_fwd']!r} as {row['property']!r} in "
            "this world; build the world of this very folder"
        )
    return having[0]


def _find_entity(kinds: Taxonomy, name: Any, where: str) -> int:
    # Misspelt as in the tables of the taxonomy; a name that means several things there means nothing here.
    meant = ALIASES.get(name, ()) if isinstance(name, str) else ("",)
    entity = kinds.find_entity(meant[0] if len(meant) == 1 else name)
    if entity == ABSENT:
        raise InputError(f"{where}: nothing is called {name!r} in this world; build the world of this folder")
    return entity


def _read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where each row stands, and its cells by column; the file holds a table by columns."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"{path} is missing; the world's folder should be TAXI's with its datasets"
        ) from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path} is not JSON ({error}); restore the file") from None
    missing = [name for name in columns if not isinstance(table, dict) or name not in table]
    if missing:
        raise InputError(f"{path} lacks the column {missing[0]!r}; restore the file")
    for key in table["subj"]:
        try:
            yield f"{path}, row {key}", {name: table[name][key] for name in columns}
        except KeyError as error:
            raise InputError(f"{path}, row {key}: a column ends before it ({error}); restore it") from None
