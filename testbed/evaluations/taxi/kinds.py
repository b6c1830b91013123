"""A taxonomy as TAXI's examination sees it: who belongs where, and what each category has."""

from functools import cached_property

import numpy as np

from corpus.graph import KnowledgeGraph
from corpus.worlds import taxonomy
from testbed.protocol import ABSENT


class Taxonomy:
    """Members, categories and properties of a world.

    Attributes:
        root: the relation of a member to its category.
        category: category of each member.

    Raises:
        InputError: the world is not a taxonomy.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph, self.root = graph, taxonomy.is_a(graph)
        members = taxonomy.members(graph)
        categories = graph.object[graph.find(members, np.full(len(members), self.root))]
        self.category_by_member = dict(zip(members.tolist(), categories.tolist(), strict=True))
        # What could be misread has something behind its name (`corpus.text.names`).
        self._names = {name.partition(" (#")[0]: i for i, name in enumerate(graph.entities)}
        self._names |= {name: i for i, name in enumerate(graph.entities)}

    @cached_property
    def members_by_category(self) -> dict[int, list[int]]:
        """The members of each category."""
        members: dict[int, list[int]] = {int(c): [] for c in self.graph.candidates_of(self.root)}
        for member, category in self.category_by_member.items():
            members[category].append(member)
        return members

    @cached_property
    def value_by_property(self) -> dict[tuple[int, int], int]:
        """What a category has as the object of a relation; nothing where it lacks the property."""
        graph = self.graph
        facts = np.flatnonzero(~graph.silent & (graph.relation != self.root))
        triples = zip(
            graph.subject[facts].tolist(),
            graph.relation[facts].tolist(),
            graph.object[facts].tolist(),
            strict=True,
        )
        return {(self.category_by_member[s], r): o for s, r, o in triples if s in self.category_by_member}

    def value_of(self, category: int, relation: int) -> int:
        """The object that a category has; ABSENT where it lacks the property."""
        return self.value_by_property.get((category, relation), ABSENT)

    def sibling_categories(self, category: int) -> list[int]:
        """The categories of the same superordinate, itself included."""
        return taxonomy.categories_of(self.graph, int(self.graph.group[category])).tolist()

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
        kind, often = self.graph.group[subject], self.graph.frequency[subject]
        return [
            s
            for s in self.category_by_member
            if s != subject and self.graph.group[s] == kind and self.graph.frequency[s] == often
        ]

    def superordinate_of(self, subject: int) -> str:
        """What kind of thing a subject is."""
        return self.graph.groups[self.graph.group[subject]]

    def find_entity(self, name: str) -> int:
        """The entity of a name; ABSENT of none."""
        return self._names.get(" ".join(name.split()), ABSENT)
