"""Forests of relations, where each depends on at most one other: their posterior, and the likeliest of them.

The number of forests grows faster than exponentially, but their weights sum by the directed matrix-tree
theorem. Its determinant is taken by eliminating one relation after another (Grassmann, Taksar and Heyman),
which adds and multiplies only, so that it works on logarithms of any size.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp


class ForestPosterior(NamedTuple):
    """p(forest | weights).

    Attributes:
        depends: float64[relations, relations], p(column depends on row).
        alone: float64[relations], p(a relation depends on none).
        log_total: log of the summed weights of all forests, which tells how well weights explain what they
            were made of.
    """

    depends: np.ndarray
    alone: np.ndarray
    log_total: float


def likeliest_forest(scores: np.ndarray) -> np.ndarray:
    """int64[relations]: what each relation depends on in the forest of the largest sum, -1 for nothing.

    By Edmonds' algorithm.

    Args:
        scores: float64[parent, child]; what is not above 0 is never taken.
    """
    import networkx as nx

    edges = nx.DiGraph()
    ups, downs = np.nonzero(scores > 0)
    edges.add_weighted_edges_from(
        (up, down, scores[up, down]) for up, down in zip(ups.tolist(), downs.tolist(), strict=True)
    )
    parent = np.full(len(scores), -1)
    for up, down in nx.maximum_branching(edges).edges:
        parent[down] = up
    return parent


def forest_posterior(scores: np.ndarray) -> ForestPosterior:
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
    return ForestPosterior(chance[:n], chance[n], total)


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
