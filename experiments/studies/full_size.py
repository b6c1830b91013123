"""The paper's 83M model with its whole mind read, and edited: what fits in ten minutes of one GPU.

Command:
    python -m experiments.full_size                                                            (with a GPU)
    python -m experiments.full_size --preset paper-laptop --fact-count 1000 --steps 200 --edits 24

The model is that of experiments.pretrain with the same options; beliefs are read about everybody of whom it
speaks. What `keyed` read is kept in <run>/mind.npz, and of whom in mind.json. Tables: what follows by support
and by requested relation, beside what `keyed` concludes before it fits anything; and what it took for read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from corpus.files import read_json, staged_file, write_json
from experiments.command import launch_module
from experiments.measures.concluded import answered_metric, find_named, infer_answers, read_table
from experiments.measures.followed import relation_table, support_row, support_table
from experiments.measures.scaled import (
    ScaledOptions,
    corpus_of_scaled,
    name_run,
    presets_of_scaled,
    training_of_scaled,
)
from experiments.stages import Stage
from experiments.study import Findings, Study, Values
from lm.editors.interface import vocabulary_of
from lm.editors.self_bayes import BeliefConfig
from lm.editors.self_bayes.reasoning import read_mind
from lm.editors.self_bayes.recall import recall_beliefs
from testbed.console import say
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, KEPT, SKILL_RECALIBRATED, SUCCESS
from testbed.evaluations.hase.published import SUBSETS
from testbed.run.model import load_model
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.scores.tables import Table
from testbed.scores.views import View

KEPT_OBJECTS = 8
"""Objects of each belief that mind.npz has."""
EDITORS = {
    "stratified": ("keyed", "keyed-counting", "keyed-request", "lora-down", "count-based"),
    "published": ("keyed", "keyed-counting"),
}
"""By sampler, what is worth most first."""
TIMES = {"stratified": 1, "published": 5}
"""How many times the edits that are asked for."""


@dataclass(frozen=True)
class Options(ScaledOptions):
    """Which model, and how many edits."""

    preset: Literal["paper-dense", "paper-fast", "paper-cpu", "paper-laptop"] = "paper-dense"
    """Corpus, model and recipe."""
    samplers: tuple[Literal["stratified", "published"], ...] = ("stratified", "published")
    """How requests are drawn; five times as many by the published sampler."""

    @property
    def cells(self) -> list[Values]:
        """By sampler; the model is that of experiments.pretrain."""
        model = {"model": name_run(self.preset, self.fact_count), "seed": self.seed, "is_made": True}
        return [{**model, "sampler": sampler, "times": TIMES[sampler]} for sampler in self.samplers]


def read_stages(findings: Findings) -> Iterator[Stage]:
    """The model, if it is not there, and what it has read."""
    cell = findings.cells[0]
    run = findings.run_of(cell)
    if not run.finished_file.exists():
        yield from findings.model_stages(cell)
    yield "what was read", partial(save_mind, run, findings.edits_of(cell, "keyed").configs["keyed"].beliefs)


def save_mind(run: Run, config: BeliefConfig) -> None:
    """Write what is believed of whom, and how many of the world's subjects that are."""
    world = load_world(run)
    beliefs = recall_beliefs(load_model(run, world)[0], vocabulary_of(world.tokenizer), config)
    counts = {
        "subjects_found": len(beliefs.subjects),
        "subjects": len(world.graph.subjects),
        "subjects_found_rightly": len(find_named(beliefs.subjects, world)),
        "objects_found": len(beliefs.objects),
        "objects": len(world.graph.objects),
    }
    write_json(run.folder / "mind.json", counts)
    top, p = beliefs.top[:, :, :KEPT_OBJECTS], beliefs.p[:, :, :KEPT_OBJECTS]
    with staged_file(run.folder / "mind.npz") as aside, aside.open("wb") as file:
        np.savez_compressed(file, **beliefs._replace(top=top, p=p.astype(np.float16))._asdict())
    say(", ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in counts.items()))


def make_tables(findings: Findings) -> Iterator[Table]:
    """What follows, beside what was concluded; and what was read."""
    editors = findings.editors(sampler=findings.options.samplers[0])
    (run,), results = findings.runs(), editors[0].edits.results
    world = load_world(run)
    model, _ = load_model(run, world)
    config = findings.edits_of(findings.cells[0], "keyed").configs["keyed"]
    mind = read_mind(model, vocabulary_of(world.tokenizer), config)
    answers, moves = infer_answers(model, mind, world, results)
    concluded = support_row(
        "keyed, as concluded", answered_metric(results, np.where(moves >= 0.5, answers, -1)), results
    )
    yield support_table(editors, [concluded])
    yield relation_table(editors, world.graph.relations)
    yield read_table(mind, world)


STUDY = Study(
    options=Options(edits=200),
    run="{model}",
    preset=presets_of_scaled,
    corpus=corpus_of_scaled,
    train=training_of_scaled,
    edit=lambda cell: {"cases.count": cell["times"] * cell["edits"], "hase.sampler": cell["sampler"]},
    editors=lambda cell: cell["editors"] or EDITORS[cell["sampler"]],
    pool=("model", "seed", "times", "is_made"),
    before=read_stages,
    subsets=SUBSETS,
    views=[
        View(f"all-{sampler}", f"Requests of the {sampler} sampler",
             (SUCCESS, FOLLOWS, KEPT, DAMAGE, SKILL_RECALIBRATED), where={"sampler": sampler},
             who=("editor", "reference"))
        for sampler in EDITORS
    ],
    tables=make_tables,
    figures=lambda findings: {"mind": read_json(findings.runs()[0].folder / "mind.json")},
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
