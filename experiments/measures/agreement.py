"""How well rankings agree, of editors between models or of cells, with intervals from resampled cases."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from corpus.seeds import generator
from experiments.study import Findings
from testbed.engine.results import cluster_levels
from testbed.evaluations.hase.metrics import METRICS
from testbed.scores.metric import Metric, metrics_shown_in
from testbed.scores.statistics import (
    Estimate,
    draw_case_weights,
    kendall_tau,
    rank_values,
)
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Table, better_of

CASES = "cases"
"""One half of a model's cases against the other: how well so few can agree."""
RESAMPLES = 2000


class Agreement(NamedTuple):
    """How well rankings agree.

    Attributes:
        tau: the mean over pairs of models, with its interval.
        pairs: tau of each of them.
    """

    tau: Estimate
    pairs: list[float]

    @property
    def spread(self) -> str:
        """The least and the most of all pairs."""
        defined_taus = [t for t in self.pairs if t == t]
        return (
            f"{min(defined_taus):.2f} to {max(defined_taus):.2f} ({len(defined_taus)})"
            if defined_taus
            else "-"
        )


def rank_agreement(
    editors_by_model: Mapping[str, Sequence[ScoredEditor]],
    metric: str,
    pairs: Mapping[str, list[tuple[int, int]]],
) -> dict[str, Agreement]:
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


def values_by_editor(editors: Sequence[ScoredEditor], names: Sequence[str]) -> dict[str, dict[str, Estimate]]:
    """By editor, some metrics over all cases."""
    return {e.edits.editor: {name: e.frame.cell(name, e.name) for name in names} for e in editors}


def agreement_by_factor(
    goodness: np.ndarray, halves: np.ndarray, which: Mapping[str, list[tuple[int, int]]], cases: int
) -> dict[str, Agreement]:
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
        by_factor[factor] = _agreement_from_taus(taus, cases)
    by_factor[CASES] = _agreement_from_taus(kendall_tau(halves[:, :, 0], halves[:, :, 1]), cases // 2)
    return by_factor


def _agreement_from_taus(taus: np.ndarray, cases: int) -> Agreement:
    """From tau of all cases and of resamples, float64[1 + B, pairs]; pairs without a ranking do not count."""
    is_defined = ~np.isnan(taus[0])
    if not is_defined.any():
        return Agreement(Estimate(np.nan, np.nan, np.nan, 0), taus[0].tolist())
    resampled = taus[1:, is_defined]
    resampled = resampled[~np.isnan(resampled).any(axis=1)].mean(axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975]) if len(resampled) else (np.nan, np.nan)
    return Agreement(
        Estimate(float(taus[0, is_defined].mean()), float(low), float(high), cases), taus[0].tolist()
    )


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


def lead_of(editors: Sequence[ScoredEditor], better: str, worse: str, metric: str) -> float | None:
    """By how much one editor is better than another by a metric; None where one of them is not there."""
    values = values_by_editor(editors, [metric])
    if not {better, worse} <= set(values):
        return None
    pair = np.array([values[name][metric].value for name in (better, worse)])
    first, second = rank_values(pair, better_of(editors[0].evaluation.metrics)[metric]).tolist()
    return first - second


def stability_table(findings: Findings, pairs: Mapping[str, list[tuple[int, int]]]) -> Table:
    """How far rankings agree, by what differs between models."""
    options, names = findings.options, metrics_shown_in(METRICS, "compared")
    by_model = {findings.run_of(cell).name: findings.editors(**cell) for cell in options.cells}
    taus = {name: rank_agreement(by_model, name, pairs) for name in names}
    rows = [[name, *(c for one in of.values() for c in (one.tau, one.spread))] for name, of in taus.items()]
    header = ["metric", *(cell for factor in taus[names[0]] for cell in (factor, f"{factor}, least to most"))]
    stop = "as they are" if options.strength is None else f"at a strength of {options.strength:g}"
    note = (
        f"Editors {stop}, {options.edits} edits of each model. ± is half of a 95% interval over cases; in "
        f"brackets the number of pairs of models. `{CASES}`: halves of one model's cases against each other."
    )
    return Table("stability", f"Kendall's tau-b of {len(options.editors)} editors", header, rows, note)
