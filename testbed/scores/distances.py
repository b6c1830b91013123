"""Distances between beliefs; what is not named counts as one further outcome."""

import numpy as np

MOVED = 0.02
"""A distribution moved where its probabilities changed by more, in sum: the L1 norm of the change."""
_SMALLEST = 1e-12


def sum_last_axis(x: np.ndarray) -> np.ndarray:
    """Sum over the last axis, as a matrix product: much faster than `x.sum(-1)` where it is short."""
    return x @ np.ones(x.shape[-1])


def total_variation(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Total variation over the last axis: half the sum of absolute differences.

    What is missing to 1 is one further outcome:

    >>> float(total_variation(np.array([0.75, 0.25]), np.array([0.25, 0.25])))
    0.5
    """
    return 0.5 * (sum_last_axis(np.abs(p - q)) + np.abs(_remainder(p) - _remainder(q))[..., 0])


def has_moved(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """bool[...]: whether ||after - before||_1 > MOVED over the last axis, the remainder counted in.

    >>> bool(has_moved(np.array([0.5, 0.5]), np.array([0.52, 0.48])))
    True
    """
    return 2 * total_variation(before, after) > MOVED


def divergences(p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The Jensen-Shannon divergence of p and q, and KL(q || p), in nats over the last axis.

    No probability is taken below 1e-12 in a logarithm.
    """
    p, q = with_remainder(p), with_remainder(q)
    log_p, log_q, log_mean = (np.log(np.maximum(x, _SMALLEST)) for x in (p, q, (p + q) / 2))
    to_mean = sum_last_axis(p * (log_p - log_mean) + q * (log_q - log_mean))
    return to_mean / 2, sum_last_axis(q * (log_q - log_p))


def with_remainder(p: np.ndarray) -> np.ndarray:
    """`p` with one further entry on the last axis: the mass that its entries leave."""
    return np.concatenate([p, _remainder(p)], axis=-1)


def _remainder(p: np.ndarray) -> np.ndarray:
    return np.clip(1 - sum_last_axis(p), 0, 1)[..., None]
