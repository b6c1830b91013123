"""The support law: does a consequence follow an edit, by how many subjects share the new object?

Command:
    python -m experiments.support_law

A world whose upstream objects have Zipf popularity (1,320 subjects, 300 objects of each upstream
relation), three seeds. Editors are tuned in a fourth world, of another seed; then every model is
edited by all of them, once with the `stratified` sampler (as many requests for every support) and once
with the `published` one. All requests contradict the truth. On 2 cores it
takes less than an hour.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from corpus.config import BuiltinWorld, WorldConfig
from experiments import stages
from experiments.command import launch_module
from experiments.record import BY_EDITOR, figures_by_editor, read_report, read_searches
from experiments.settings import StagedSettings
from testbed.commands.tune import tune
from testbed.console import print_table
from testbed.engine.tuning import with_tuned_settings
from testbed.evaluations.hase import Hase
from testbed.evaluations.hase.chapter import draw_support
from testbed.evaluations.hase.metrics import FOLLOWS, METRICS
from testbed.evaluations.hase.tables import support_table
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run
from testbed.run.strata import SUPPORT_BINS
from testbed.scores.frame import frame_of
from testbed.scores.metric import metrics_shown_in
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import format_cell
from testbed.settings import CaseConfig, TuneSettings

EDITORS = ("lora-down", "full-early", "full-late", "rome", "in-context", "embeddings")
SAMPLERS: tuple[Literal["stratified", "published"], ...] = ("stratified", "published")
DEVELOPMENT = 1000
"""Seed of the world that hyper-parameters are chosen in."""
HEADLINES = metrics_shown_in(METRICS, "headline")


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is measured."""

    seeds: int = 3
    """Worlds, each with its own corpus, model and edits."""
    subjects: int = 1320
    """Subjects of each world."""
    upstream_objects: int = 300
    """Objects of each upstream relation."""
    steps: int = 1200
    """Training steps."""
    edits: int = 400
    """Edits by each editor and sampler in each world."""
    held_out: int = 120
    """Edits of another world that the hyper-parameters are chosen on."""

    @property
    def worlds(self) -> list[Run]:
        """The runs of all seeds."""
        return [Run(self.runs, f"support-law-{seed}") for seed in range(self.seeds)]

    @property
    def development(self) -> Run:
        """Where hyper-parameters are chosen."""
        return Run(self.runs, "support-law-development")


def run_study(options: Settings) -> None:
    """Worlds, models, hyper-parameters, edits, tables, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; trainings stop when the time is over."""
    laptop, runs = TRAIN["laptop"], options.worlds
    dials = BuiltinWorld(upstream_objects=options.upstream_objects, downstream_objects=60)
    world = WorldConfig(subjects=options.subjects, builtin=dials)
    for seed, run in [*enumerate(runs), (DEVELOPMENT, options.development)]:
        where = stages.settings_of_run(run, seed)
        training = replace(laptop, train=replace(laptop.train, steps=options.steps), **where)
        yield from stages.model_stages(replace(CORPUS["laptop"], world=world, **where), training, clock)
    first = replace(EDIT["laptop"], run=runs[0].name, runs=options.runs, editors=EDITORS)
    contradictions = replace(first, tuned=options.development.name, evaluations={"hase": Hase(reinforce=0.0)})
    held_out = {"run": options.development.name, "tuned": "", "cases": CaseConfig(count=options.held_out)}
    yield "tune", lambda: tune(TuneSettings(**vars(contradictions) | held_out))
    configs = with_tuned_settings(runs[0], EDITORS, contradictions)
    base = replace(first, cases=CaseConfig(count=options.edits), configs=configs)
    for seed, run in enumerate(runs):
        for sampler in SAMPLERS:
            evaluation = {"hase": Hase(reinforce=0.0, sampler=sampler)}
            one = replace(base, run=run.name, seed=seed, evaluations=evaluation)
            yield from stages.edit_stages([one], f", {sampler}")
    yield stages.report_stage(runs)


def record_study(options: Settings) -> Path:
    """What follows by support, by both samplers."""
    runs = options.worlds
    figures_by_sampler: dict[str, Any] = {}
    for sampler in SAMPLERS:
        editors = score_by_sampler(runs, sampler)
        draw_support(
            support_table(frame_of(editors), FOLLOWS, ""), FOLLOWS, runs[0].report / f"support-{sampler}.png"
        )
        figures_by_sampler[sampler] = figures_by_editor(editors, [f"support {b}" for b in SUPPORT_BINS])
        for one in editors:
            rows = {b: one.summary[f"support {b}"] for b in SUPPORT_BINS} | {"all": one.summary["all"]}
            texts = [
                [b, *(format_cell(readers[one.name][m]) for m in HEADLINES)] for b, readers in rows.items()
            ]
            print_table(f"{one.name}, {sampler}", ["support", *HEADLINES], texts)
    return options.record(
        runs[0],
        read_report(runs[0]),
        ("sampler", *BY_EDITOR),
        found=figures_by_sampler,
        tuned=read_searches(options.development),
    )


def score_by_sampler(runs: Sequence[Run], sampler: str) -> list[ScoredEditor]:
    """The editors whose cases one sampler drew."""

    def is_of_sampler(config: dict) -> bool:
        return config["settings"]["evaluation"]["sampler"] == sampler

    return stages.score_runs(runs, "hase", is_of_sampler)


if __name__ == "__main__":
    launch_module()
