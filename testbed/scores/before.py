"""Is the unedited model the agent? Its distance and its calibration, by how often a fact was stated.

An edited model may miss a consequence because the edit failed, or because it could not have inferred it
before any edit either. This tells the two apart (design.md 6): each question that the cases ask is asked of
the unedited model, and held against the agent's posterior before any edit.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from testbed.engine.results import Results, cluster_levels
from testbed.protocol import ABSENT
from testbed.run.strata import STRATA, strata_of
from testbed.scores.distances import total_variation
from testbed.scores.metric import Metric, sum_by_case
from testbed.scores.readers import is_as_good, is_undetermined
from testbed.scores.statistics import Estimate, estimate_metrics

BINS = 10
"""Of equal width, over the probability of the model's likeliest option."""
ALL = "all"
DISTANCE, RIGHT, CONFIDENCE, BELIEF, EXCESS = (
    "total variation", "answers right", "model's probability", "agent's belief", "overconfidence",
)  # fmt: skip


class Bin(NamedTuple):
    """Questions to which the model's likeliest option has about one probability.

    Attributes:
        confidence: the model's mean probability of its likeliest option.
        belief: the agent's mean belief in the same objects.
    """

    confidence: Estimate
    belief: Estimate


class Stratum(NamedTuple):
    """Questions about facts that the corpus states so often.

    Attributes:
        questions: how many.
        estimates: each metric of `unedited_values`.
        bins: those that have questions, by rising probability.
        calibration: expected calibration error, sum over bins of |confidence - belief| by their share of the
            questions. As the sum of absolute values of means it has no interval, and is never quite 0.
    """

    questions: int
    estimates: dict[str, Estimate]
    bins: list[Bin]
    calibration: float


def unedited_values(results: Results) -> dict[str, np.ndarray]:
    """What the unedited model says, by metric: a value for each of N choices.

    total variation, between it and the agent. answers right: the share that is one of the agent's best.
    model's probability, of its likeliest option; agent's belief, in that option; overconfidence, the first
    minus the second.
    """
    c = results.choices
    lm, agent = c.lm[:, 0], c.agent[:, 0]
    likeliest = lm.argmax(-1)[:, None]
    confidence, belief = (np.take_along_axis(p, likeliest, -1)[:, 0] for p in (lm, agent))
    return {
        DISTANCE: total_variation(lm, agent),
        RIGHT: is_as_good(c, c.lm_answer[:, 0], 0),
        CONFIDENCE: confidence,
        BELIEF: belief,
        EXCESS: confidence - belief,
    }


def metrics_over(values: Mapping[str, np.ndarray], results: Results, among: np.ndarray) -> dict[str, Metric]:
    """Values of choices by case, over some choices, bool[N]."""
    return {name: sum_by_case(of, results.choices.case, len(results), among) for name, of in values.items()}


def score_before_edit(results: Results) -> dict[str, Stratum]:
    """By stratum of the asked fact, and over ALL: the unedited model beside the agent before any edit.

    Questions to which the agent has no answer are left out. Those whose statements nobody counted, as of
    inverse ones, are of no stratum.
    """
    c, has_answer = results.choices, ~is_undetermined(results.choices)
    stratum, confidence = np.where(c.stated == ABSENT, "", strata_of(c.stated)), c.lm[:, 0].max(-1)
    at = np.minimum((confidence * BINS).astype(int), BINS - 1)
    parts = {ALL: has_answer} | {name: has_answer & (stratum == name) for name in STRATA}
    values = unedited_values(results)
    return {name: _score_stratum(values, results, among, at) for name, among in parts.items() if among.any()}


def _score_stratum(
    values: Mapping[str, np.ndarray], results: Results, among: np.ndarray, at: np.ndarray
) -> Stratum:
    """Some choices, bool[N], whose bins are int[N]."""
    levels, everyone = cluster_levels(results), np.ones(len(results), bool)
    bins, gaps = [], 0.0
    for b in np.unique(at[among]):
        bin_metrics = metrics_over(values, results, among & (at == b))
        means = estimate_metrics({name: bin_metrics[name] for name in (CONFIDENCE, BELIEF)}, levels, everyone)
        bins.append(Bin(means[CONFIDENCE], means[BELIEF]))
        gaps += abs(bin_metrics[EXCESS].numerator.sum())
    total = int(among.sum())
    return Stratum(
        total, estimate_metrics(metrics_over(values, results, among), levels, everyone), bins, gaps / total
    )
