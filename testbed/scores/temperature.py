"""One temperature for all answers: what softening or sharpening alone would do.

A temperature T turns probabilities p into p^(1/T), normalised, with what is not named as one further outcome.
It reads no request. An unedited model that is surer than the agent comes nearer to it by a T above 1, so how
near an edited model comes says something of the edit only beside the best that a temperature does.
"""

import numpy as np

from testbed.scores.distances import sum_last_axis, total_variation, with_remainder

_OCTAVES, _STEPS = 5.0, 3
"""Temperatures over ten octaves are tried, so many to an octave, and then around the best of them."""
_GRID = np.linspace(-_OCTAVES, _OCTAVES, int(2 * _OCTAVES * _STEPS) + 1)
_REFINEMENTS = 14
_GOLDEN = (np.sqrt(5) - 1) / 2
_ROUNDING = 1e-9
"""A remainder below it is what sums of probabilities lack by rounding."""
_ROWS = 4096
"""About so many rows are searched at a time."""


def temper(p: np.ndarray, temperature: np.ndarray | float) -> np.ndarray:
    """Probabilities over the last axis under a temperature, or one of each row; what is 0 stays 0."""
    logs, temperature = _log_ratios(p), np.asarray(temperature, float)
    weights = np.exp(logs / temperature[..., None])
    return np.where(temperature[..., None] == 1, p, weights[..., :-1] / sum_last_axis(weights)[..., None])


def nearest_temperatures(p: np.ndarray, goal: np.ndarray, group: np.ndarray) -> np.ndarray:
    """float64[G]: the temperature of each group with the least sum of total variations to the goal.

    The best on a grid, and then by golden section between its neighbours; 1 where nothing is better. The grid
    is laid about the temperature at which options fall short of the likeliest by e on average, so that the
    same answers are found from all that differ by a temperature.

    Args:
        p, goal: float64[N, C].
        group: int64[N], from 0; each has a row.
    """
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(int(group.max(initial=-1)) + 1))
    # As many groups at a time as the processor's cache has room for.
    cuts = first[np.flatnonzero(np.diff(first // _ROWS, prepend=-1))]
    found = [
        _search_block(p[rows], goal[rows], group[rows]) for rows in np.split(order, cuts[1:]) if len(rows)
    ]
    return np.concatenate(found) if found else np.empty(0)


def _search_block(p: np.ndarray, goal: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The temperatures of some groups that follow each other."""
    group = group - group[0]
    groups = int(group[-1]) + 1
    unchanged = np.bincount(group, total_variation(p, goal), groups)
    if not unchanged.any():
        return np.ones(groups)
    ratios = _log_ratios(p)
    finite = np.isfinite(ratios) & (ratios < 0)
    fall = np.bincount(group, -np.where(finite, ratios, 0.0).sum(-1), groups)
    scale = fall / np.maximum(np.bincount(group, finite.sum(-1), groups), 1)
    scale[scale == 0] = 1.0
    goal = with_remainder(goal)
    ones = np.ones(ratios.shape[-1])

    def weigh(octaves: np.ndarray) -> np.ndarray:
        coldness = 1 / (scale * 2.0**octaves)
        return np.exp(ratios * coldness[group, None])

    def sum_distances(weights: np.ndarray) -> np.ndarray:
        # BLAS may raise the flag of an invalid number for what lies beside its rows.
        with np.errstate(invalid="ignore"):
            gaps = weights / (weights @ ones)[:, None]
            gaps -= goal
            return np.bincount(group, 0.5 * (np.abs(gaps, out=gaps) @ ones), groups)

    # Half a temperature is the square of every weight: few of them need an exponential.
    sums = np.empty((len(_GRID), groups))
    for step in range(_STEPS):
        weights = weigh(np.full(groups, _GRID[-1 - step]))
        for place in range(len(_GRID) - 1 - step, -1, -_STEPS):
            sums[place] = sum_distances(weights)
            np.square(weights, out=weights)
    best, least = _GRID[sums.argmin(0)], sums.min(0)

    def try_octaves(octaves: np.ndarray) -> np.ndarray:
        nonlocal best, least
        tried = sum_distances(weigh(octaves))
        best, least = np.where(tried < least, octaves, best), np.minimum(tried, least)
        return tried

    low, high = best - 1 / _STEPS, best + 1 / _STEPS
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = try_octaves(left), try_octaves(right)
    for _ in range(_REFINEMENTS - 1):
        goes_left = at_left <= at_right
        low, high = np.where(goes_left, low, left), np.where(goes_left, right, high)
        new = np.where(goes_left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        left, right = np.where(goes_left, new, right), np.where(goes_left, left, new)
        at_new = try_octaves(new)
        at_left, at_right = np.where(goes_left, at_new, at_right), np.where(goes_left, at_left, at_new)
    return np.where(least < unchanged, scale * 2.0**best, 1.0)


def _log_ratios(p: np.ndarray) -> np.ndarray:
    """Logarithms of probabilities, the remainder last, relative to the highest of each row."""
    full = with_remainder(p)
    full[..., -1][full[..., -1] < _ROUNDING] = 0.0
    with np.errstate(divide="ignore"):
        logs = np.log(full)
    return logs - logs.max(-1, keepdims=True)
