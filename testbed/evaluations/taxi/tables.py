"""TAXI's own 976 edits and their questions, by the names that the tables give them (Powell et al. 2024)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus import taxonomy
from corpus.errors import InputError
from testbed.evaluations.taxi.edits import Edit, Query
from testbed.evaluations.taxi.kinds import Kinds
from testbed.protocol import ABSENT

QUERIES = Path("datasets") / "edits-evaluation.json"
MEMBERSHIP = "category_membership"
ITSELF = "<subj>"
COLUMNS = (
    "subj", "entity", "orig_entity", "property", "answer_changed", "fwd_choices", "rev_choices",
    "answer_fwd", "orig_answer_fwd", "answer_rev",
)  # fmt: skip


def edits_from(kinds: Kinds, folder: Path) -> list[Edit]:
    """The edits of a folder of TAXI's data, each with its queries.

    Raises:
        InputError: no such file, a column missing, an unknown name, or an answer that no relation can have.
    """
    path = folder / QUERIES
    asked: dict[tuple[int, int, int], list[Query]] = {}
    for where, row in _rows(path):
        subject, new, old = (_entity(kinds, row[name], where) for name in ("subj", "entity", "orig_entity"))
        if kinds.category.get(subject) != old:
            raise InputError(
                f"{where}: {row['subj']!r} is no {row['orig_entity']!r} in this world; build the world of "
                "this very folder"
            )
        query = _query(kinds, row, (subject, old, new), where)
        queries = asked.setdefault((subject, old, new), [])
        queries.insert(0 if row["property"] == MEMBERSHIP else len(queries), query)
    bare = [edit for edit, queries in asked.items() if queries[0].relation != kinds.root]
    if bare:
        s, _, c = (kinds.graph.entities[i] for i in bare[0])
        raise InputError(f"{path}: the edit of {s!r} to {c!r} has no {MEMBERSHIP} query; restore the file")
    return [Edit(*edit, tuple(queries)) for edit, queries in asked.items()]


def _query(kinds: Kinds, row: dict[str, Any], edit: tuple[int, int, int], where: str) -> Query:
    subject, _, new = edit
    options = [_entity(kinds, name, where) for name in row["fwd_choices"]]
    subjects = [_entity(kinds, name, where) for name in row["rev_choices"]]
    label, before = (_entity(kinds, row[name], where) for name in ("answer_fwd", "orig_answer_fwd"))
    if label not in options or row["answer_rev"] not in (ITSELF, row["subj"]) or subject not in subjects:
        raise InputError(f"{where}: the right answer is none of the options; restore the file")
    if row["property"] == MEMBERSHIP:
        relation = kinds.root
    else:
        group = int(kinds.graph.group[subject])
        able = taxonomy.relations_of(kinds.graph, group, row["property"])
        # Of the relations that a property was split into, the one in which the new category has the answer.
        having = [r for r in able if kinds.value(new, r) == label]
        if not having:
            raise InputError(
                f"{where}: {row['entity']!r} does not have {row['answer_fwd']!r} as {row['property']!r} in "
                "this world; build the world of this very folder"
            )
        relation = having[0]
    return Query(relation, tuple(options), label, before, bool(row["answer_changed"]), tuple(subjects))


def _entity(kinds: Kinds, name: Any, where: str) -> int:
    found = kinds.entity(name) if isinstance(name, str) else ABSENT
    if found == ABSENT:
        raise InputError(f"{where}: nothing is called {name!r} in this world; build the world of this folder")
    return found


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where each row stands, and its cells by column; the file holds a table by columns."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"{path} is missing; the world's folder should be TAXI's with its datasets"
        ) from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path} is not JSON ({error}); restore the file") from None
    missing = [name for name in COLUMNS if not isinstance(table, dict) or name not in table]
    if missing:
        raise InputError(f"{path} lacks the column {missing[0]!r}; restore the file")
    for key in table["subj"]:
        try:
            yield f"{path}, row {key}", {name: table[name][key] for name in COLUMNS}
        except KeyError as error:
            raise InputError(f"{path}, row {key}: a column ends before it ({error}); restore it") from None
