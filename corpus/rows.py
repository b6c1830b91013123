"""Rows: the distributions that facts are drawn from, one for each object on which they may depend.

A world that was drawn from known rows keeps them (`KnowledgeGraph.rows`), all in one array: of each relation
in turn its shares, then row by row its table, if it depends on another.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.graph import NO_UPSTREAM, KnowledgeGraph


class Rows(NamedTuple):
    """What facts of one relation are drawn from.

    Attributes:
        shares: float64[K], of facts that depend on none; sums to 1.
        table: float64[K_up, K], of those that depend on another, by its object; None where none do.
    """

    shares: np.ndarray
    table: np.ndarray | None


def pack_rows(rows: Sequence[Rows]) -> np.ndarray:
    """The rows of all relations as one array."""
    return np.concatenate([part.ravel() for one in rows for part in one if part is not None])


def rows_of(graph: KnowledgeGraph, config: ExactConfig) -> list[Rows]:
    """The rows of every relation: those the world was drawn from, else what all its facts tell of them.

    Where nobody knows what a world was drawn from, such as one of real facts, a row is the mean of its
    posterior given every fact of the graph: silent ones too, unless they are what a category lacks.

    Raises:
        InputError: the graph's rows are not those of its relations, or no distributions.
    """
    if not len(graph.rows):
        return [_posterior_mean(graph, config, r) for r in range(len(graph.relations))]
    shapes: list[tuple[int, ...]] = []
    for r, up in enumerate(graph.upstream.tolist()):
        size = len(graph.candidates_of(r))
        shapes.append((size,))
        if up != NO_UPSTREAM:
            shapes.append((len(graph.candidates_of(up)), size))
    ends = np.cumsum([np.prod(shape) for shape in shapes])
    if ends[-1] != len(graph.rows):
        raise InputError(
            f"the world keeps {len(graph.rows):,} entries of rows, not {ends[-1]:,}; build it again"
        )
    parts = [part.reshape(shape) for part, shape in zip(np.split(graph.rows, ends[:-1]), shapes, strict=True)]
    sums = np.concatenate([part.sum(axis=-1).ravel() for part in parts])
    if not ((graph.rows > 0).all() and np.allclose(sums, 1.0)):
        raise InputError(
            "a row of the world is not a distribution over the objects of its relation; build it again"
        )
    remaining = iter(parts)
    return [
        Rows(next(remaining), None if up == NO_UPSTREAM else next(remaining))
        for up in graph.upstream.tolist()
    ]


def _posterior_mean(graph: KnowledgeGraph, config: ExactConfig, relation: int) -> Rows:
    # What a category of a taxonomy lacks is no draw.
    drawn = ~graph.silent if graph.properties else np.ones(len(graph), bool)
    mine = np.flatnonzero((graph.relation == relation) & drawn)
    above, size = graph.upstream_fact[mine], len(graph.candidates_of(relation))
    place = np.searchsorted(graph.candidates_of(relation), graph.object[mine])
    alone = np.bincount(place[above < 0], minlength=size)
    shares = (config.root_mass / size + alone) / (config.root_mass + alone.sum())
    up = int(graph.upstream[relation])
    if up == NO_UPSTREAM:
        return Rows(shares, None)
    uppers = graph.candidates_of(up)
    row = np.searchsorted(uppers, graph.object[above[above >= 0]])
    count = np.zeros((len(uppers), size))
    np.add.at(count, (row, place[above >= 0]), 1)
    return Rows(
        shares, (config.row_mass / size + count) / (config.row_mass + count.sum(axis=1, keepdims=True))
    )
