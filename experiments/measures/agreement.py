"""How well rankings agree, of editors between models or of cells, with intervals from resampled cases."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from corpus.seeds import generator
from testbed.engine.results import cluster_levels
from testbed.scores.metric import Metric
from testbed.scores.statistics import Estimate, draw_case_weights, kendall_tau, rank_values
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import better_of

CASES = "cases"
"""One half of a model's cases against the other: how well so few can agree."""
RESAMPLES = 2000


def rank_agreement(
    editors_by_model: Mapping[str, Sequence[ScoredEditor]],
    metric: str,
    pairs: Mapping[str, list[tuple[int, int]]],
) -> dict[str, Estimate]:
    """How far models agree about the order of editors by a metric.

    Args:
        editors_by_model: the same editors in the same order on each model, by the model's name.
        pairs: by factor, the models that are compared, by their places.
    """
    goodness_of_all, halves = [], []
    for name, editors in editors_by_model.items():
        rng = generator(0, f"stability {name}")
        weights = draw_case_weights(cluster_levels(editors[0].edits.results), RESAMPLES, rng)
        side = rng.permutation(weights.shape[1]) % 2 == 0
        better = better_of(editors[0].evaluation.metrics)[metric]
        pair = [e.values[e.name][metric] for e in editors]
        parts = [rank_values(weighted_ratios(pair, weights * part), better) for part in (1, side, ~side)]
        goodness_of_all.append(parts[0])
        halves.append(np.stack(parts[1:], axis=1))
    least = min(len(editors[0].edits.results) for editors in editors_by_model.values())
    return agreement_by_factor(np.stack(goodness_of_all, 1), np.stack(halves, 1), pairs, least)


def agreement_by_factor(
    goodness: np.ndarray, halves: np.ndarray, which: Mapping[str, list[tuple[int, int]]], cases: int
) -> dict[str, Estimate]:
    """How far models agree about editors.

    Args:
        goodness: float64[1 + B, models, editors], goodness on all cases, then on those of B resamples.
        halves: float64[1 + B, models, 2, editors], likewise on either half of the cases.
        which: by factor, the pairs of models that are compared.
        cases: of each model.
    """
    by_factor = {}
    for factor, both in which.items():
        taus = np.stack([kendall_tau(goodness[:, i], goodness[:, j]) for i, j in both], axis=1)
        by_factor[factor] = _mean_of_taus(taus, cases)
    by_factor[CASES] = _mean_of_taus(kendall_tau(halves[:, :, 0], halves[:, :, 1]), cases // 2)
    return by_factor


def _mean_of_taus(taus: np.ndarray, cases: int) -> Estimate:
    """Of tau of all cases and of resamples, float64[1 + B, pairs]; pairs without a ranking do not count."""
    is_defined = ~np.isnan(taus[0])
    if not is_defined.any():
        return Estimate(np.nan, np.nan, np.nan, 0)
    resampled = taus[1:, is_defined]
    resampled = resampled[~np.isnan(resampled).any(axis=1)].mean(axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975]) if len(resampled) else (np.nan, np.nan)
    return Estimate(float(taus[0, is_defined].mean()), float(low), float(high), cases)


def weighted_ratios(metrics: Sequence[Metric], weights: np.ndarray) -> np.ndarray:
    """float64[draws, metrics]: the value of each metric of cases that weigh so much."""
    above, below = (np.stack([getattr(m, part) for m in metrics], 1) for part in ("numerator", "denominator"))
    with np.errstate(invalid="ignore", divide="ignore"):
        return (weights @ above) / (weights @ below)


def decision_accuracy(
    small: Mapping[str, Estimate], large: Mapping[str, Estimate]
) -> tuple[float | None, int]:
    """The share of pairs of editors that surely differ on one model and are ordered alike on another.

    They surely differ where their intervals are apart. A rank correlation counts the others, too: among
    values that are all near 0 it says nothing of an order.

    Args:
        small, large: by editor; those that both have are compared.

    Returns:
        The share, None of no pair, and how many pairs surely differ on the large model.
    """
    alike: list[bool] = []
    for first, second in combinations([name for name in large if name in small], 2):
        a, b = large[first], large[second]
        if a.low > b.high or b.low > a.high:
            alike.append((small[first].value - small[second].value) * (a.value - b.value) > 0)
    return (sum(alike) / len(alike) if alike else None), len(alike)
