"""Beliefs about all facts of a case together: along trees of facts, each given the one that it depends on.

A draw of all of them is what the Bayesian writer writes about.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from corpus.text.consistency import Fact
from testbed.evaluations.leme.standard import Belief, Standard
from testbed.evaluations.leme.statements import Statement

LEAST = 1e-6
"""What is counted for a statement that is impossible, or as good as that."""
SURE = 1 - 1e-9


def draw_objects(standard: Standard, rng: np.random.Generator) -> dict[Fact, int]:
    """One object for every fact, drawn together from what is believed after the request."""
    objects: dict[Fact, int] = {}
    for fact in _parents_first(standard.beliefs):
        belief = standard.beliefs[fact]
        p = belief.after
        if belief.above is not None and belief.given is not None:
            above = standard.beliefs[belief.above]
            p = belief.given[above.place_of(objects[belief.above])]
        objects[fact] = int(belief.options[_draw_index(p, rng)])
    return objects


def mean_log_probability(statements: Sequence[Statement], standard: Standard) -> float:
    """Log-probability a statement of all that is said together, after the request.

    Statements are taken the most probable first, each given those before it; what they make impossible counts
    as LEAST. NaN where nothing is said of the facts that were asked about.
    """
    mine = [one for one in statements if one.fact in standard.beliefs]
    if not mine:
        return math.nan
    kept = {fact: np.ones(len(belief.options), bool) for fact, belief in standard.beliefs.items()}
    ordered = sorted(mine, key=lambda one: (-_marginal_probability(one, standard), one[:3]))
    upwards = _parents_first(standard.beliefs)[::-1]
    log_z, total = 0.0, 0.0
    for one in ordered:
        belief, before = standard.beliefs[one.fact], kept[one.fact]
        named = belief.options == one.object
        left = before & (named if one.holds else ~named)
        if (left == before).all():
            continue
        if belief.largest_probability > SURE:
            # What is sure depends on nothing, and nothing on it that is not sure of it already.
            p = float(belief.after[left].sum() / max(belief.after[before].sum(), LEAST))
        else:
            log_then = _log_mass(standard.beliefs, upwards, kept | {one.fact: left})
            p = math.exp(min(log_then - log_z, 0.0))
            log_z = log_then if p > LEAST else log_z
        total += math.log(max(p, LEAST))
        if p > LEAST:
            kept[one.fact] = left
    return total / len(mine)


def _marginal_probability(one: Statement, standard: Standard) -> float:
    p = standard.beliefs[one.fact].probability(one.object)
    return p if one.holds else 1 - p


def _log_mass(
    beliefs: Mapping[Fact, Belief], upwards: Sequence[Fact], kept: Mapping[Fact, np.ndarray]
) -> float:
    """Log-probability that every fact that is not sure has one of the objects kept.

    Args:
        upwards: all facts, each before the one that it depends on.
    """
    inside = {fact: kept[fact].astype(float) for fact in beliefs}
    log_p = 0.0
    for fact in upwards:
        belief = beliefs[fact]
        if belief.largest_probability > SURE:
            continue
        above = belief.above
        if above is None or belief.given is None or beliefs[above].largest_probability > SURE:
            p = float(belief.after @ inside[fact]) / float(belief.after.sum())
            log_p += math.log(max(p, LEAST**2))
        else:
            inside[above] = inside[above] * (belief.given @ inside[fact])
    return log_p


def _parents_first(beliefs: Mapping[Fact, Belief]) -> list[Fact]:
    """Facts, each after the one that it depends on."""

    def depth(fact: Fact) -> int:
        steps, above = 0, beliefs[fact].above
        while above is not None:
            steps, above = steps + 1, beliefs[above].above
        return steps

    return sorted(beliefs, key=depth)


def _draw_index(p: np.ndarray, rng: np.random.Generator) -> int:
    total = np.cumsum(p)
    return min(int(np.searchsorted(total, rng.random() * total[-1], side="right")), len(p) - 1)
