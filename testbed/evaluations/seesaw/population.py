"""A world of people as Seesaw-CF's examination sees it: what everybody has, and who is in which group."""

from functools import cache, cached_property

import numpy as np

from corpus.errors import InputError
from corpus.people import EDITED, GROUPINGS, NONE, category_of
from testbed.protocol import ABSENT
from testbed.run.strata import Stated, stratum
from testbed.run.world import World

LIFT = 2
"""An object is typical of a group whose members have it more than so many times as often as others."""


class Population:
    """People, their groups, and what the corpus says of them.

    Attributes:
        people: int64, everybody, ascending.
        value: int64[relations, entities], the object that each person has; ABSENT where there is none.

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
        self.graph, self.stated = graph, Stated(graph, world.sentences)
        self.people = graph.subjects.astype(np.int64)
        self.value = np.full((len(graph.relations), len(graph.entities)), ABSENT)
        self.value[graph.relation, graph.subject] = graph.object
        self._category = category_of(graph)

    @cached_property
    def edited(self) -> list[int]:
        """The relations that are edited, in the paper's order."""
        return [self.graph.relations.index(name) for name in EDITED]

    @cached_property
    def groupings(self) -> list[int]:
        """The relations by which people are in groups."""
        return [self.graph.relations.index(name) for name in GROUPINGS]

    @cached_property
    def said(self) -> np.ndarray:
        """bool[relations, entities]: whether the corpus states a fact."""
        graph = self.graph
        said = np.zeros(self.value.shape, bool)
        for fact, (s, r) in enumerate(zip(graph.subject.tolist(), graph.relation.tolist(), strict=True)):
            said[r, s] = len(self.stated.objects(fact)) > 0
        return said

    def holders(self, relation: int, obj: int) -> np.ndarray:
        """int64: the people who have an object, ascending."""
        return self.people[self.value[relation, self.people] == obj]

    def name(self, entity: int) -> str:
        """What an entity is called; empty for ABSENT."""
        return self.graph.entities[entity] if entity != ABSENT else ""

    def category(self, obj: int) -> str:
        """Field, continent or country of an object; empty where it has none."""
        group = int(self._category[obj])
        return self.graph.groups[group] if group != NONE else ""

    def stratum(self, person: int, relation: int) -> str:
        """How often a fact was stated."""
        return stratum(len(self.stated.objects(int(self.graph.find(person, relation)))))

    def relations_of(self, person: int) -> list[int]:
        """The relations of which somebody has a fact."""
        return np.flatnonzero(self.value[:, person] != ABSENT).tolist()

    def grouping_of(self, relation: int) -> int:
        """The grouping that a relation depends on in the end; the first one where that is none."""
        root = self.graph.root_of(relation)
        return root if root in self.groupings else self.groupings[0]

    def group_of(self, relation: int, obj: int) -> int:
        """The group in which an object is commonest beside all other groups; ABSENT where nobody has it."""
        grouping = self.grouping_of(relation)
        if relation == grouping:
            return obj
        members = self.value[grouping, self.holders(relation, obj)]
        members = members[members != ABSENT]
        if not len(members):
            return ABSENT
        groups, count = np.unique(members, return_counts=True)
        return int(groups[np.argmax(count / [self._size(grouping, g) for g in groups.tolist()])])

    def typical(self, relation: int, obj: int, asked: int) -> np.ndarray:
        """int64: objects of the relation asked that are typical of the group of an object, ascending."""
        return self._typical(self.grouping_of(relation), self.group_of(relation, obj), asked)

    def groups(self, person: int) -> dict[str, tuple[str, int]]:
        """By grouping, the name and size of somebody's group; empty and 0 where it is not known."""
        mine = {self.graph.relations[r]: (r, int(self.value[r, person])) for r in self.groupings}
        return {
            name: (self.name(group), self._size(r, group) if group != ABSENT else 0)
            for name, (r, group) in mine.items()
        }

    @cache  # noqa: B019
    def _size(self, relation: int, obj: int) -> int:
        return len(self.holders(relation, obj))

    @cache  # noqa: B019
    def _typical(self, grouping: int, group: int, asked: int) -> np.ndarray:
        if group == ABSENT or asked == grouping:
            return np.empty(0, np.int64)
        people = self.people[(self.value[[grouping, asked]][:, self.people] != ABSENT).all(axis=0)]
        inside = self.value[grouping, people] == group
        has = self.value[asked, people][None, :] == self.graph.candidates_of(asked)[:, None]
        within, without = has[:, inside].mean(axis=1), has[:, ~inside].mean(axis=1)
        return self.graph.candidates_of(asked)[within > LIFT * without].astype(np.int64)
