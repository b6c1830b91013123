"""Hase's Table 4: do edits of a model keep it coherent? Intervals, floors, both samplers.

Commands:
    python -m experiments.table4 --scale slice --path FOLDER_IN_WIKIDATA5M_LAYOUT
    python -m experiments.table4 --scale laptop --edits 5000 --minutes 9
    python -m experiments.table4 --scale laptop --path FOLDER --pairs automatic --edits 300
    python -m experiments.table4 --scale paper-cpu --fact-count 10000 --steps 300 --edits 100 --minutes 8
    python -m experiments.table4 --scale paper --edits 5000 --minutes 8                        (with a GPU)

`slice` takes 2,000 subjects with about 6,250 facts, the `laptop` model with one token a name, and about
a quarter of an hour on 2 cores without a GPU. `laptop` is the preset `paper-laptop`, 100,000 facts for two
cores; `paper-cpu` the paper's twelve layers with a token for each name; `paper` a corpus in the paper's
proportions and 83M parameters, in `paper-fast`'s recipe; `paper-dense` the same of a denser world. Facts are
those of a folder, or without one the built-in world's; then the last three edit the model of
experiments.pretrain with the same options, and train it if it is not there.
Expected: generative accuracy of true facts at least 0.9, edit success at least 0.95 for every editor but the
controls. Besides Table 4, in today's terms and in the published ones: what follows by how many subjects share
the new object.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from corpus.config import TokenizerConfig
from experiments.command import launch_module
from experiments.measures.followed import support_table
from experiments.measures.scaled import PAPER_FACTS, ScaledOptions, name_run, scale_preset
from experiments.record import read_searches
from experiments.study import Changes, Findings, Study, Values
from testbed.evaluations.hase.published import SUBSETS, main_results, published_tables
from testbed.run.runs import Run
from testbed.scores.summary import frame_of
from testbed.scores.tables import Table

PAIRS = ("P69:P106", "P19:P27", "P31:P17", "P136:P264", "P172:P1412")
"""Relations of Wikidata and what depends on each: the paper's Table 2, but for two that few subjects have."""
CHOICES = {"frequent": PAIRS, "printed": (*PAIRS[:3], "P413:P54", "P641:P421"), "automatic": ()}
"""Pairs by how they are chosen: those of Table 2 are printed; the rest is left to appendix A.1."""
EDITORS = (
    "lora-down", "lora-all", "embeddings", "full", "rome", "memit", "in-context", "self-bayes", "count-based",
    "none", "oracle",
)  # fmt: skip
PRESETS = {
    "slice": ("small", "laptop", "laptop"),
    "laptop": ("paper-laptop", "paper-laptop", "paper-laptop"),
    "paper-cpu": ("paper-cpu", "paper-cpu", "paper-cpu"),
    "paper": ("paper", "paper-fast", "paper"),
    "paper-dense": ("paper-dense", "paper-dense", "paper-dense"),
}
"""Of corpus, training and edits at each scale."""
PRETRAINED = ("paper-cpu", "paper", "paper-dense")
"""Scales at which experiments.pretrain trains the same model."""


@dataclass(frozen=True)
class Options(ScaledOptions):
    """Where the facts are, and how much is measured."""

    path: str = ""
    """Folder in Wikidata5m's layout; without one, at a larger scale, the built-in world."""
    scale: Literal["slice", "laptop", "paper-cpu", "paper", "paper-dense"] = "laptop"
    """slice: minutes on a laptop; laptop: hours on one; paper-cpu: the paper's architecture without a GPU, as
    experiments.pretrain trains it; paper, paper-dense: with a GPU."""
    pairs: Literal["frequent", "printed", "automatic"] = "frequent"
    """Of a folder: those of the paper, two replaced by frequent ones; the paper's; its automatic choice."""
    until: float | None = None
    """Stop the training at this accuracy of facts; without it, at the last step."""
    samplers: tuple[Literal["published", "stratified"], ...] = ("published", "stratified")
    """How requests are drawn."""
    tuned: str = ""
    """The run on which testbed.tune chose all these editors' hyper-parameters; without one, the preset's."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale not in PRETRAINED and (self.fact_count != PAPER_FACTS or self.steps):
            raise ValueError(f"fact-count and steps are for the scales {' and '.join(PRETRAINED)}")
        if self.scale == "slice" and not self.path:
            raise ValueError("scale slice needs a path to a folder in Wikidata5m's layout")
        if self.pairs != "frequent" and not self.path:
            raise ValueError("pairs are of a path to a folder in Wikidata5m's layout")

    @property
    def cells(self) -> list[Values]:
        """By sampler; at the paper's scales, of the model that experiments.pretrain trains."""
        model = f"table4-{self.scale}" + f"-{self.pairs}" * (self.pairs != "frequent")
        if self.scale in PRETRAINED and not self.path:
            model = name_run(PRESETS[self.scale][1], self.fact_count)
        return [{"model": model, "sampler": sampler, "seed": self.seed} for sampler in self.samplers]


def corpus_of(cell: Values) -> Changes:
    """Facts of a folder, or of the built-in world."""
    changes: Changes = {"tokenizer": TokenizerConfig()} if cell["scale"] == "slice" else {}
    if cell["scale"] in PRETRAINED:
        recipe = PRESETS[cell["scale"]][1]
        changes["world"] = scale_preset(recipe, cell["fact_count"], cell["steps"])[0].world
    if cell["path"]:
        changes |= {"world.source": "wikidata", "world.path": cell["path"]}
        pairs = CHOICES[cell["pairs"]]
        changes |= {"world.pairs": pairs} if pairs else {"world.pairs": (), "world.dependences": "published"}
    return changes


def training_of(cell: Values) -> Changes:
    """The preset's, or a smaller one."""
    changes: Changes = {"until": cell["until"]}
    if cell["scale"] == "slice":
        changes |= {"train.steps": 1400, "train.row-length": 192}
    if cell["scale"] in PRETRAINED:
        recipe = PRESETS[cell["scale"]][1]
        changes["train"] = scale_preset(recipe, cell["fact_count"], cell["steps"])[1].train
    return changes


def make_tables(findings: Findings) -> Iterator[Table]:
    """Of each sampler Table 4 in today's terms and in the published ones, and what follows by support."""
    for sampler in findings.options.samplers:
        editors = findings.editors(sampler=sampler)
        for table in (main_results(frame_of(editors)), published_tables(editors)[0], support_table(editors)):
            yield table._replace(key=f"{table.key}-{sampler}", title=f"{table.title}: {sampler} sampler")


STUDY = Study(
    options=Options(editors=EDITORS, edits=400),
    run="{model}",
    pool=("model", "seed"),
    preset=lambda cell: PRESETS[cell["scale"]],
    corpus=corpus_of,
    train=training_of,
    edit=lambda cell: {"tuned": cell["tuned"], "hase.sampler": cell["sampler"]},
    subsets=SUBSETS,
    tables=make_tables,
    figures=lambda findings: (
        {"tuned": read_searches(Run(findings.options.runs, findings.options.tuned))}
        if findings.options.tuned
        else {}
    ),
    title=lambda options: "table4" if options.scale == "slice" else f"table4-{options.scale}",
)

if __name__ == "__main__":
    launch_module()
