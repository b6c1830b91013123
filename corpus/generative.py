"""The world's noisy distributions p(o | s, r) and their modes, the ground truth (Hase 6.2, design.md 3)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from corpus.graph import KnowledgeGraph

MODE_SHARE_PERCENT = (60, 100)
Distractors = Literal["any-relation", "same-relation"]


@dataclass(frozen=True, eq=False)
class GenerativeModel:
    """One categorical distribution per table, and the table of every fact.

    A fact without an upstream fact has a table of its own (two objects); facts of one relation that
    share an upstream object share their table.

    Attributes:
        table: int64[facts].
        offsets: int64[tables + 1] into `objects` and `probability`.
        objects: int32[entries], ascending within a table.
        probability: float64[entries], sums to 1 within a table.
        distractor: int32[facts], the fixed false object of a root fact, -1 for the others.
    """

    table: np.ndarray
    offsets: np.ndarray
    objects: np.ndarray
    probability: np.ndarray
    distractor: np.ndarray

    @cached_property
    def _mode_entry(self) -> np.ndarray:
        """Entry of each table's most probable object; ties go to the lower id."""
        table_of_entry = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        order = np.lexsort((self.objects, -self.probability, table_of_entry))
        return order[self.offsets[:-1]]

    @property
    def truth(self) -> np.ndarray:
        """int32[facts]: the ground truth, the mode of each fact's distribution."""
        return self.objects[self._mode_entry][self.table]

    @property
    def mode_share(self) -> np.ndarray:
        """float64[facts]: probability m of the mode."""
        return self.probability[self._mode_entry][self.table]

    @cached_property
    def cumulative(self) -> np.ndarray:
        """float64[entries]: probability of an entry or one before it in its table; ends in exactly 1."""
        total = np.cumsum(self.probability)
        before = np.concatenate([[0.0], total])[self.offsets[:-1]]
        within = total - np.repeat(before, np.diff(self.offsets))
        within[self.offsets[1:] - 1] = 1.0
        return within


def generative_model(
    graph: KnowledgeGraph, rng: np.random.Generator, distractors: Distractors = "any-relation"
) -> GenerativeModel:
    """The distributions of design.md 3 for every fact of a graph.

    Root facts: the graph's object with probability g/100, g uniform on {60, ..., 100}, and one fixed
    distractor drawn uniformly from the other objects (of the same relation if asked). Downstream
    facts: the empirical distribution of the relation's objects among all subjects with the same
    upstream object, its mode raised to 0.6 where it has less.
    """
    n = len(graph)
    root = graph.upstream_fact < 0
    distractor = np.full(n, -1, np.int32)
    distractor[root] = _other_objects(graph, np.flatnonzero(root), rng, distractors)
    share = rng.integers(MODE_SHARE_PERCENT[0], MODE_SHARE_PERCENT[1] + 1, n) / 100.0

    # Entries of every table as (table, object, count), a root fact's two objects first.
    roots, downs = np.flatnonzero(root), np.flatnonzero(~root)
    up_object = graph.object[graph.upstream_fact[downs]]
    groups, group = np.unique(
        graph.relation[downs].astype(np.int64) * len(graph.entities) + up_object, return_inverse=True
    )
    table = np.empty(n, np.int64)
    table[roots] = np.arange(len(roots))
    table[downs] = len(roots) + group

    width = len(graph.entities)
    cells, count = np.unique(group * width + graph.object[downs], return_counts=True)
    cell_group, cell_object = cells // width, (cells % width).astype(np.int32)
    count = _raise_modes(cell_group, count, len(groups))
    total = np.bincount(cell_group, weights=count, minlength=len(groups))

    entry_table = np.concatenate([table[roots], table[roots], len(roots) + cell_group])
    entry_object = np.concatenate([graph.object[roots], distractor[roots], cell_object])
    entry_share = np.concatenate([share[roots], 1.0 - share[roots], count / total[cell_group]])
    order = np.lexsort((entry_object, entry_table))
    sizes = np.bincount(entry_table, minlength=len(roots) + len(groups))
    return GenerativeModel(
        table=table,
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        objects=entry_object[order].astype(np.int32),
        probability=entry_share[order],
        distractor=distractor,
    )


def other_objects(pool: np.ndarray, avoid: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For each entry of `avoid` (int[n]), an object of the sorted `pool` that is not it, uniformly."""
    at = np.searchsorted(pool, avoid)
    inside = (at < len(pool)) & (pool[np.minimum(at, len(pool) - 1)] == avoid)
    draw = rng.integers(0, len(pool) - inside)
    return pool[draw + (inside & (draw >= at))]


def _other_objects(
    graph: KnowledgeGraph, facts: np.ndarray, rng: np.random.Generator, distractors: Distractors
) -> np.ndarray:
    if distractors == "any-relation":
        return other_objects(graph.objects, graph.object[facts], rng)
    drawn = np.empty(len(facts), np.int32)
    for r in range(len(graph.relations)):
        here = graph.relation[facts] == r
        pool = np.unique(graph.object[graph.relation == r])
        # A relation with a single object has no false one of its own; the pool is then the world's.
        pool = pool if len(pool) > 1 else graph.objects
        drawn[here] = other_objects(pool, graph.object[facts[here]], rng)
    return drawn


def _raise_modes(group: np.ndarray, count: np.ndarray, groups: int) -> np.ndarray:
    """Counts with each group's mode (the first of equals) raised to at least 0.6 of the whole."""
    starts = np.searchsorted(group, np.arange(groups))
    order = np.lexsort((np.arange(len(count)), -count, group))
    mode = order[starts]
    rest = np.bincount(group, weights=count, minlength=groups).astype(np.int64) - count[mode]
    raised = count.copy()
    # ceil(rest * 0.6 / 0.4) in integers; a mode that already has 0.6 is at least as large.
    raised[mode] = np.maximum(count[mode], (3 * rest + 1) // 2)
    return raised
