"""Which relation depends on which, exactly: a posterior over all forests of relations (design.md 5.3).

Every relation depends on at most one other, without cycles, and each such forest is equally likely before
the facts are seen. A dependence is scored by how much more likely its Dirichlet rows make the facts than
one table does, over the same subjects. Where the masses of rows and table are not known, each is averaged
over `MASSES`: at fixed ones, rows of relations with many objects would win though nothing depends on them.

A dependence is looked for among the facts of one subject. Those that go through links are not found here:
they are given (`corpus.graph`). Which dependences of a table are believed, `corpus.worlds.evidence` says.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.special import gammaln, logsumexp

from corpus.forests import ForestPosterior, forest_posterior
from corpus.graph import KnowledgeGraph

MASSES = tuple(np.geomspace(0.1, 1e6, 15).tolist())


def structure_posterior(
    graph: KnowledgeGraph, root_masses: Sequence[float] = MASSES, row_masses: Sequence[float] = MASSES
) -> ForestPosterior:
    """The posterior given the graph's objects as facts.

    Args:
        root_masses, row_masses: as in `log_gain`.
    """
    gain = partial(log_gain, root_masses=root_masses, row_masses=row_masses)
    return forest_posterior(log_scores(graph, gain))


def log_scores(
    graph: KnowledgeGraph, gain: Callable[[np.ndarray, np.ndarray, int], float] | None = None
) -> np.ndarray:
    """float64[parent, child]: log of how much likelier rows by the parent make the child's facts.

    Both are about the subjects who have both facts; 0 where there are none. The diagonal is minus infinity.

    Args:
        gain: of rows, objects, size; by default `log_gain`.
    """
    gain = gain or log_gain
    relations = len(graph.relations)
    scores = np.zeros((relations, relations))
    np.fill_diagonal(scores, -np.inf)
    for child in range(relations):
        mine = np.flatnonzero(graph.relation == child)
        size = len(graph.candidates_of(child))
        for parent in range(relations):
            above = graph.find(graph.subject[mine], np.full(len(mine), parent))
            both = above >= 0
            if parent != child and both.any():
                rows, objects = graph.object[above[both]], graph.object[mine[both]]
                scores[parent, child] = gain(rows, objects, size)
    return scores


def log_gain(
    rows: np.ndarray,
    objects: np.ndarray,
    size: int,
    root_masses: Sequence[float] = MASSES,
    row_masses: Sequence[float] = MASSES,
) -> float:
    """Log of how much likelier rows of their own make draws than one table for all does.

    Args:
        rows, objects, size: as in `log_dirichlet_multinomial`.
        root_masses, row_masses: total masses that the Dirichlet priors of the table, and of each row, may
            have, each equally likely.
    """
    alone = _log_probabilities(np.zeros_like(rows), objects, root_masses, size)
    apart = _log_probabilities(rows, objects, row_masses, size)
    return float(logsumexp(apart) - np.log(len(apart)) - logsumexp(alone) + np.log(len(alone)))


def log_dirichlet_multinomial(rows: np.ndarray, objects: np.ndarray, mass: float, size: int) -> float:
    """Log-probability of draws from Dirichlet-categorical rows, in their order.

    Args:
        rows: the row of each draw.
        objects: what was drawn.
        mass, size: every row's Dirichlet is uniform over `size` objects, of this total mass.
    """
    return float(_log_probabilities(rows, objects, [mass], size)[0])


def _log_probabilities(
    rows: np.ndarray, objects: np.ndarray, masses: Sequence[float], size: int
) -> np.ndarray:
    """float64[masses]: `log_dirichlet_multinomial` of each."""
    cells = np.unique(np.column_stack([rows, objects]), axis=0, return_counts=True)[1]
    totals = np.unique(rows, return_counts=True)[1]
    mass = np.array(masses)[:, None]
    alpha = mass / size
    inside = (gammaln(alpha + cells) - gammaln(alpha)).sum(axis=1)
    return inside + (gammaln(mass) - gammaln(mass + totals)).sum(axis=1)
