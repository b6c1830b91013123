"""Which relation depends on which, exactly: a posterior over all forests of relations (DESIGN 5.3).

Every relation depends on at most one other, without cycles, and each such forest is equally likely before
the facts are seen. A dependence is scored by how much more likely its Dirichlet rows make the facts than
one table does, over the same subjects. The number of forests grows faster than exponentially, but their
weights sum by the directed matrix-tree theorem. Its determinant is taken by eliminating one relation after
another (Grassmann, Taksar and Heyman), which adds and multiplies only, so that it works on logarithms of
any size.

A dependence is looked for among the facts of one subject. Those that go through links are not found here:
they are given (`corpus.links`).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from corpus.graph import KnowledgeGraph


class StructurePosterior(NamedTuple):
    """p(structure | facts).

    Attributes:
        depends: float64[relations, relations], p(column depends on row | facts).
        alone: float64[relations], p(a relation depends on none | facts).
    """

    depends: np.ndarray
    alone: np.ndarray


def structure_posterior(graph: KnowledgeGraph, root_mass: float, row_mass: float) -> StructurePosterior:
    """The posterior given the graph's objects as facts.

    Args:
        root_mass, row_mass: total masses of the Dirichlet priors of a table, and of each row.
    """
    return forest_posterior(log_scores(graph, root_mass, row_mass))


def log_scores(graph: KnowledgeGraph, root_mass: float, row_mass: float) -> np.ndarray:
    """float64[parent, child]: log of how much likelier rows by the parent make the child's facts.

    Both are about the subjects who have both facts; 0 where there are none. The diagonal is minus infinity.
    """
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
                objects, rows = graph.object[mine[both]], graph.object[above[both]]
                alone = np.zeros(both.sum(), int)
                scores[parent, child] = log_dirichlet_multinomial(
                    rows, objects, row_mass, size
                ) - log_dirichlet_multinomial(alone, objects, root_mass, size)
    return scores


def log_dirichlet_multinomial(rows: np.ndarray, objects: np.ndarray, mass: float, size: int) -> float:
    """Log-probability of draws from Dirichlet-categorical rows, in their order.

    Args:
        rows: the row of each draw.
        objects: what was drawn.
        mass, size: every row's Dirichlet is uniform over `size` objects, of this total mass.
    """
    cells = np.unique(np.column_stack([rows, objects]), axis=0, return_counts=True)[1]
    totals = np.unique(rows, return_counts=True)[1]
    alpha = mass / size
    inside = (gammaln(alpha + cells) - gammaln(alpha)).sum()
    return float(inside + (gammaln(mass) - gammaln(mass + totals)).sum())


def forest_posterior(scores: np.ndarray) -> StructurePosterior:
    """Marginals of each dependence over all forests.

    Args:
        scores: float64[parent, child] log-weights of dependences; a relation that depends on none
            weighs 0.
    """
    n = len(scores)
    # One more parent, on which depends whatever depends on no relation.
    weights = np.full((n + 1, n), -np.inf)
    weights[:n] = scores
    weights[n] = 0.0
    weights[np.arange(n), np.arange(n)] = -np.inf
    total = _log_sum_of_trees(weights)
    chance = np.zeros((n + 1, n))
    for child in range(n):
        for parent in range(n + 1):
            if weights[parent, child] > -np.inf:
                only = weights.copy()
                only[:, child] = -np.inf
                only[parent, child] = weights[parent, child]
                chance[parent, child] = np.exp(_log_sum_of_trees(only) - total)
    return StructurePosterior(chance[:n], chance[n])


def _log_sum_of_trees(weights: np.ndarray) -> float:
    """Log of the summed weights of all trees that hang on the last row, by elimination."""
    left = weights.copy()
    n, total = left.shape[1], 0.0
    for gone in range(n):
        above = np.append(np.arange(gone + 1, n), n)
        reached = logsumexp(left[above, gone])
        if reached == -np.inf:
            return -np.inf
        total += reached
        for child in range(gone + 1, n):
            # What hung on the one that is gone hangs on what that one hung on.
            through = left[above, gone] + left[gone, child] - reached
            left[above, child] = np.logaddexp(left[above, child], through)
    return float(total)
