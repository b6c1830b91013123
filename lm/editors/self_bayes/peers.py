"""What peers say who are like the subject: all of its other facts weigh, not the request alone.

An object of relation r is as probable as those peers make it who have one: each weighs
exp(sum_f relevance[r, f] agrees_f), over the facts f that are known of both, beside a prior of PRIOR peers.
So two causes count together, and facts that tell the same are not counted twice: relevances are those with
which the others best predict each subject (a kernel regression, leaving one out; Nadaraya 1964), and a
relation that adds nothing to another has none.
"""

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from lm.editors.self_bayes.beliefs import Beliefs
from lm.editors.self_bayes.dependence import FEWEST, reading_probability, seldom_share
from lm.progress import tell_progress

PRIOR = 1.0
"""Peers that the prior over a relation's objects weighs as much as."""
PENALTY = 0.01
"""Nats a subject that a relevance costs, for each unit."""
MOST = 8.0
"""Greatest relevance."""
ENOUGH = 512
"""Subjects that relevances are found among; of more, those at equal distances."""
BEARS = 0.1
"""Relevance from which on two relations hang together."""


def find_relevance(beliefs: Beliefs, seldom: float) -> np.ndarray:
    """float32[R, R]: how much agreement in the second relation makes subjects alike for the first."""
    seldom = seldom_share(beliefs, seldom)
    which = np.unique(np.linspace(0, beliefs.p.shape[1] - 1, ENOUGH).astype(int))
    known = np.asarray(reading_probability(beliefs.mention_probability, seldom)[1] > 0.5)[:, which]
    modes = beliefs.top[:, which, 0]
    agreement = np.stack([_find_agreement(*one) for one in zip(modes, known, strict=True)])
    relevance = np.zeros((len(modes), len(modes)), np.float32)
    for r in tell_progress("relevances of relations", range(len(modes))):
        if known[r].sum() >= FEWEST:
            others, own = np.arange(len(modes)) != r, np.ix_(known[r], known[r])
            relevance[r, others] = fit_relevance(
                np.stack([one[own] for one in agreement[others]]), modes[r, known[r]]
            )
    return relevance


def _find_agreement(modes: np.ndarray, known: np.ndarray) -> np.ndarray:
    """float64[n, n]: whether two have the same object; the share of such pairs where nobody knows."""
    both = known[:, None] & known & ~np.eye(len(known), dtype=bool)
    agrees = (modes[:, None] == modes).astype(float)
    return np.where(both, agrees, agrees[both].mean() if both.any() else 0.0)


def fit_relevance(agreement: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """float64[F]: the relevances with which peers predict each other's objects best.

    Args:
        agreement: float64[F, n, n], of each other relation, for every two subjects.
        objects: int[n], what each of them has.
    """
    size, others = len(np.unique(objects)), 1 - np.eye(len(objects))
    same = (objects[:, None] == objects).astype(float)

    def loss_of(relevance: np.ndarray) -> tuple[float, np.ndarray]:
        weight = np.exp(np.tensordot(relevance, agreement, 1)) * others
        right, all_ = (weight * same).sum(axis=1) + PRIOR / size, weight.sum(axis=1) + PRIOR
        slope = (1 / all_[:, None] - same / right[:, None]) * weight
        gradient = (agreement * slope).sum(axis=(1, 2)) + PENALTY * len(objects)
        return float(np.log(all_ / right).sum() + PENALTY * len(objects) * relevance.sum()), gradient

    start = np.full(len(agreement), 0.5)
    return scipy.optimize.minimize(
        loss_of, start, jac=True, method="L-BFGS-B", bounds=[(0, MOST)] * len(start)
    ).x


def hangs_together(relevance: np.ndarray) -> np.ndarray:
    """bool[R, R]: whether relations bear on each other, also by way of others."""
    near = (relevance > BEARS) | (relevance > BEARS).T | np.eye(len(relevance), dtype=bool)
    for _ in range(len(near)):
        near = near @ near
    return near


def weigh_peers(
    relevance: jax.Array, answers: jax.Array, is_told: jax.Array, peers: jax.Array, is_known: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """How much each peer and the prior weigh for every relation of a subject, which has these facts.

    Args:
        answers: int32[R], its objects.
        is_told: bool[R], whether they are known.
        peers: int32[R, S], everybody's objects.
        is_known: bool[R, S], whether these are known, of peers alone.

    Returns:
        float32[R, S] and float32[R]; the largest weight of a relation is 1.
    """
    agrees = (peers == answers[:, None]) & is_known
    share = agrees.sum(axis=1) / jnp.maximum(is_known.sum(axis=1), 1)
    likeness = relevance @ jnp.where(is_told[:, None], jnp.where(is_known, agrees, share[:, None]), 0.0)
    most = likeness.max(axis=1)
    return jnp.exp(likeness - most[:, None]), PRIOR * jnp.exp(-most)
