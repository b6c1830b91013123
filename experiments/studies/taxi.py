"""TAXI (Powell et al. 2024) whole: does changing what a thing is change what follows from it?

Commands:
    python -m experiments.taxi [--path ../shared/data/taxi [--only-tables]]
    python -m experiments.taxi --baseline taxi-base        (what the unedited model of that run answers)

Generated taxonomies of three seeds, and TAXI's own tables, where their folder is given, read by models of as
many seeds. Editors are tuned on a taxonomy of another seed, which is never reported. A further world has
imagine documents that never say their premise again and speak of nobody else: contexts that say nothing of
the request are told there, too, to see what such documents teach.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from experiments import stages
from experiments.command import launch_module
from experiments.record import BY_EDITOR, figures_by_editor, read_report, read_searches
from experiments.settings import StagedSettings
from experiments.studies.taxi_questions import record_baseline
from lm.editors.in_context import InContextConfig
from testbed.commands.tune import tune
from testbed.engine.tuning import with_tuned_settings
from testbed.evaluations.held_out import HELD_OUT_PARTS
from testbed.evaluations.taxi import Taxi
from testbed.evaluations.taxi.metrics import RARE, TYPICAL
from testbed.presets import CORPUS, EDIT, TRAIN, TUNE
from testbed.run.runs import Run
from testbed.settings import CaseConfig, EditSettings

NAME = "taxi"
TUNED = ("lora-down", "full", "full-late", "ft-constrained", "rome", "memit", "embeddings")
EDITORS = ("none", *TUNED, "grace", "mend", "keyed")
SLOW = ("count-based", "self-bayes", "self-bayes-told")
KEPT = (TYPICAL, RARE, *HELD_OUT_PARTS)
"""Parts of the edits that the record keeps."""
PLAIN = f"{NAME}-plain"
OTHER_SEED = 1000
"""Of the taxonomy on which hyper-parameters are chosen."""


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is measured."""

    path: str = ""
    """Folder of TAXI's data; without it, generated taxonomies only."""
    seeds: int = 3
    """Generated taxonomies, each with its own corpus, model and edits."""
    edits: int = 400
    """Most edits by each editor in each generated world."""
    real_edits: int = 976
    """Most edits by each editor of TAXI's tables, which have so many."""
    table_seeds: int = 3
    """Models that read TAXI's tables, each its own corpus of them."""
    only_tables: bool = False
    """Leave out the generated taxonomies that are reported."""
    slow_edits: int = 80
    """Edits by counting, and by self-bayes with and without the true dependences: each takes seconds."""
    held_out: int = 40
    """Edits that hyper-parameters are chosen on."""

    baseline: str = ""
    """Only ask TAXI's questions of the unedited model of this run, whose world is built of TAXI's folder."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.only_tables and not self.path:
            raise ValueError("only-tables needs a path to TAXI's folder")


def run_study(options: Settings) -> None:
    """Worlds, models, hyper-parameters, edits, report, record."""
    if options.baseline:
        record_baseline(Run(options.runs, options.baseline), options.command)
    else:
        stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; trainings stop when the time is over."""
    tuning = Run(options.runs, f"{NAME}-tuning")
    yield from _world_stages(tuning, OTHER_SEED, "", clock)
    tune_settings = replace(
        TUNE[NAME], run=tuning.name, runs=options.runs, cases=CaseConfig(count=options.held_out)
    )
    for editor in TUNED:
        yield f"tune {editor}", partial(tune, replace(tune_settings, editors=(editor,)))
    for run, seed, path in list_worlds(options):
        yield from _world_stages(run, seed, path, clock)
        yield from stages.edit_stages(_edit_settings(options, tuning, run, seed, path))
    if not options.only_tables:
        plain = Run(options.runs, PLAIN)
        yield from _world_stages(plain, 0, "", clock)
        base = replace(EDIT[NAME], run=PLAIN, runs=options.runs, cases=CaseConfig(options.edits))
        yield from stages.edit_stages(_context_edits(base))
    for group in list_groups(options).values():
        yield stages.report_stage(group)


def list_worlds(options: Settings) -> list[tuple[Run, int, str]]:
    """Runs that are reported, with their seeds and folders of tables."""
    generated = [] if options.only_tables else [("", seed, "") for seed in range(options.seeds)]
    tables = [("-tables", seed, options.path) for seed in range(options.table_seeds) if options.path]
    return [
        (Run(options.runs, f"{NAME}{kind}-{seed}"), seed, path) for kind, seed, path in generated + tables
    ]


def list_groups(options: Settings) -> dict[str, list[Run]]:
    """Runs whose edits are pooled, by what they have in common."""
    worlds = list_worlds(options)
    groups = {
        "generated": [run for run, _, path in worlds if not path],
        "tables": [run for run, _, path in worlds if path],
        "plain documents": [] if options.only_tables else [Run(options.runs, PLAIN)],
    }
    return {name: runs for name, runs in groups.items() if runs}


def _world_stages(run: Run, seed: int, path: str, clock: stages.Clock) -> Iterator[stages.Stage]:
    where = stages.settings_of_run(run, seed)
    corpus = CORPUS[NAME]
    if run.name == PLAIN:
        corpus = replace(corpus, documents=replace(corpus.documents, premise_again=False, bystanders=0.0))
    corpus = replace(corpus, world=replace(corpus.world, path=path), **where)
    yield from stages.model_stages(corpus, replace(TRAIN[NAME], **where), clock)


def _edit_settings(options: Settings, tuning: Run, run: Run, seed: int, path: str) -> Iterator[EditSettings]:
    """Every editor with what was chosen for it; ROME at either token; contexts with controls."""
    count = options.real_edits if path else options.edits
    base = replace(EDIT[NAME], cases=CaseConfig(count=count), **stages.settings_of_run(run, seed))
    for editor in EDITORS:
        yield replace(base, editors=(editor,), tuned=tuning.name if editor in TUNED else "")
    configs = with_tuned_settings(run, TUNED, replace(base, tuned=tuning.name))
    # Of the two tokens that ROME may read, also the one that was not chosen.
    other = {"subject": "last", "last": "subject"}[configs["rome"].token]
    yield replace(base, editors=("rome",), configs=configs | {"rome": replace(configs["rome"], token=other)})
    yield from _context_edits(replace(base, configs=configs))
    yield replace(base, editors=SLOW, cases=CaseConfig(count=options.slow_edits))


def _context_edits(base: EditSettings) -> Iterator[EditSettings]:
    """In-context editing, and contexts that say nothing of the request."""
    for context in (InContextConfig(), InContextConfig(imagine=True)):
        configs = base.configs | {"in-context": context}
        yield replace(base, editors=("in-context",), configs=configs, evaluations={NAME: Taxi(controls=True)})


def record_study(options: Settings) -> Path:
    """The figures of all editors, and everything that they depend on."""
    by_group = {}
    for name, runs in list_groups(options).items():
        editors = stages.score_runs(runs, NAME)
        superordinates = {str(kind) for one in editors for kind in one.edits.results.cases["superordinate"]}
        by_group[name] = figures_by_editor(editors, (*KEPT, *sorted(superordinates)))
    tuning = Run(options.runs, f"{NAME}-tuning")
    first, *_ = list_worlds(options)[0]
    return options.record(
        first,
        read_report(first),
        ("group", *BY_EDITOR),
        found=by_group,
        tuned=read_searches(tuning),
    )


if __name__ == "__main__":
    launch_module()
