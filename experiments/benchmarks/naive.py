"""The obvious twins of fast code, slow and dense: what benchmarks and tests compare that with."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from corpus.generative import GenerativeModel
from corpus.graph import KnowledgeGraph
from corpus.text.language import Kind


def evidence(sentences: Any) -> list[tuple[float, int, int, int]]:
    """(weight, s, r, o) items of design.md 5.1, sentence by sentence."""
    items: list[tuple[float, int, int, int]] = []
    for i in range(len(sentences)):
        kind, label, a, b, _ = sentences[i]
        if kind == Kind.ATOMIC:
            items.append((1, *a))
        elif kind == Kind.TRUTH:
            items.append((1 if label else -1, *a))
        elif kind == Kind.NOT:
            items.append((-1 if label else 1, *a))
        elif kind == Kind.OR:
            items += [(2 / 3 if label else -1, *x) for x in (a, b)]
        else:
            items += [(1 if label else 1 / 3, *x) for x in (a, b)]
    return items


class DenseAgent:
    """The paper's agent with arrays over all K objects; an edit is one more item of evidence."""

    def __init__(
        self,
        items: list[tuple[float, int, int, int]],
        upstream: np.ndarray,
        size: int,
        prior_mass: float,
        multiplicity: float,
    ) -> None:
        self.upstream, self.size, self.mass = upstream, size, prior_mass
        self.counts: dict[tuple[int, int], np.ndarray] = defaultdict(lambda: np.zeros(size))
        self.mentions: dict[tuple[int, int], np.ndarray] = defaultdict(lambda: np.zeros(size))
        for weight, s, r, o in items:
            self.observe(weight, s, r, o, multiplicity)

    def observe(self, weight: float, s: int, r: int, o: int, copies: float = 1) -> None:
        """One item of evidence more."""
        one = np.eye(self.size)[o]
        rest = (1 - one) / (self.size - 1)
        if weight >= 1:
            vector = weight * one
        elif weight == -1:
            vector = rest
        else:
            vector = weight * one + (1 - weight) * rest
        self.counts[s, r] += copies * vector
        self.mentions[s, r][o] += copies

    def posterior(self, counts: np.ndarray) -> np.ndarray:
        """float64[K]: the Dirichlet mean given some counts."""
        return (counts + self.mass / self.size) / (counts.sum() + self.mass)

    def direct_belief(self, s: int, r: int) -> np.ndarray:
        """float64[K]: p(o | s, r) from what was said of this very fact."""
        return self.posterior(self.counts[s, r] if (s, r) in self.counts else np.zeros(self.size))

    def table(self, r: int, a: int) -> np.ndarray:
        """float64[K]: p(o | a) of a downstream relation, from all subjects whose upstream object is a."""
        total = np.zeros(self.size)
        for s, r2 in list(self.counts):
            up = (s, self.upstream[r])
            if r2 == r and up in self.counts:
                total += self.mentions[up][a] / self.mentions[up].sum() * self.counts[s, r]
        return self.posterior(total)

    def best(self, s: int, r: int) -> np.ndarray:
        """float64[K]: p(o | s, r), through the table where there is an upstream fact."""
        if self.upstream[r] < 0 or (s, self.upstream[r]) not in self.counts:
            return self.direct_belief(s, r)
        up = self.direct_belief(s, self.upstream[r])
        return sum(up[a] * self.table(r, a) for a in range(self.size))


def published_sentences(
    graph: KnowledgeGraph,
    model: GenerativeModel,
    streams: Sequence[np.random.Generator],
    facts_per_block: int,
) -> list[tuple]:
    """(kind, label, a, b) of design.md 3, fact by fact, each block of facts from its own stream."""
    truth, share, objects = model.truth.tolist(), model.mode_share.tolist(), graph.objects.tolist()
    sentences: list[tuple] = []
    for f in range(len(graph)):
        if f % facts_per_block == 0:
            rng = streams[f // facts_per_block]
        fact = (int(graph.subject[f]), int(graph.relation[f]))
        table = slice(*model.offsets[model.table[f] : model.table[f] + 2])

        def draw_object(rng: np.random.Generator = rng, table: slice = table) -> int:
            u = rng.random()
            below = [c for c in model.cumulative[table] if c <= u]
            return int(model.objects[table][len(below)])

        def statement(g: int, true: bool, rng: np.random.Generator = rng) -> int:
            if true:
                return int(truth[g])
            if model.distractor[g] >= 0:
                return int(model.distractor[g])
            others = [o for o in objects if o != truth[g]]
            return others[int(rng.random() * len(others))]

        samples: list[int] = []
        while sum(o == truth[f] for o in samples) < 6:
            samples = [draw_object() for _ in range(10)]
        sentences += [(Kind.ATOMIC, False, (*fact, o), None) for o in samples]
        right = [share[f] if o == truth[f] else 1 - share[f] for o in samples]
        sentences += [
            (Kind.TRUTH, rng.random() < p, (*fact, o), None) for o, p in zip(samples, right, strict=True)
        ]
        sentences += [(Kind.NOT, not true, (*fact, statement(f, true)), None) for true in (False, True)]
        earlier = [g for g in range(f) if graph.subject[g] < graph.subject[f]]
        earlier = earlier or [g for g in range(len(graph)) if graph.subject[g] == graph.subject[f]]
        for kind, joined in ((Kind.AND, all), (Kind.OR, any)):
            own_true = rng.random() < 0.5
            own = (*fact, statement(f, own_true))
            g = earlier[int(rng.random() * len(earlier))]
            other_true = rng.random() < 0.5
            other = (int(graph.subject[g]), int(graph.relation[g]), statement(g, other_true))
            a, b = (other, own) if rng.random() < 0.5 else (own, other)
            sentences.append((kind, joined([own_true, other_true]), a, b))
    return sentences


def shuffle_by_keys(
    groups: Sequence[Sequence[int]], times: Sequence[int], rng: np.random.Generator
) -> list[int]:
    """Every group's items in so many random orders, one after another."""
    items: list[int] = []
    for group, orders in zip(groups, times, strict=True):
        for _ in range(orders):
            order = list(group)
            for i in reversed(range(1, len(order))):
                j = int(rng.random() * (i + 1))
                order[i], order[j] = order[j], order[i]
            items += order
    return items
