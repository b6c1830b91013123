"""LEME: does an editor that states its edit more write less truth? Each editor at several strengths.

Command:
    python -m experiments.leme_strength

Rosati et al. 2024 compare editors, each as strong as it is. Here the same edits are made at several
probabilities of the request (`lm.editors.strength`), in the worlds and models of experiments.rater, so that
stating the edit more is told from being another editor: within each editor of each world, how much truth do
the passages lose as they state the edit more? Intervals are over subjects of all worlds, which are drawn
again together with all that was measured of them.

A second table has each editor as it is, with and without the outline that the paper's prompts give.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from corpus.seeds import generator
from experiments import stages
from experiments.command import launch_module
from experiments.record import estimate_as_list
from experiments.settings import StagedSettings
from experiments.studies.agreement import weighted_ratios
from experiments.studies.rater import NAME, report_runs
from testbed.evaluations.leme.metrics import (
    CROSS,
    EDIT_SUBJECT,
    FACTUAL_RELATED,
    FACTUAL_SUBJECT,
    INTERNAL_SUBJECT,
)
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run
from testbed.scores.metric import Metric
from testbed.scores.statistics import Estimate, draw_case_weights, estimate_from_draws
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.settings import CaseConfig, EditSettings

TRUTHS = (FACTUAL_SUBJECT, FACTUAL_RELATED, INTERNAL_SUBJECT, CROSS)
"""Of what an edited model writes besides the edit: how much is true, and agrees."""
RESAMPLES = 1000


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is measured."""

    worlds: int = 3
    """Worlds, of seeds 1, 2, ..., those of experiments.rater."""
    editors: tuple[str, ...] = ("full", "rome", "memit", "lora-down")
    """Who edits; each adds something to the model that can be scaled."""
    strengths: tuple[float, ...] = (0.1, 0.3, 0.6, 0.9)
    """Probabilities of the request."""
    edits: int = 30
    """Edits by each editor at each strength in each world."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.strengths)) < 2 or not all(0 < p < 1 for p in self.strengths):
            raise ValueError("strengths must be 2 or more probabilities inside (0, 1)")


class Point(NamedTuple):
    """What an editor wrote in one world at one strength.

    Attributes:
        stated, truths: of each case, how far it states the edit, and each of TRUTHS.
        subject: int[E].
    """

    stated: Metric
    truths: Sequence[Metric]
    subject: np.ndarray


def run_study(options: Settings) -> None:
    """Worlds, models, edits, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; trainings stop when the time is over."""
    for run, seed in report_runs(options.runs, options.worlds):
        where = stages.settings_of_run(run, seed)
        yield from stages.model_stages(replace(CORPUS[NAME], **where), replace(TRAIN[NAME], **where), clock)
        for outline in (False, True):
            yield from stages.edit_stages([edit_settings(options, run, seed, None, outline)])
        for strength in options.strengths:
            yield from stages.edit_stages([edit_settings(options, run, seed, strength)])


def edit_settings(
    options: Settings, run: Run, seed: int, strength: float | None, outline: bool = False
) -> EditSettings:
    """All editors at one strength, None as they are."""
    base = EDIT[NAME]
    editors = options.editors if strength else ("none", *options.editors)
    evaluation = replace(base.evaluations[NAME], outline=outline)
    return replace(
        base,
        editors=editors,
        strength=strength,
        cases=CaseConfig(count=options.edits),
        evaluations=base.evaluations | {NAME: evaluation},
        **stages.settings_of_run(run, seed),
    )


def record_study(options: Settings) -> Path:
    """How truth falls as the edit is stated more, and what an outline changes."""
    runs = report_runs(options.runs, options.worlds)
    points = []
    for run, seed in runs:
        by_strength = [
            stages.score_edits([run], edit_settings(options, run, seed, strength))
            for strength in options.strengths
        ]
        points.append([[read_point(one) for one in editor] for editor in zip(*by_strength, strict=True)])
    slopes = {
        name: estimate_slopes([world[number] for world in points], name)
        for number, name in enumerate(options.editors)
    }
    slopes["all"] = estimate_slopes([one for world in points for one in world], "all")
    as_they_are = {
        outline: stages.score_edits(
            [run for run, _ in runs], edit_settings(options, *runs[0], strength=None, outline=outline)
        )
        for outline in (False, True)
    }
    tables = [slope_table(slopes, options), outline_table(as_they_are)]
    found = {
        name: {truth: [estimate_as_list(x) for x in pair] for truth, pair in of_name.items()}
        for name, of_name in slopes.items()
    }
    return options.record(runs[0][0], {"leme_strength.md": stages.show_tables(tables)}, found=found)


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


def slope_table(slopes: dict[str, dict[str, tuple[Estimate, Estimate]]], options: Settings) -> Table:
    """A row for each editor: slopes, then rank correlations."""
    rows: list[list[Cell]] = [
        [name, *(pair[0] for pair in of_name.values()), *(pair[1] for pair in of_name.values())]
        for name, of_name in slopes.items()
    ]
    header = ["editor", *TRUTHS, *(f"{truth}, rank" for truth in TRUTHS)]
    points = len(options.strengths) * options.worlds
    note = (
        f"{points} points an editor: {len(options.strengths)} strengths in each of {options.worlds} worlds, "
        f"{options.edits} edits each. Slopes are for 1.0 more of {EDIT_SUBJECT}; ± is half of a 95% interval "
        "over subjects."
    )
    return Table("slopes", "What truth changes by as the edit is stated more", header, rows, note)


def outline_table(as_they_are: dict[bool, list[ScoredEditor]]) -> Table:
    """A row for each editor: what it writes without an outline and with one."""
    shown = (EDIT_SUBJECT, *TRUTHS)
    rows: list[list[Cell]] = [
        [one.name, *(e.summary["all"][e.name][metric] for metric in shown for e in (one, other))]
        for one, other in zip(*as_they_are.values(), strict=True)
    ]
    header = ["editor", *(f"{metric}{end}" for metric in shown for end in ("", ", outlined"))]
    return Table("outline", "Passages without and with an outline", header, rows)


if __name__ == "__main__":
    launch_module()
