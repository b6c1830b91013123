"""TAXI's edits and their multiple-choice questions (Powell et al. 2024).

They are built for any taxonomy as TAXI builds its own, or read from TAXI's tables: 976 edits, and what is
asked of a model before any of them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.worlds.taxonomy import categories_of, is_a, members, relations_of
from corpus.worlds.taxonomy.build import ALIASES
from testbed.protocol import ABSENT

QUERIES = Path("datasets") / "edits-evaluation.json"
MEMBERSHIP = "category_membership"
ITSELF = "<subj>"
COLUMNS = (
    "subj", "entity", "orig_entity", "property", "answer_changed", "fwd_choices", "rev_choices",
    "answer_fwd", "orig_answer_fwd", "answer_rev",
)  # fmt: skip


class Taxonomy:
    """Members, categories and properties of a world.

    Attributes:
        root: the relation of a member to its category.
        category_by_member: the category of each member.

    Raises:
        InputError: the world is not a taxonomy.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph, self.root = graph, is_a(graph)
        subjects = members(graph)
        categories = graph.object[graph.find(subjects, np.full(len(subjects), self.root))]
        self.category_by_member = dict(zip(subjects.tolist(), categories.tolist(), strict=True))
        # What could be misread has something behind its name (`corpus.text.names`).
        self._names = {name.partition(" (#")[0]: i for i, name in enumerate(graph.entities)}
        self._names |= {name: i for i, name in enumerate(graph.entities)}

    @cached_property
    def members_by_category(self) -> dict[int, list[int]]:
        """The members of each category."""
        by_category: dict[int, list[int]] = {int(c): [] for c in self.graph.candidates_of(self.root)}
        for member, category in self.category_by_member.items():
            by_category[category].append(member)
        return by_category

    @cached_property
    def value_by_property(self) -> dict[tuple[int, int], int]:
        """What a category has as the object of a relation; nothing where it lacks the property."""
        graph = self.graph
        facts = np.flatnonzero(~graph.silent & (graph.relation != self.root))
        columns = (column[facts].tolist() for column in (graph.subject, graph.relation, graph.object))
        category = self.category_by_member
        return {(category[s], r): o for s, r, o in zip(*columns, strict=True) if s in category}

    def value_of(self, category: int, relation: int) -> int:
        """The object that a category has; ABSENT where it lacks the property."""
        return self.value_by_property.get((category, relation), ABSENT)

    def sibling_categories(self, category: int) -> list[int]:
        """The categories of the same superordinate, itself included."""
        return categories_of(self.graph, int(self.graph.group[category])).tolist()

    def property_relations(self, subject: int) -> list[int]:
        """The properties that can be asked of a subject."""
        return [r for r in self.graph.relation[self.graph.facts_of(subject)].tolist() if r != self.root]

    def inverse_phrasing(self, relation: int) -> int:
        """The phrasing in which a relation is said inversely; 0 where there is none."""
        ways = enumerate(self.graph.phrasings, start=1)
        return next((i for i, way in ways if way.inverse and way.relation == relation), 0)

    def is_typical(self, subject: int) -> bool:
        """Whether a subject is spoken of more often than others."""
        return bool(self.graph.frequency[subject] > 1)

    def peer_subjects(self, subject: int) -> list[int]:
        """Other members of the superordinate that are spoken of as often."""
        group, often = self.graph.group, self.graph.frequency
        alike = (group == group[subject]) & (often == often[subject])
        return [s for s in self.category_by_member if s != subject and alike[s]]

    def superordinate_of(self, subject: int) -> str:
        """What kind of thing a subject is."""
        return self.graph.groups[self.graph.group[subject]]

    def find_entity(self, name: str) -> int:
        """The entity of a name; ABSENT of none."""
        return self._names.get(" ".join(name.split()), ABSENT)


FURTHER = (2, 4)
"""Least and most options of a property besides the new and the old value."""


class Query(NamedTuple):
    """A multiple-choice question about an edited subject.

    Attributes:
        options: the objects to choose from.
        label, old: the right one, and the right one before the edit.
        changed: whether it counts as one that the edit changes.
        subjects: whom to choose from when it is asked inversely; the edited subject is right.
    """

    relation: int
    options: tuple[int, ...]
    label: int
    old: int
    changed: bool
    subjects: tuple[int, ...]


class Edit(NamedTuple):
    """A subject that becomes a member of another category; the first query asks for that."""

    subject: int
    old: int
    new: int
    queries: tuple[Query, ...]


def build_edits(taxonomy: Taxonomy, rng: np.random.Generator) -> Iterator[Edit]:
    """Every subject with every other category of its superordinate.

    A property is asked where both categories have it. Inversely, the options are the subject, and those of
    its superordinate that are spoken of as often and whose category does not have the asked value.
    """
    for subject, old in taxonomy.category_by_member.items():
        siblings, peers = taxonomy.sibling_categories(old), taxonomy.peer_subjects(subject)
        for new in siblings:
            if new == old:
                continue
            outside = [s for s in peers if taxonomy.category_by_member[s] not in (old, new)]
            queries = [Query(taxonomy.root, tuple(siblings), new, old, True, (subject, *outside))]
            for relation in taxonomy.property_relations(subject):
                before, after = taxonomy.value_of(old, relation), taxonomy.value_of(new, relation)
                if ABSENT in (before, after):
                    continue
                other_subjects = [
                    s for s in peers if taxonomy.value_of(taxonomy.category_by_member[s], relation) != after
                ]
                first = {after, before}
                others = [o for o in taxonomy.graph.candidates_of(relation).tolist() if o not in first]
                count = int(rng.integers(FURTHER[0], FURTHER[1] + 1))
                options = (*first, *rng.permutation(others)[:count].tolist())
                changed = before != after
                queries.append(Query(relation, options, after, before, changed, (subject, *other_subjects)))
            yield Edit(subject, old, new, tuple(queries))


def read_edits(taxonomy: Taxonomy, folder: Path) -> list[Edit]:
    """The edits of a folder of TAXI's data, each with its queries.

    Raises:
        InputError: no such file, a column missing, an unknown name, or an answer that no relation can have.
    """
    path = folder / QUERIES
    queries_by_edit: dict[tuple[int, int, int], list[Query]] = {}
    for row in _read_rows(path, COLUMNS, taxonomy):
        old, before = (row.find_entity(row.cells[name]) for name in ("orig_entity", "orig_answer_fwd"))
        if taxonomy.category_by_member.get(row.subject) != old:
            raise InputError(
                f"{row.where}: {row.cells['subj']!r} is not a {row.cells['orig_entity']!r} in this world; "
                "build the world of this very folder"
            )
        query = Query(
            row.relation, row.options, row.label, before, bool(row.cells["answer_changed"]), row.subjects
        )
        queries = queries_by_edit.setdefault((row.subject, old, row.category), [])
        queries.insert(0 if query.relation == taxonomy.root else len(queries), query)
    for (s, _, c), queries in queries_by_edit.items():
        if queries[0].relation != taxonomy.root:
            edit = "{!r} to {!r}".format(*(taxonomy.graph.entities[i] for i in (s, c)))
            raise InputError(f"{path}: the edit of {edit} has no {MEMBERSHIP} query; restore the file")
    return [Edit(*edit, tuple(queries)) for edit, queries in queries_by_edit.items()]


class _Row:
    """A row of TAXI's tables, and what its names are in a world.

    Attributes:
        where: file and row, for messages.
        category: what the question is about: the new category, or the subject's own.
        options, subjects: the options, forward and inverse.
        label: the right one of the first.

    Raises:
        InputError: an unknown name, or an answer that no relation can have.
    """

    def __init__(self, where: str, cells: Mapping[str, Any], taxonomy: Taxonomy) -> None:
        self.where, self.cells, self.taxonomy = where, cells, taxonomy
        self.subject, self.category = (self.find_entity(cells[name]) for name in ("subj", "entity"))
        self.options = tuple(map(self.find_entity, cells["fwd_choices"]))
        self.subjects = tuple(map(self.find_entity, cells["rev_choices"]))
        self.label = self.find_entity(cells["answer_fwd"])
        is_offered = self.label in self.options and self.subject in self.subjects
        if not is_offered or cells["answer_rev"] not in (ITSELF, cells["subj"]):
            raise InputError(f"{where}: the right answer is none of the options; restore the file")
        self.relation = self._find_relation()

    def find_entity(self, name: Any) -> int:
        """The entity of a name, which may be misspelt as in the tables of the taxonomy."""
        # A name that means several things there means nothing here.
        meant = ALIASES.get(name, ()) if isinstance(name, str) else ("",)
        entity = self.taxonomy.find_entity(meant[0] if len(meant) == 1 else name)
        if entity == ABSENT:
            raise InputError(
                f"{self.where}: nothing is called {name!r} in this world; build the world of this folder"
            )
        return entity

    def _find_relation(self) -> int:
        """Of the relations that a property was split into, the one in which the category has the answer."""
        taxonomy, cells = self.taxonomy, self.cells
        if cells["property"] == MEMBERSHIP:
            return taxonomy.root
        for relation in relations_of(
            taxonomy.graph, int(taxonomy.graph.group[self.category]), cells["property"]
        ):
            if taxonomy.value_of(self.category, relation) == self.label:
                return relation
        raise InputError(
            f"{self.where}: {cells['entity']!r} does not have {cells['answer_fwd']!r} as "
            f"{cells['property']!r} in this world; build the world of this very folder"
        )


def _read_rows(path: Path, columns: Sequence[str], taxonomy: Taxonomy) -> Iterator[_Row]:
    """The rows of a file, which holds a table by columns."""
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
        where = f"{path}, row {key}"
        try:
            cells = {name: table[name][key] for name in columns}
        except KeyError as error:
            raise InputError(f"{where}: a column ends before it ({error}); restore it") from None
        yield _Row(where, cells, taxonomy)
