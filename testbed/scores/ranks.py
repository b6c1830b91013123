"""Do two rankings agree? Kendall's tau-b (1945), for any number of rankings at once."""

import numpy as np

from testbed.scores.metric import Better


def kendall_tau(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """float64[...]: tau-b of pairs of rankings, float[..., n] each, of the same n things.

    Pairs of things in the same order minus those in the opposite order, over the geometric mean of the pairs
    that each ranking does not tie: 1 for the same order, -1 for the opposite one, 0 on average for orders
    that have nothing to do with each other; nan where a ranking ties all, or a value is nan.
    """
    a, b = (np.sign(x[..., :, None] - x[..., None, :]) for x in (first, second))
    same, untied = (a * b).sum((-2, -1)), (a * a).sum((-2, -1)) * (b * b).sum((-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return same / np.sqrt(untied)


def rank_values(values: np.ndarray, better: Better) -> np.ndarray:
    """Values as they are ranked: higher is better; of a metric whose best is 1, nearer is higher."""
    return {"high": values, "low": -values, "one": -np.abs(values - 1)}[better]
