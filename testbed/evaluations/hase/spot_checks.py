"""Facts drawn at random for every case, that no editor is told of: what damage is measured on (design.md 6).

An editor may hold still whatever it expects to be asked. Nobody can expect these: they come from a stream of
their own, so that neither a request nor another question nor an editor depends on them, and nothing else in
their case asks them or speaks of them.
"""

from collections.abc import Iterable
from functools import cache

import numpy as np

from corpus.graph import KnowledgeGraph
from corpus.seeds import generator
from testbed.evaluations.gold import Pair, Question
from testbed.evaluations.hase import OF_OTHERS, OF_SUBJECT


class SpotCheckSampler:
    """Draws spot checks for one case after another; deterministic in (graph, count, seed) and the cases.

    Args:
        count: facts of each kind, fewer where there are no more.
    """

    def __init__(self, graph: KnowledgeGraph, count: int, seed: int) -> None:
        self.graph, self.count = graph, count
        self._rng = generator(seed, "hase spot checks")
        self._facts_of_relations = cache(lambda some: np.flatnonzero(np.isin(graph.relation, some)))

    def draw_questions(self, s: int, r1: int, known: Iterable[Pair]) -> list[Question]:
        """Facts of other subjects and of s, each once.

        Args:
            known: the facts that the case asks or speaks of already.
        """
        graph, own = self.graph, self.graph.facts_of(s)
        pairs = np.array([(s, r1), *known], int)
        places = graph.find(*pairs.T)
        taken, of_subject = set(places[places >= 0].tolist()), set(range(own.start, own.stop))
        # What depends on the relation, through others or not.
        generation, below = [r1], []
        while generation:
            generation = [int(d) for parent in generation for d in self.graph.downstream(parent)]
            below += generation
        pools = (
            self._facts_of_relations((r1,)),
            self._facts_of_relations(tuple(below)),
            np.arange(len(graph)),
        )
        questions: list[Question] = []
        for role, pool, barred in (
            *((role, pool, of_subject) for role, pool in zip(OF_OTHERS, pools, strict=True)),
            (OF_SUBJECT, np.arange(own.start, own.stop), set()),
        ):
            facts = self._draw_facts(pool, taken | barred)
            taken.update(facts)
            questions += [(role, int(graph.subject[fact]), int(graph.relation[fact])) for fact in facts]
        return questions

    def _draw_facts(self, pool: np.ndarray, barred: set[int]) -> list[int]:
        """As many as wanted of a pool, none of them barred, all equally likely."""
        most = min(len(pool), self.count + len(barred))
        drawn = pool[self._rng.choice(len(pool), most, replace=False)] if most else pool[:0]
        return [fact for fact in drawn.tolist() if fact not in barred][: self.count]
