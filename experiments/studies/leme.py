"""LEME (Rosati et al. 2024) whole: what does an edited model write, and which change was warranted?

Command:
    python -m experiments.leme [--minutes 9]

Worlds of coupled pairs, of three seeds and three strengths of the coupling, each with its own corpus, model
and edits; injections and updates apart. Every stage is kept when it is done, so a killed command goes on from
there; with --minutes it leaves by itself after the stage in which they are over, or, while a model is
trained, at once. The record of the last run is in experiments/records.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments.command import launch_module
from experiments.record import figures, typed, write_record
from experiments.stages import Clock, Stage, finish_stages, train_until
from lm.editors.in_context import InContextConfig
from testbed.console import say
from testbed.corpus import build_corpus
from testbed.edit import edit
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.evaluations.leme.correlation import correlate_measures
from testbed.evaluations.leme.subsets import INJECTION, UPDATE
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.report import report
from testbed.run.runs import Run, read_metrics
from testbed.run.runtime import prepare_jax
from testbed.scores.comparison import score_editors
from testbed.scores.gather import gather_results
from testbed.settings import CaseConfig, EditSettings, ReportSettings

NAME = "leme"
EDITORS = ("none", "full", "ft-constrained", "mend", "rome", "memit", "lora-down", "in-context")
STRENGTHS = (1.0, 0.5, 0.0)
"""Probability that a coupled entity has the same object."""
REPORTED = (INJECTION, UPDATE)
"""Parts of the edits of which the record has the editors' figures, beside those of all."""


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    runs: Path = Path("runs")
    """Folder of all runs."""
    seeds: int = 3
    """Worlds of each strength, each with its own corpus, model and edits."""
    edits: int = 40
    """Edits by each editor in each world."""
    slow_edits: int = 10
    """Edits by self-bayes, which takes seconds for each."""
    minutes: float | None = None
    """Leave after about this long; the same command goes on from there."""

    @property
    def command(self) -> str:
        """What repeats it."""
        given = {"seeds": self.seeds, "edits": self.edits, "slow-edits": self.slow_edits}
        return typed(NAME, given)

    def __post_init__(self) -> None:
        if min(self.seeds, self.edits, self.slow_edits) < 1:
            raise ValueError("seeds, edits and slow_edits must be positive")


def run_study(options: Settings) -> None:
    """Worlds, models, edits, reports, record."""
    prepare_jax()
    clock = Clock(options.minutes)
    if finish_stages(study_stages(options, clock), clock):
        say(f"record: {record_study(options)}")


def study_stages(options: Settings, clock: Clock) -> Iterator[Stage]:
    """Everything in its order; trainings stop when the time is over."""
    for strength in STRENGTHS:
        for seed in range(options.seeds):
            run = run_of(options, strength, seed)
            yield from _model_stages(options, run, strength, seed, clock)
            for one in _edit_settings(options, run, seed):
                yield f"edit {run.name} by {', '.join(one.editors)}", partial(edit, one)
    for strength in STRENGTHS:
        first, *others = (run_of(options, strength, seed).name for seed in range(options.seeds))
        report_settings = ReportSettings(run=first, runs=options.runs, and_runs=tuple(others))
        yield f"report of strength {strength}", partial(report, report_settings)


def _model_stages(options: Settings, run: Run, strength: float, seed: int, clock: Clock) -> Iterator[Stage]:
    where: dict[str, Any] = {"run": run.name, "runs": options.runs, "seed": seed}
    corpus = CORPUS[NAME]
    world = replace(corpus.world, coupled=replace(corpus.world.coupled, strength=strength))
    yield f"corpus of {run.name}", partial(build_corpus, replace(corpus, world=world, **where))
    yield f"model of {run.name}", partial(train_until, replace(TRAIN[NAME], **where), clock)


def run_of(options: Settings, strength: float, seed: int) -> Run:
    """The run of one strength and seed."""
    return Run(options.runs, f"{NAME}-{strength:.1f}-{seed}")


def _edit_settings(options: Settings, run: Run, seed: int) -> Iterator[EditSettings]:
    """Every editor; contexts in the document of the passage, and in the one before it."""
    base = replace(
        EDIT[NAME], run=run.name, runs=options.runs, seed=seed, cases=CaseConfig(count=options.edits)
    )
    yield replace(base, editors=EDITORS)
    closed = base.configs | {"in-context": InContextConfig(closed=True)}
    yield replace(base, editors=("in-context",), configs=closed)
    yield replace(base, editors=("self-bayes",), cases=CaseConfig(count=options.slow_edits))


def record_study(options: Settings) -> Path:
    """The figures of all editors by strength of the coupling, and everything that they depend on."""
    by_strength: dict[str, Any] = {}
    for strength in STRENGTHS:
        group = [run_of(options, strength, seed) for seed in range(options.seeds)]
        editors = score_editors(gather_results(group, recorded_evaluation_named(NAME)))
        by_editor = figures(editors, REPORTED)
        by_strength |= {f"{name}, strength {strength}": rows for name, rows in by_editor.items()}
        related_metrics = correlate_measures(editors, editors[0].edited.seed)
        by_strength[f"correlations, strength {strength}"] = {
            f"{short} with {long}": one._asdict() for (short, long), one in related_metrics.items()
        }
    first = run_of(options, STRENGTHS[0], 0)
    return write_record(first, NAME, options.command, read_metrics(first), (".png", ".md"), found=by_strength)


if __name__ == "__main__":
    launch_module()
