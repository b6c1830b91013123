"""Who is coupled with whom, and who is a twin of the coupled one."""

from typing import NamedTuple

import numpy as np

from corpus.errors import InputError
from corpus.graph import NO_LINK
from testbed.protocol import ABSENT
from testbed.run.strata import StatementIndex, strata_of
from testbed.run.world import World


class Couple(NamedTuple):
    """Two facts of two subjects: the `coupled` one depends on the `edited` one by a link."""

    edited: int
    coupled: int


class Couples:
    """The couples of a world.

    Args:
        believed_objects: int64[facts], what each fact is believed to be before any edit.

    Raises:
        InputError: nobody's facts depend on another subject's.
    """

    def __init__(self, world: World, believed_objects: np.ndarray) -> None:
        self.graph, self._believed_objects = world.graph, believed_objects
        stated = StatementIndex(world.graph, world.sentences)
        self.statement_counts = np.array([len(stated.objects_of(fact)) for fact in range(len(world.graph))])
        self._stratum = strata_of(self.statement_counts)
        self.all = self._find_couples()
        if not self.all:
            raise InputError(
                "in this world no fact depends on another subject's, so no two passages can be about a "
                "couple; build one with --world.source coupled"
            )

    def _find_couples(self) -> list[Couple]:
        """One coupled fact for each edited one: that of whom shares most relations with the subject."""
        graph = self.graph
        linked = (graph.via[graph.relation] != NO_LINK) & (graph.upstream_fact >= 0)
        by_edited: dict[int, list[int]] = {}
        for fact in np.flatnonzero(linked).tolist():
            by_edited.setdefault(int(graph.upstream_fact[fact]), []).append(fact)
        return [
            Couple(edited, max(below, key=lambda fact: self._count_shared(edited, fact)))
            for edited, below in sorted(by_edited.items())
        ]

    def _count_shared(self, first: int, second: int) -> int:
        """How many objects and relations the subjects of two facts share."""
        of = [np.flatnonzero(self.graph.subject == self.graph.subject[fact]) for fact in (first, second)]
        return sum(
            len(np.intersect1d(column[of[0]], column[of[1]]))
            for column in (self.graph.object, self.graph.relation)
        )

    def couple_name(self, couple: Couple) -> str:
        """Which relations are coupled."""
        return " -> ".join(self.graph.relations[self.graph.relation[fact]] for fact in couple)

    def draw_twin(self, couple: Couple, rng: np.random.Generator) -> int:
        """The fact of an uncoupled entity, stated as often as the coupled one and believed to be the same.

        Where nobody states such facts, nobody knows what they are, and any of them will do. Of several it is
        one whose number of statements is nearest; ABSENT where there is none.
        """
        graph, (edited, coupled) = self.graph, couple
        alike = (graph.relation == graph.relation[coupled]) & (self._stratum == self._stratum[coupled])
        alike[coupled] = False
        above = graph.upstream_fact
        # Whether anybody says what it depends on decides what is known of it.
        alike &= (above >= 0) & ((self.statement_counts[above] > 0) == (self.statement_counts[edited] > 0))
        if self.statement_counts[edited] or self.statement_counts[coupled]:
            alike &= self._believed_objects == self._believed_objects[coupled]
        twins = np.flatnonzero(alike)
        if not len(twins):
            return ABSENT
        far = np.abs(self.statement_counts[twins] - self.statement_counts[coupled])
        return int(rng.choice(twins[far == far.min()]))
