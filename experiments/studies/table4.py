"""Hase's Table 4: do edits of a model keep it coherent? Intervals, floors, both samplers.

Commands:
    python -m experiments.table4 --scale slice --path FOLDER_IN_WIKIDATA5M_LAYOUT
    python -m experiments.table4 --scale laptop --edits 5000 --minutes 9
    python -m experiments.table4 --scale laptop --path FOLDER --pairs automatic --edits 300
    python -m experiments.table4 --scale paper-cpu --fact-count 10000 --steps 300 --edits 100 --minutes 8
    python -m experiments.table4 --scale paper --edits 5000 --minutes 8                        (with a GPU)

`slice` takes 2,000 subjects with about 6,250 facts, the `laptop` model with one token a name, and about
a quarter of an hour on 2 cores without a GPU. `laptop` is the preset `paper-laptop`, 100,000 facts for two
cores; `paper-cpu` the paper's twelve layers with a token for each name; `paper` the paper's corpus and 83M
parameters, in `paper-fast`'s recipe. Facts are those of a folder, or without one the built-in world's; then
the last two edit the model of experiments.pretrain with the same options, and train it if it is not there.
Expected: generative accuracy of true facts at least 0.9, edit success at least 0.95 for every editor but the
controls. Besides Table 4, in today's terms and in the published ones: what follows by how many subjects share
the new object.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from corpus.config import TokenizerConfig
from experiments import stages
from experiments.benchmarks.scaled import PAPER_FACTS
from experiments.command import launch_module
from experiments.record import BY_EDITOR, figures_by_editor, read_report, read_searches
from experiments.settings import StagedSettings
from experiments.studies.pretrain import name_run, scale_preset
from testbed.engine.results import cluster_levels
from testbed.evaluations.hase import Hase
from testbed.evaluations.hase.metrics import FOLLOWS
from testbed.evaluations.hase.published import published_tables
from testbed.evaluations.hase.tables import SUBSETS, main_results
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run
from testbed.scores.frame import frame_of
from testbed.scores.statistics import estimate_metric
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.settings import CaseConfig

PAIRS = ("P69:P106", "P19:P27", "P31:P17", "P136:P264", "P172:P1412")
"""Relations of Wikidata and what depends on each: the paper's Table 2, but for two that few subjects have."""
CHOICES = {"frequent": PAIRS, "printed": (*PAIRS[:3], "P413:P54", "P641:P421"), "automatic": ()}
"""Pairs by how they are chosen: those of Table 2 are printed; the rest is left to appendix A.1."""
EDITORS = (
    "lora-down", "lora-all", "embeddings", "full", "rome", "memit", "in-context", "self-bayes", "count-based",
    "none", "oracle",
)  # fmt: skip
Sampler = Literal["published", "stratified"]
PRESETS = {
    "slice": ("small", "laptop", "laptop"),
    "laptop": ("paper-laptop", "paper-laptop", "paper-laptop"),
    "paper-cpu": ("paper-cpu", "paper-cpu", "paper-cpu"),
    "paper": ("paper", "paper-fast", "paper"),
}
"""Of corpus, training and edits at each scale."""
PRETRAINED = ("paper-cpu", "paper")
"""Scales at which experiments.pretrain trains the same model."""
SUPPORTS = (0, 1, 2, 5, 20, 100, 1000)
"""The least support of each bin."""


@dataclass(frozen=True)
class Settings(StagedSettings):
    """Where the facts are, and how much is measured."""

    path: str = ""
    """Folder in Wikidata5m's layout; without one, at a larger scale, the built-in world."""
    scale: Literal["slice", "laptop", "paper-cpu", "paper"] = "laptop"
    """slice: minutes on a laptop; laptop: hours on one; paper-cpu: the paper's architecture without a GPU, as
    experiments.pretrain trains it; paper: with a GPU."""
    pairs: Literal["frequent", "printed", "automatic"] = "frequent"
    """Of a folder: those of the paper, two replaced by frequent ones; the paper's; its automatic choice."""
    fact_count: int = PAPER_FACTS
    """About how many facts, at the scales paper-cpu and paper."""
    steps: int | None = None
    """Of the training, at the same scales, as experiments.pretrain takes them; else the preset's."""
    until: float | None = None
    """Stop the training at this accuracy of facts; without it, at the last step."""
    samplers: tuple[Sampler, ...] = ("published", "stratified")
    """How requests are drawn."""
    editors: tuple[str, ...] = EDITORS
    """Which editors."""
    edits: int = 400
    """Edits by each editor and sampler."""
    tuned: str = ""
    """The run on which testbed.tune chose all these editors' hyper-parameters; without one, the preset's."""
    seed: int = 0
    """Root seed of every stage."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale not in PRETRAINED and (self.fact_count != PAPER_FACTS or self.steps):
            raise ValueError(f"fact-count and steps are for the scales {' and '.join(PRETRAINED)}")
        if self.scale == "slice" and not self.path:
            raise ValueError("scale slice needs a path to a folder in Wikidata5m's layout")
        if self.pairs != "frequent" and not self.path:
            raise ValueError("pairs are of a path to a folder in Wikidata5m's layout")

    @property
    def run(self) -> Run:
        """Where it goes: at the paper's scales, to the model that experiments.pretrain trained."""
        if self.scale in PRETRAINED and not self.path:
            return Run(self.runs, name_run(PRESETS[self.scale][1], self.fact_count))
        return Run(self.runs, f"table4-{self.scale}" + f"-{self.pairs}" * (self.pairs != "frequent"))


def run_study(options: Settings) -> None:
    """Corpus, training, edits by both samplers, report and record."""
    stages.run_in_stages(options, study_stages, record_study)


def record_study(options: Settings) -> Path:
    """Table 4 in today's terms and in the published ones, what follows by support, and all figures."""
    editors = stages.score_runs([options.run], "hase")
    tables = [
        main_results(frame_of(editors)),
        published_tables(editors)[0],
        support_table(editors),
    ]
    pages = {"table4.md": stages.show_tables(tables)}
    return options.record(
        options.run,
        read_report(options.run) | pages,
        BY_EDITOR,
        tuned=read_searches(Run(options.runs, options.tuned)) if options.tuned else None,
        found=figures_by_editor(editors, SUBSETS),
        title="table4" if options.scale == "slice" else f"table4-{options.scale}",
    )


def support_table(editors: Sequence[ScoredEditor]) -> Table:
    """What follows of what should, by how many subjects have the new object for their truth."""
    bins = [*zip(SUPPORTS, [*SUPPORTS[1:], np.inf], strict=True)]
    rows: list[list[Cell]] = []
    for editor in editors:
        results = editor.edits.results
        support, metric = results.cases["support_new"], editor.values[editor.name][FOLLOWS]
        among = [(support >= low) & (support < high) for low, high in bins]
        among.append(np.ones(len(support), bool))
        rows.append([editor.name, *(estimate_metric(metric, cluster_levels(results), one) for one in among)])
    ends = [f"{low:,}" if high == low + 1 else f"{low:,} to {high - 1:,}" for low, high in pairwise(SUPPORTS)]
    header = ["editor", *ends, f"{SUPPORTS[-1]:,} and more", "all"]
    return Table("support", f"{FOLLOWS}, by support of the new object", header, rows)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; the training stops when the time is over."""
    where = stages.settings_of_run(options.run, options.seed)
    written, trained, edited = PRESETS[options.scale]
    corpus, recipe, base = CORPUS[written], TRAIN[trained], EDIT[edited]
    if options.scale in PRETRAINED:
        corpus, recipe = scale_preset(trained, options.fact_count, options.steps or 0)
    if options.path:
        pairs = CHOICES[options.pairs]
        world = replace(corpus.world, source="wikidata", path=options.path, pairs=pairs)
        world = world if pairs else replace(world, dependences="published")
        corpus = replace(corpus, world=world)
    if options.scale == "slice":
        corpus = replace(corpus, tokenizer=TokenizerConfig())
        recipe = replace(recipe, train=replace(recipe.train, steps=1400, row_length=192))
    recipe = replace(recipe, **where, until=options.until)
    yield from stages.model_stages(replace(corpus, **where), recipe, clock)
    settings = replace(base, cases=CaseConfig(count=options.edits), tuned=options.tuned, **where)
    for sampler in options.samplers:
        of_sampler = replace(settings, evaluations={"hase": Hase(sampler=sampler)})
        yield from stages.edit_stages(
            (replace(of_sampler, editors=(e,)) for e in options.editors), f", {sampler}"
        )
    yield stages.report_stage([options.run], against=options.editors[0])


if __name__ == "__main__":
    launch_module()
