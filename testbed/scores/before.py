"""Is the unedited model the agent? Its distance and its calibration, by how often a fact was stated.

An edited model may miss a consequence because the edit failed, or because it could not have inferred it
before any edit either. This tells the two apart (design.md 6): each question that the cases ask is asked of
the unedited model, and held against the agent's posterior before any edit.
"""

from typing import NamedTuple

import numpy as np

from testbed.engine.results import Results, cluster_levels
from testbed.protocol import ABSENT
from testbed.run.strata import STRATA, strata_of
from testbed.scores.distances import total_variation
from testbed.scores.metric import Metric, sum_by_case
from testbed.scores.parts import measure_parts
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


def score_before_edit(results: Results) -> dict[str, Stratum]:
    """By stratum of the asked fact, and over ALL: the unedited model beside the agent before any edit.

    Questions to which the agent has no answer are left out. Those whose statements nobody counted, as of
    inverse ones, are of no stratum.
    """
    metrics = measure_parts(results, lambda part: _measure_strata(part.results))
    levels, everyone = cluster_levels(results), np.ones(len(results), bool)
    shown = {
        key: m for key, m in metrics.items() if m.denominator.any() and (key[1] is None or key[2] != EXCESS)
    }
    estimates = estimate_metrics(shown, levels, everyone)

    def estimates_of(stratum: str, at: int | None) -> dict[str, Estimate]:
        return {name: e for (s, b, name), e in estimates.items() if (s, b) == (stratum, at)}

    strata = {}
    for stratum in (ALL, *STRATA):
        if of_stratum := estimates_of(stratum, None):
            questions = int(metrics[stratum, None, DISTANCE].denominator.sum())
            of_bins = {b: of_bin for b in range(BINS) if (of_bin := estimates_of(stratum, b))}
            gaps = sum(abs(metrics[stratum, b, EXCESS].numerator.sum()) for b in of_bins)
            bins = [Bin(of_bin[CONFIDENCE], of_bin[BELIEF]) for of_bin in of_bins.values()]
            strata[stratum] = Stratum(questions, of_stratum, bins, float(gaps) / questions)
    return strata


def _measure_strata(results: Results) -> dict[tuple[str, int | None, str], Metric]:
    """By stratum, bin (None is all of them) and name: what the unedited model says, case by case."""
    c, has_answer = results.choices, ~is_undetermined(results.choices)
    stratum, confidence = np.where(c.stated == ABSENT, "", strata_of(c.stated)), c.lm[:, 0].max(-1)
    at = np.minimum((confidence * BINS).astype(int), BINS - 1)
    values = unedited_values(results)
    metrics = {}
    for name in (ALL, *STRATA):
        here = has_answer & ((name == ALL) | (stratum == name))
        for b in (None, *range(BINS)):
            among = here if b is None else here & (at == b)
            for of in values if b is None else (CONFIDENCE, BELIEF, EXCESS):
                metrics[name, b, of] = sum_by_case(values[of], c.case, len(results), among)
    return metrics
