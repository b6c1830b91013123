"""How much a world says: support, strata, and the statements behind each fact (design.md 6)."""

import numpy as np

from corpus.graph import KnowledgeGraph
from corpus.text.hedges import is_hedged
from corpus.text.language import Kind
from corpus.text.sentences import Sentences
from testbed.run.world import World

SUPPORT_BINS = ("0", "1", "2-4", "5-19", "20+")
_BIN_STARTS = (1, 2, 5, 20)
STRATA = ("S0", "S1", "S2")
_STRATUM_STARTS = (1, 4)


def support_bin(support: np.ndarray) -> np.ndarray:
    """Index into SUPPORT_BINS of each support n_u."""
    return np.searchsorted(_BIN_STARTS, support, side="right")


def stratum(count: int) -> str:
    """One of STRATA: never stated, one to three times, or more often.

    >>> [stratum(count) for count in (0, 1, 3, 8)]
    ['S0', 'S1', 'S1', 'S2']
    """
    return str(strata_of(np.array(count)))


def strata_of(counts: np.ndarray) -> np.ndarray:
    """str[...]: the stratum of each number of statements."""
    return np.array(STRATA)[np.searchsorted(_STRATUM_STARTS, counts, side="right")]


def support_of(world: World) -> np.ndarray:
    """int64[relations, entities]: n_u, how many subjects have an object as the truth of a relation."""
    graph, width = world.graph, len(world.graph.entities)
    key = graph.relation.astype(np.int64) * width + world.generative.truth
    return np.bincount(key, minlength=len(graph.relations) * width).reshape(-1, width)


class StatementIndex:
    """The atomic sentences of a corpus by fact, but for hedged ones, and the objects of each relation."""

    def __init__(self, graph: KnowledgeGraph, sentences: Sentences) -> None:
        hedged = is_hedged(graph)[sentences.phrasing]
        atomic = sentences.a[(sentences.kind == Kind.ATOMIC) & ~hedged]
        fact = graph.find(atomic[:, 0], atomic[:, 1])
        order = np.argsort(fact, kind="stable")
        self._objects = atomic[order, 2].astype(np.int64)
        self._offsets = np.searchsorted(fact[order], np.arange(len(graph) + 1))
        self.objects_by_relation = [
            np.unique(atomic[atomic[:, 1] == r, 2]) for r in range(len(graph.relations))
        ]

    def objects_of(self, fact: int) -> np.ndarray:
        """The object of every statement of a fact."""
        return self._objects[self._offsets[fact] : self._offsets[fact + 1]]
