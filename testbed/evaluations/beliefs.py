"""An agent's beliefs about facts, by subject and relation, for cases that ask many of them again."""

from collections.abc import Iterable, Sequence

import numpy as np

from bayes.interface import Agent
from corpus.graph import KnowledgeGraph

Pair = tuple[int, int]
"""Subject and relation."""
SURE = 1 - 1e-9
"""Whoever is believed to have an object so surely is believed so after an edit of somebody else, too."""


def ask_beliefs(graph: KnowledgeGraph, agent: Agent, pairs: Sequence[Pair]) -> dict[Pair, np.ndarray]:
    """p(o | s, r) of the candidates of each relation."""
    if not pairs:
        return {}
    beliefs = agent.distributions(*np.array(pairs).T)
    places = {r: np.searchsorted(graph.objects, graph.candidates_of(r)) for _, r in pairs}
    return {pair: belief[places[pair[1]]] for pair, belief in zip(pairs, beliefs, strict=True)}


class PriorBeliefs:
    """What is believed before any edit, each asked once."""

    def __init__(self, graph: KnowledgeGraph, agent: Agent) -> None:
        self.graph, self.agent = graph, agent
        self._known: dict[Pair, np.ndarray] = {}

    def __call__(self, pairs: Iterable[Pair]) -> dict[Pair, np.ndarray]:
        """p(o | s, r) of the candidates of each relation, for these and all that were asked earlier."""
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        self._known |= ask_beliefs(self.graph, self.agent, missing)
        return self._known
