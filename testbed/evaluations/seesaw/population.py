"""A world of people as Seesaw-CF sees it: what everybody has, and who is in which group."""

from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.rows import Rows, rows_of
from corpus.worlds.people import EDITED, GROUPINGS, NONE, category_of
from testbed.protocol import ABSENT
from testbed.run.strata import StatementIndex, stratum
from testbed.run.world import World

LIFT = 2
"""An object is typical of a group whose members have it more than so many times as often as others: by the
rows that the world was drawn from, or by counting where nobody knows any."""


class Edit(NamedTuple):
    """A person who is to have another object of a relation; `to_other_category` is of another category."""

    person: int
    relation: int
    old: int
    new: int
    to_other_category: bool


class Population:
    """People, their groups, and what the corpus says of them.

    Attributes:
        people: int64, everybody, ascending.
        object_of: int64[relations, entities], the object that each person has; ABSENT where there is none.

    Raises:
        InputError: the world is none of people in groups.
    """

    def __init__(self, world: World) -> None:
        graph = world.graph
        lacking = [name for name in (*GROUPINGS, *EDITED) if name not in graph.relations]
        if lacking:
            raise InputError(
                f"this world has no relation {lacking[0]!r}, so it is not a world of people in groups; build "
                "one with python -m testbed.corpus seesaw"
            )
        self.graph, self.stated = graph, StatementIndex(graph, world.sentences)
        self.people = graph.subjects.astype(np.int64)
        self.object_of = np.full((len(graph.relations), len(graph.entities)), ABSENT)
        self.object_of[graph.relation, graph.subject] = graph.object
        self._category = category_of(graph)

    @cached_property
    def edited_relations(self) -> list[int]:
        """The relations that are edited, in the paper's order."""
        return [self.graph.relations.index(name) for name in EDITED]

    @cached_property
    def grouping_relations(self) -> list[int]:
        """The relations by which people are in groups."""
        return [self.graph.relations.index(name) for name in GROUPINGS]

    @cached_property
    def is_stated(self) -> np.ndarray:
        """bool[relations, entities]: whether the corpus states a fact."""
        graph = self.graph
        mask = np.zeros(self.object_of.shape, bool)
        for fact, (s, r) in enumerate(zip(graph.subject.tolist(), graph.relation.tolist(), strict=True)):
            mask[r, s] = len(self.stated.objects_of(fact)) > 0
        return mask

    def people_with(self, relation: int, obj: int) -> np.ndarray:
        """int64: the people who have an object, ascending."""
        return self.people[self.object_of[relation, self.people] == obj]

    def name_of(self, entity: int) -> str:
        """What an entity is called; empty for ABSENT."""
        return self.graph.entities[entity] if entity != ABSENT else ""

    def category_of(self, obj: int) -> str:
        """Field, continent or country of an object; empty where it has none."""
        group = int(self._category[obj])
        return self.graph.groups[group] if group != NONE else ""

    def stratum_of(self, person: int, relation: int) -> str:
        """How often a fact was stated."""
        return stratum(len(self.stated.objects_of(int(self.graph.find(person, relation)))))

    def relations_of(self, person: int) -> list[int]:
        """The relations of which somebody has a fact."""
        return np.flatnonzero(self.object_of[:, person] != ABSENT).tolist()

    def grouping_of(self, relation: int) -> int:
        """The grouping that a relation depends on in the end; the first one where that is none."""
        root = self.graph.root_of(relation)
        return root if root in self.grouping_relations else self.grouping_relations[0]

    def group_of(self, relation: int, obj: int) -> int:
        """The group in which an object is commonest beside all other groups; ABSENT where nobody has it."""
        grouping = self.grouping_of(relation)
        if relation == grouping:
            return obj
        members = self.object_of[grouping, self.people_with(relation, obj)]
        members = members[members != ABSENT]
        if not len(members):
            return ABSENT
        groups, count = np.unique(members, return_counts=True)
        return int(groups[np.argmax(count / [self._group_size(grouping, g) for g in groups.tolist()])])

    def typical_objects(self, relation: int, obj: int, other: int) -> np.ndarray:
        """int64: objects of another relation that are typical of the group of an object, ascending."""
        return self._typical_of_group(self.grouping_of(relation), self.group_of(relation, obj), other)

    def groups_of(self, person: int) -> dict[str, tuple[str, int]]:
        """By grouping, the name and size of somebody's group; empty and 0 where it is not known."""
        mine = {self.graph.relations[r]: (r, int(self.object_of[r, person])) for r in self.grouping_relations}
        return {
            name: (self.name_of(group), self._group_size(r, group) if group != ABSENT else 0)
            for name, (r, group) in mine.items()
        }

    @cache  # noqa: B019
    def _group_size(self, relation: int, obj: int) -> int:
        return len(self.people_with(relation, obj))

    @cache  # noqa: B019
    def _typical_of_group(self, grouping: int, group: int, relation: int) -> np.ndarray:
        if group == ABSENT or relation == grouping or self.graph.root_of(relation) != grouping:
            return np.empty(0, np.int64)
        within, without = (
            self._shares_by_rows(grouping, group, relation)
            if self._rows
            else self._shares_by_counting(grouping, group, relation)
        )
        return self.graph.candidates_of(relation)[within > LIFT * without].astype(np.int64)

    @cached_property
    def _rows(self) -> list[Rows]:
        """What the world was drawn from; none of a world of real people."""
        return rows_of(self.graph, ExactConfig()) if len(self.graph.rows) else []

    def _shares_by_rows(self, grouping: int, group: int, relation: int) -> tuple[np.ndarray, np.ndarray]:
        """float64[K] twice: shares of a relation's objects in a group, and in all others together."""
        by_group, above = np.eye(len(self.graph.candidates_of(relation))), relation
        while above != grouping:
            table = self._rows[above].table
            assert table is not None, "a relation that depends on a grouping has a table"
            by_group, above = table @ by_group, int(self.graph.upstream[above])
        is_group = self.graph.candidates_of(grouping) == group
        others = np.where(is_group, 0.0, self._rows[grouping].shares)
        return by_group[is_group][0], others @ by_group / others.sum()

    def _shares_by_counting(self, grouping: int, group: int, relation: int) -> tuple[np.ndarray, np.ndarray]:
        """The same among the people that there are; 0 where they are all in the group, or none is."""
        people = self.people[(self.object_of[[grouping, relation]][:, self.people] != ABSENT).all(axis=0)]
        inside = self.object_of[grouping, people] == group
        has = self.object_of[relation, people][None, :] == self.graph.candidates_of(relation)[:, None]
        if inside.all() or not inside.any():
            return np.zeros(len(has)), np.zeros(len(has))
        return has[:, inside].mean(axis=1), has[:, ~inside].mean(axis=1)
