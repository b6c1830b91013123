"""LEME (Rosati et al. 2024) whole: what does an edited model write, and which change was warranted?

Command:
    python -m experiments.leme

Worlds of coupled pairs, of three seeds and three strengths of the coupling, each with its own corpus, model
and edits; injections and updates apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments import stages
from experiments.command import launch_module
from experiments.record import BY_EDITOR, figures_by_editor, read_report
from experiments.settings import StagedSettings
from lm.editors.in_context import InContextConfig
from testbed.evaluations.leme.correlation import correlate_measures
from testbed.evaluations.leme.metrics import CORRECTION, INJECTION, UPDATE
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run
from testbed.settings import CaseConfig, EditSettings

NAME = "leme"
EDITORS = ("none", "full", "ft-constrained", "mend", "rome", "memit", "lora-down", "in-context")
STRENGTHS = (1.0, 0.5, 0.0)
"""Probability that a coupled entity has the same object."""
REPORTED = (INJECTION, UPDATE, CORRECTION)
"""Parts of the edits of which the record has the editors' figures, beside those of all."""


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is measured."""

    seeds: int = 3
    """Worlds of each strength, each with its own corpus, model and edits."""
    edits: int = 40
    """Edits by each editor in each world."""
    slow_edits: int = 10
    """Edits by self-bayes, which takes seconds for each."""


def run_study(options: Settings) -> None:
    """Worlds, models, edits, reports, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; trainings stop when the time is over."""
    for strength in STRENGTHS:
        for seed, run in enumerate(runs_of(options, strength)):
            where = stages.settings_of_run(run, seed)
            world = CORPUS[NAME].world
            world = replace(world, coupled=replace(world.coupled, strength=strength))
            corpus = replace(CORPUS[NAME], world=world, **where)
            yield from stages.model_stages(corpus, replace(TRAIN[NAME], **where), clock)
            yield from stages.edit_stages(_edit_settings(options, run, seed))
    for strength in STRENGTHS:
        yield stages.report_stage(runs_of(options, strength))


def runs_of(options: Settings, strength: float) -> list[Run]:
    """The runs of one strength, in the order of their seeds."""
    return [Run(options.runs, f"{NAME}-{strength:.1f}-{seed}") for seed in range(options.seeds)]


def _edit_settings(options: Settings, run: Run, seed: int) -> Iterator[EditSettings]:
    """Every editor; contexts in the document of the passage, and in the one before it."""
    base = replace(EDIT[NAME], cases=CaseConfig(count=options.edits), **stages.settings_of_run(run, seed))
    yield replace(base, editors=EDITORS)
    closed = base.configs | {"in-context": InContextConfig(closed=True)}
    yield replace(base, editors=("in-context",), configs=closed)
    yield replace(base, editors=("self-bayes",), cases=CaseConfig(count=options.slow_edits))


def record_study(options: Settings) -> Path:
    """The figures of all editors by strength of the coupling, and everything that they depend on."""
    by_strength: dict[str, Any] = {}
    for strength in STRENGTHS:
        editors = stages.score_runs(runs_of(options, strength), NAME)
        by_editor = figures_by_editor(editors, REPORTED)
        by_strength |= {f"{name}, strength {strength}": rows for name, rows in by_editor.items()}
        related_metrics = correlate_measures(editors, editors[0].edits.seed)
        by_strength[f"correlations, strength {strength}"] = {
            f"{short} with {long}": one for (short, long), one in related_metrics.items()
        }
    first = runs_of(options, STRENGTHS[0])[0]
    return options.record(first, read_report(first), BY_EDITOR, found=by_strength)


if __name__ == "__main__":
    launch_module()
