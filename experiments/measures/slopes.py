"""How truth changes with how much an edit is stated, over editors at several strengths."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from corpus.seeds import generator
from experiments.measures.agreement import weighted_ratios
from experiments.study import Findings
from testbed.evaluations.leme.metrics import (
    CROSS,
    EDIT_SUBJECT,
    FACTUAL_RELATED,
    FACTUAL_SUBJECT,
    INTERNAL_SUBJECT,
)
from testbed.scores.metric import Metric
from testbed.scores.statistics import Estimate, draw_case_weights, estimate_from_draws
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table

TRUTHS = (FACTUAL_SUBJECT, FACTUAL_RELATED, INTERNAL_SUBJECT, CROSS)
"""Of what an edited model writes besides the edit: how much is true, and agrees."""
RESAMPLES = 1000


class Point(NamedTuple):
    """What an editor wrote in one world at one strength.

    Attributes:
        stated, truths: of each case, how far it states the edit, and each of TRUTHS.
        subject: int[E].
    """

    stated: Metric
    truths: Sequence[Metric]
    subject: np.ndarray


def read_point(editor: ScoredEditor) -> Point:
    """What one editor wrote, case by case."""
    stated, *truths = (editor.values[editor.name][name] for name in (EDIT_SUBJECT, *TRUTHS))
    return Point(stated, truths, editor.edits.results.cases["subject"])


def estimate_slopes(groups: Sequence[Sequence[Point]], name: str) -> dict[str, tuple[Estimate, Estimate]]:
    """Of each of TRUTHS: what it changes by for 1.0 more of stating the edit, and the rank correlation.

    Both within groups, which are an editor in a world at every strength: slopes by least squares with an
    intercept for each group, correlations as their mean over groups. Subjects of a world are drawn again,
    the same at every strength.
    """
    lines = [
        group_lines(points, generator(number, f"strength {name}")) for number, points in enumerate(groups)
    ]
    cases = sum(len(points[0].subject) for points in groups)
    estimates = {}
    for place, truth in enumerate(TRUTHS):
        pairs = [(stated, truths[place]) for stated, truths in lines]
        x, y = (np.stack([pair[side] for pair in pairs], axis=1) for side in (0, 1))
        x_centred, y_centred = (z - z.mean(axis=2, keepdims=True) for z in (x, y))
        slope = (x_centred * y_centred).sum((1, 2)) / (x_centred**2).sum((1, 2))
        rank = np.nanmean([correlate_ranks(*pair) for pair in pairs], axis=0)
        estimates[truth] = estimate_from_draws(slope, cases), estimate_from_draws(rank, cases)
    return estimates


def group_lines(points: Sequence[Point], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Shares at every strength, of all cases and then of resampled ones.

    Returns:
        float64[1 + B, strengths] of stating the edit, and float64[truths, 1 + B, strengths].
    """
    weights = draw_case_weights({"subject": points[0].subject}, RESAMPLES, rng)
    stated = weighted_ratios([point.stated for point in points], weights)
    truths = [
        weighted_ratios([point.truths[place] for point in points], weights) for place in range(len(TRUTHS))
    ]
    return stated, np.stack(truths)


def correlate_ranks(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's rho of each row of two float64[B, n]; nan where one of them is all alike."""
    a, b = (rankdata(z, axis=1) for z in (x, y))
    a, b = (z - z.mean(axis=1, keepdims=True) for z in (a, b))
    with np.errstate(invalid="ignore", divide="ignore"):
        return (a * b).sum(1) / np.sqrt((a**2).sum(1) * (b**2).sum(1))


def slope_table(findings: Findings, strengths: Sequence[float]) -> Table:
    """What truth changes by, a row for each editor: slopes, then rank correlations."""
    options = findings.options
    points = []
    for seed in range(1, 1 + options.worlds):
        by_strength = [findings.editors(strength=p, seed=seed) for p in strengths]
        points.append([[read_point(one) for one in editor] for editor in zip(*by_strength, strict=True)])
    slopes = {
        name: estimate_slopes([world[number] for world in points], name)
        for number, name in enumerate(options.editors)
    }
    slopes["all"] = estimate_slopes([one for world in points for one in world], "all")
    rows: list[list[Cell]] = [
        [name, *(pair[0] for pair in of.values()), *(pair[1] for pair in of.values())]
        for name, of in slopes.items()
    ]
    header = ["editor", *TRUTHS, *(f"{truth}, rank" for truth in TRUTHS)]
    note = (
        f"{len(strengths) * options.worlds} points an editor: {len(strengths)} strengths in "
        f"each of {options.worlds} worlds, {options.edits} edits each. Slopes are for 1.0 more of "
        f"{EDIT_SUBJECT}; ± is half of a 95% interval over subjects."
    )
    return Table("slopes", "What truth changes by as the edit is stated more", header, rows, note)
