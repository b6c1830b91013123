"""How well numbers predict outcomes of edited models: correlations, decisions, and the best two together.

A world has contestants (an editor at a strength) that make the same edits. Every number and outcome is an
array float[contestants, edits], nan where there is none.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata, spearmanr, t

from testbed.scores.metric import Metric
from testbed.scores.statistics import Estimate, estimate_metric

Arrays = Mapping[str, np.ndarray]


class JudgedWorld(NamedTuple):
    """What was found in a world.

    Attributes:
        kind: of the world.
        layers: of its model.
        numbers, outcomes: by name.
        ordered: by outcome, the pairs of contestants of which the first surely has more.
    """

    kind: str
    layers: int
    numbers: Arrays
    outcomes: Arrays
    ordered: Mapping[str, list[tuple[int, int]]]


def estimate_over_worlds(above: Sequence[float], below: Sequence[float], least: float) -> Estimate:
    """The ratio of sums over worlds, with its interval; it lies between `least` and 1."""
    metric = Metric(np.array(above, float), np.array(below, float), limits=(least, 1.0))
    return estimate_metric(metric, {"world": np.arange(len(above))}, np.ones(len(above), bool))


def correlate(worlds: Sequence[JudgedWorld], number: str, outcome: str) -> Estimate:
    """Spearman's correlation over the edited models of a world, mean over worlds that have one."""
    found = [correlate_ranks(one.numbers[number], one.outcomes[outcome]) for one in worlds]
    return estimate_over_worlds(np.nan_to_num(found).tolist(), np.isfinite(found).tolist(), -1.0)


def correlate_ranks(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's correlation of what both have; nan where one of them is constant."""
    both = np.isfinite(first) & np.isfinite(second)
    a, b = first[both], second[both]
    return float(spearmanr(a, b).statistic) if len(a) > 1 and np.ptp(a) and np.ptp(b) else float("nan")


def list_sure_pairs(outcome: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of contestants of which the first surely has more: 95% of a paired t-test over edits."""
    pairs = []
    for i, j in combinations(range(len(outcome)), 2):
        gap = outcome[i] - outcome[j]
        gap = gap[np.isfinite(gap)]
        if len(gap) > 1 and abs(gap.mean()) > t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(
            len(gap)
        ):
            pairs.append((i, j) if gap.mean() > 0 else (j, i))
    return pairs


def count_agreement(number: np.ndarray, pairs: Sequence[tuple[int, int]]) -> float:
    """Pairs that the mean of a number orders alike, less those it orders otherwise; ties are neither."""
    has = np.isfinite(number)
    means = np.where(has, number, 0).sum(1) / np.maximum(has.sum(1), 1)
    return float(sum(np.sign(means[i] - means[j]) for i, j in pairs))


def decide(
    worlds: Sequence[JudgedWorld], teachers: Sequence[JudgedWorld], number: str, outcome: str
) -> Estimate:
    """Share of surely ordered pairs that a number orders alike; a tie counts half.

    Args:
        teachers: of these, worlds of other kinds than the judged one say whether more of it means more.
    """
    alike, pairs = [], []
    for one in worlds:
        others = [other for other in teachers if other.kind != one.kind]
        learned = sum(count_agreement(w.numbers[number], w.ordered[outcome]) for w in others)
        net = count_agreement(one.numbers[number], one.ordered[outcome])
        pairs.append(len(one.ordered[outcome]))
        alike.append((pairs[-1] + (1 if learned >= 0 else -1) * net) / 2)
    return estimate_over_worlds(alike, pairs, 0.0)


def rank_in_world(values: np.ndarray) -> np.ndarray:
    """Ranks of what there is, from -1/2 to 1/2; 0 where there is nothing."""
    has, ranks = np.isfinite(values), np.zeros(values.shape)
    if has.sum() > 1:
        ranks[has] = (rankdata(values[has]) - 1) / (has.sum() - 1) - 0.5
    return ranks


def predict_kinds(
    worlds: Sequence[JudgedWorld], outcome: str, choices: Sequence[tuple[str, ...]]
) -> tuple[list[np.ndarray], list[tuple[str, ...]], float]:
    """Predict an outcome's ranks in worlds of each kind from the numbers that fit it best in all others.

    By least squares of ranks within worlds; knowing nothing is 0 everywhere.

    Args:
        choices: the numbers that may be taken together.

    Returns:
        float[contestants, edits] of each world; what was taken for each kind; and R2 over all worlds.
    """
    goals = [rank_in_world(one.outcomes[outcome]) for one in worlds]
    is_due = [np.isfinite(one.outcomes[outcome]) for one in worlds]
    names = {name for choice in choices for name in choice}
    ranks = [{name: rank_in_world(one.numbers[name]) for name in names} for one in worlds]
    predicted, taken = [np.zeros(0)] * len(worlds), []
    for kind in dict.fromkeys(one.kind for one in worlds):
        fitted = [i for i, one in enumerate(worlds) if one.kind != kind]
        y = np.concatenate([np.zeros(0), *(goals[i][is_due[i]] for i in fitted)])
        x = {name: np.concatenate([y[:0], *(ranks[i][name][is_due[i]] for i in fitted)]) for name in names}
        fits = []
        for choice in choices:
            features = np.stack([x[name] for name in choice], axis=1)
            weights = np.linalg.lstsq(features, y)[0]
            fits.append((float(np.sum((y - features @ weights) ** 2)), choice, weights))
        _, best, weights = min(fits, key=lambda fit: fit[0])
        taken.append(best)
        for i, one in enumerate(worlds):
            if one.kind == kind:
                predicted[i] = np.stack([ranks[i][name] for name in best], axis=-1) @ weights
    errors, total = 0.0, 0.0
    for goal, guess, due in zip(goals, predicted, is_due, strict=True):
        errors, total = errors + np.sum((goal - guess)[due] ** 2), total + np.sum(goal[due] ** 2)
    return predicted, taken, float(1 - errors / total) if total else float("nan")
