"""Relations that say the same from the other side: symmetric ones, and inverses of each other.

"Ann married to Bob" and "Bob married to Ann" are one event, as are "Ann teaches Bob" and "Bob taught by Ann".
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corpus.graph import KnowledgeGraph

REVERSED = 0.9
LEAST = 10


class Reversal(NamedTuple):
    """Two relations that are each other's inverse; a symmetric one is its own.

    Attributes:
        facts: how many facts of either have an object that has a fact of the other.
        share: share of these that the other side states, too.
    """

    one: int
    other: int
    facts: int
    share: float


def find_reversals(graph: KnowledgeGraph) -> list[Reversal]:
    """Of which relations at least `REVERSED` of the facts, and `LEAST` of them, are stated from both sides.

    A fact counts where its object has a fact of the other relation; who is no subject of the world cannot
    state the other side. A relation has one inverse at most: the one that states most of its facts.
    """
    relations = len(graph.relations)
    # Which relations each object has, and whether it has the subject there.
    rows = np.flatnonzero(np.isin(graph.object, graph.subjects))
    stated = np.zeros((relations, relations, 2), int)
    for back in range(relations) if len(rows) else ():
        place = graph.find(graph.object[rows], np.full(len(rows), back))
        is_back = (place >= 0) & (graph.object[place] == graph.subject[rows])
        for i, mine in enumerate((place >= 0, is_back)):
            stated[:, back, i] = np.bincount(graph.relation[rows[mine]], minlength=relations)
    total, both = np.moveaxis(stated, 2, 0)
    share = both / np.maximum(total, 1)
    share = np.minimum(share, share.T)
    found: list[Reversal] = []
    taken: set[int] = set()
    order = np.argsort(-both, axis=None, kind="stable")
    for one, other in zip(*np.unravel_index(order, both.shape), strict=True):
        is_so = min(both[one, other], both[other, one]) >= LEAST and share[one, other] >= REVERSED
        if is_so and one <= other and not {int(one), int(other)} & taken:
            taken |= {int(one), int(other)}
            found.append(Reversal(int(one), int(other), int(total[one, other]), float(share[one, other])))
    return sorted(found)


def reverse_of(reversals: Sequence[Reversal]) -> dict[int, int]:
    """The inverse of each relation that has one."""
    return {a: b for one in reversals for a, b in ((one.one, one.other), (one.other, one.one))}
