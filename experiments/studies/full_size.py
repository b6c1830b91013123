"""The paper's 83M model with its whole mind read: what fits in ten minutes of one GPU, the worthiest first.

Command:
    python -m experiments.full_size                                                            (with a GPU)
    python -m experiments.full_size --preset paper-laptop --fact-count 1000 --steps 200 --edits 24

Corpus, training, beliefs about everybody of whom the model speaks, and edits, each by the sampler and the
editors of `PARTS` in their order. What `keyed` read is kept in <run>/mind.npz, and of whom in mind.json.
Edits go into the run of experiments.table4 with the same options, which makes tables of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from corpus.files import staged_file, write_json
from corpus.text.tokenizer import BOS, PAD
from experiments import stages
from experiments.benchmarks.scaled import PAPER_FACTS
from experiments.command import launch_module
from experiments.record import BY_EDITOR, figures_by_editor
from experiments.settings import StagedSettings
from experiments.studies import table4
from experiments.studies.pretrain import name_run, scale_preset
from testbed.console import say
from testbed.engine.results import cluster_levels
from testbed.evaluations.hase import Hase
from testbed.evaluations.hase.metrics import FOLLOWS
from testbed.evaluations.hase.tables import SUBSETS
from testbed.presets import EDIT
from testbed.run.runs import Run
from testbed.run.world import read_world
from testbed.scores.statistics import estimate_metric
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.settings import CaseConfig

KEPT = 8
"""Objects of each belief that mind.npz has."""


class Part(NamedTuple):
    """Edits of one kind; `times` as many as the study's."""

    sampler: table4.Sampler
    editors: tuple[str, ...]
    times: int = 1


PARTS = (
    Part("stratified", ("keyed",)),
    Part("stratified", ("keyed-counting",)),
    Part("stratified", ("keyed-request",)),
    Part("stratified", ("lora-down",)),
    Part("stratified", ("count-based",)),
    Part("published", ("keyed",), 5),
    Part("published", ("keyed-counting",), 5),
    Part("stratified", ("oracle",)),
)
"""What is worth most comes first."""


@dataclass(frozen=True)
class Settings(StagedSettings):
    """Which model, and how many edits."""

    preset: Literal["paper-fast", "paper-cpu", "paper-laptop"] = "paper-fast"
    """Corpus, model and recipe."""
    fact_count: int = PAPER_FACTS
    """About how many facts."""
    steps: int = 0
    """Optimiser steps, as experiments.pretrain takes them; 0 takes the preset's."""
    edits: int = 200
    """Edits of a part."""
    seed: int = 0
    """Root seed of every stage."""

    def __post_init__(self) -> None:
        """As `StudySettings`, but that steps may be 0."""

    @property
    def run(self) -> Run:
        """That of experiments.pretrain."""
        return Run(self.runs, name_run(self.preset, self.fact_count))


def run_study(options: Settings) -> None:
    """Everything, in the order of what is worth most; report and record at the end."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Corpus, training, edits by each part, what was read."""
    run = options.run
    where = stages.settings_of_run(run, options.seed)
    corpus, recipe = scale_preset(options.preset, options.fact_count, options.steps)
    if not run.finished_file.exists():
        yield from stages.model_stages(replace(corpus, **where), replace(recipe, **where), clock)
    settings = replace(EDIT[corpus.run], **where)
    for number, (sampler, editors, times) in enumerate(PARTS):
        of_part = replace(
            settings,
            editors=editors,
            cases=CaseConfig(count=times * options.edits),
            evaluations={"hase": Hase(sampler=sampler)},
        )
        yield from stages.edit_stages([of_part], f", {sampler}")
        if number == 0:
            yield "what was read", partial(save_mind, run)
    yield stages.report_stage([run], against="keyed")


def save_mind(run: Run) -> None:
    """Write what is believed of whom, and how many of the world's subjects that are."""
    from lm.editors.interface import vocabulary_of
    from lm.editors.keyed import EDITORS
    from lm.editors.self_bayes.recall import recall_beliefs
    from testbed.run.model import load_model
    from testbed.run.world import load_world

    world = load_world(run)
    keyed = next(entry.config for entry in EDITORS if entry.name == "keyed")
    beliefs = recall_beliefs(load_model(run, world)[0], vocabulary_of(world.tokenizer), keyed.beliefs)
    found = {tuple(row[(row != PAD) & (row != BOS)].tolist()) for row in beliefs.subjects}
    there = {tuple(world.tokenizer.entity(int(s)).tolist()) for s in world.graph.subjects}
    counts = {
        "subjects_found": len(found),
        "subjects": len(there),
        "subjects_found_rightly": len(found & there),
        "objects_found": len(beliefs.objects),
        "objects": len(world.graph.objects),
    }
    write_json(run.folder / "mind.json", counts)
    kept = beliefs._replace(top=beliefs.top[:, :, :KEPT], p=beliefs.p[:, :, :KEPT].astype(np.float16))
    with staged_file(run.folder / "mind.npz") as aside, aside.open("wb") as file:
        np.savez_compressed(file, **kept._asdict())
    say(", ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in counts.items()))


def record_study(options: Settings) -> Path:
    """What follows by support and by requested relation, and all figures by editor."""
    editors = stages.score_runs([options.run], "hase")
    relations = read_world(options.run)[0].relations
    tables = [table4.support_table(editors), relation_table(editors, relations)]
    return options.record(
        options.run,
        table4.read_report(options.run) | {"full-size.md": stages.show_tables(tables)},
        BY_EDITOR,
        found=figures_by_editor(editors, SUBSETS),
    )


def relation_table(editors: Sequence[ScoredEditor], relations: Sequence[str]) -> Table:
    """What follows of what should, by the relation of the request, if anything should."""
    rows: list[list[Cell]] = []
    due = editors[0].values[editors[0].name][FOLLOWS].denominator
    of_case = editors[0].edits.results.cases["relation"]
    columns = np.unique(of_case[due > 0])
    for editor in editors:
        results, metric = editor.edits.results, editor.values[editor.name][FOLLOWS]
        among = [results.cases["relation"] == relation for relation in columns]
        rows.append([editor.name, *(estimate_metric(metric, cluster_levels(results), one) for one in among)])
    header = ["editor", *(f"{relations[r]} ({due[of_case == r].sum():.0f})" for r in columns)]
    return Table("relations", f"{FOLLOWS}, by requested relation", header, rows)


if __name__ == "__main__":
    launch_module()
