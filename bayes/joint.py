"""Joint causes, exactly: the state of a subject is its causes, given which its effects are independent."""

from dataclasses import dataclass

import numpy as np

from bayes.mixture import Block, MixtureAgent
from corpus.worlds.joint import CAUSES, EFFECTS, FIRST, SECOND, SQUARE, SUM, THIRD, JointWorld

AXES = {FIRST: 0, SECOND: 1, THIRD: 2}
"""Of the states, an array by three causes."""


@dataclass(frozen=True, eq=False)
class JointAgent(MixtureAgent):
    """Beliefs in a world of joint causes; see `bayes.mixture`."""

    world: JointWorld

    def block_of(self, fact: int) -> Block:
        """All facts of a subject."""
        facts = self.graph.facts_of(int(self.graph.subject[fact]))
        size = len(self.world.square)
        rows = [self.rows_of(int(self.graph.relation[f])) for f in facts]
        return Block(facts, np.full(size**3, -3 * np.log(size)), rows)

    def rows_of(self, relation: int) -> np.ndarray:
        """float64[S, K]: log p(object | the three causes), candidates as in the graph."""
        name, size = self.graph.relations[relation], len(self.world.square)
        shape = (size, size, size)
        if name in CAUSES:
            rows = np.eye(size)[np.indices(shape)[AXES[name]]]
        else:
            rows = {SQUARE: self.world.square[:, :, None], SUM: self.world.sums[None]}[name]
            rows = np.broadcast_to(rows, (*shape, rows.shape[-1]))
        assert name in (*CAUSES, *EFFECTS)
        with np.errstate(divide="ignore"):
            return np.log(rows.reshape(size**3, -1))[:, self.order_of(relation)]
