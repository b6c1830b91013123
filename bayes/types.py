"""Hidden types, exactly: the state of a subject is its type, given which its facts are independent."""

from dataclasses import dataclass

import numpy as np

from bayes.mixture import Block, MixtureAgent
from corpus.worlds.types import TypesWorld


@dataclass(frozen=True, eq=False)
class TypesAgent(MixtureAgent):
    """Beliefs in a world of hidden types; see `bayes.mixture`."""

    world: TypesWorld

    def block_of(self, fact: int) -> Block:
        """All facts of a subject."""
        facts = self.graph.facts_of(int(self.graph.subject[fact]))
        rows = [self.rows_of(int(self.graph.relation[f])) for f in facts]
        return Block(facts, np.log(self.world.shares), rows)

    def rows_of(self, relation: int) -> np.ndarray:
        """float64[T, K]: log p(object | type), candidates as in the graph."""
        name = self.graph.relations[relation]
        return np.log(self.world.rows[name])[:, self.order_of(relation)]
