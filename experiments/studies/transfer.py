"""Does a verdict on half a million parameters hold for 83 million? Rankings of editors at four sizes.

Commands:
    python -m experiments.transfer
    python -m experiments.transfer --sizes 0.4M 5M 20M 83M --seeds 3 3 1 1   (with a GPU)

The same editors edit models of four sizes at equal strength, and each metric ranks them on each. `self-bayes`
is left out: one edit takes minutes on the larger models. The smallest model reads the demo's world of 900
facts; those of 5 and 20 million parameters 10,000 facts, the paper's world in its proportions; the largest is
the paper's, of 83 million, which experiments.pretrain trains to 100,000 facts. Small ones have several seeds,
each with a world of its own. Kendall's tau-b says how far two sizes agree; beside it stand two seeds of one
size, and two halves of one model's cases, which is as well as so few cases can agree. A last table asks at
each size whether two editors come in the order that a paper printed.

Hyper-parameters are the presets': those of two layers up to 5 million parameters, those of twelve above.
Without the largest it takes about an hour and a half of one core.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from experiments.command import launch_module
from experiments.measures.agreement import CASES, rank_agreement
from experiments.measures.scaled import PAPER_FACTS, name_run, scale_preset
from experiments.study import Changes, Findings, Study, StudyOptions, Values
from lm.config import ModelConfig
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, METRICS
from testbed.scores.metric import metrics_shown_in
from testbed.scores.statistics import rank_values
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table, better_of

EDITORS = ("lora-down", "embeddings", "full-early", "full-late", "ft-constrained", "rome", "in-context")
SizeName = Literal["0.4M", "5M", "20M", "83M"]
PRESETS = {
    "0.4M": ("tiny", "tiny", "tiny"),
    "5M": ("paper-cpu", "paper-cpu", "paper-laptop"),
    "20M": ("paper-cpu", "paper-cpu", "paper-cpu"),
    "83M": ("paper-dense", "paper-dense", "paper-dense"),
}
"""Of corpus, training and edits."""
MIDDLE = {
    "5M": ModelConfig(hidden=256, mlp=768, layers=4, heads=4, kv_heads=4, precision="fastest", unroll=4),
    "20M": ModelConfig(hidden=384, mlp=1280, layers=8, heads=6, kv_heads=6, precision="fastest", unroll=8),
}
"""Models of worlds of FACTS, which are learned in STEPS, as experiments.pretrain has it, or until UNTIL."""
FACTS, STEPS, UNTIL = 10_000, 300, 0.93
PRINTED = {
    ("in-context", "rome"): (FOLLOWS, "TAXI, Table 2: consistency 0.47, 0.43"),
    ("rome", "ft-constrained"): (FOLLOWS, "TAXI, Table 2: consistency 0.43, 0.23"),
    ("in-context", "ft-constrained"): (FOLLOWS, "TAXI, Table 2: consistency 0.47, 0.23"),
    ("lora-down", "embeddings"): (DAMAGE, "Hase, Tables 4 and 7: accuracy s2r1 0.91, 0.75"),
}
"""Pairs of editors, the better first, our metric, and what was printed."""


@dataclass(frozen=True)
class Options(StudyOptions):
    """Which sizes, and how much is measured on each."""

    sizes: tuple[SizeName, ...] = ("0.4M", "5M", "20M")
    """Sizes of models; 83M needs a GPU, or its run in the folder of runs."""
    seeds: tuple[int, ...] = (3, 3, 1)
    """Models of each of these sizes."""
    strength: float = 0.9
    """Probability of the request at which every edit stops."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.editors) < 3:
            raise ValueError("there must be 3 editors to rank")
        if len(self.sizes) < 2:
            raise ValueError("there must be 2 sizes to compare")
        if len(self.seeds) != len(self.sizes) or min(self.seeds) < 1:
            raise ValueError(f"seeds are a positive number for each size; they are {self.seeds}")

    @property
    def cells(self) -> list[Values]:
        """All models: of every size as many as there are seeds. The largest is experiments.pretrain's."""
        return [
            {"size": size, "seed": seed, "model": name_run("paper-dense", PAPER_FACTS) if size == "83M"
             else f"transfer-{size}-{seed}"}
            for size, models in zip(self.sizes, self.seeds, strict=True)
            for seed in range(models)
        ]  # fmt: skip


def corpus_of(cell: Values) -> Changes:
    """The preset's, or the paper's world in its proportions."""
    is_scaled = cell["size"] in MIDDLE
    return {"world": scale_preset("paper-cpu", FACTS, STEPS)[0].world} if is_scaled else {}


def training_of(cell: Values) -> Changes:
    """The preset's, or a model of its own of such a world."""
    if cell["size"] not in MIDDLE:
        return {}
    recipe = scale_preset("paper-cpu", FACTS, STEPS)[1]
    return {"train": recipe.train, "model": MIDDLE[cell["size"]], "until": UNTIL}


def pair_sizes(cells: Sequence[Values]) -> dict[str, list[tuple[int, int]]]:
    """By what differs, pairs of models by their places: every two sizes, and the seeds of each."""
    pairs: dict[str, list[tuple[int, int]]] = {}
    for (i, a), (j, b) in itertools.combinations(enumerate(cells), 2):
        one, other = a["size"], b["size"]
        factor = f"{one} against {other}" if one != other else f"seeds of {one}"
        pairs.setdefault(factor, []).append((i, j))
    return pairs


def make_tables(findings: Findings) -> Iterator[Table]:
    """How far rankings agree between sizes, and how many models of each have a printed order."""
    options, names = findings.options, metrics_shown_in(METRICS, "compared")
    by_model = {cell["model"]: findings.editors(model=cell["model"]) for cell in findings.cells}
    taus = {name: rank_agreement(by_model, name, pair_sizes(findings.cells)) for name in names}
    rows: list[list[Cell]] = [[name, *of.values()] for name, of in taus.items()]
    title = f"Kendall's tau-b of {len(options.editors)} editors between sizes"
    note = (
        f"Editors at a strength of {options.strength:g}, {options.edits} edits of each model. ± is half of a "
        f"95% interval over cases, and a mean is over pairs of seeds. `{CASES}`: halves of one model's cases."
    )
    yield Table("transfer", title, ["metric", *taus[names[0]]], rows, note)
    rows = []
    for (better, worse), (metric, source) in PRINTED.items():
        counts: list[Cell] = []
        for size in options.sizes:
            of_size = [by_model[cell["model"]] for cell in findings.select(size=size)]
            leads = [
                lead for editors in of_size if (lead := lead_of(editors, better, worse, metric)) is not None
            ]
            counts.append(f"{sum(lead > 0 for lead in leads)} of {len(leads)}" if leads else None)
        rows.append([f"{better} before {worse}", metric, source, *counts])
    header = ["order", "metric", "printed", *options.sizes]
    yield Table("printed", "Models that put two editors in the printed order", header, rows, words=3)


def lead_of(editors: Sequence[ScoredEditor], better: str, worse: str, metric: str) -> float | None:
    """By how much one editor is better than another by a metric; None where one of them is not there."""
    values = {one.edits.editor: one.frame.cell(metric, one.name).value for one in editors}
    if not {better, worse} <= values.keys():
        return None
    pair = np.array([values[better], values[worse]])
    first, second = rank_values(pair, better_of(editors[0].evaluation.metrics)[metric]).tolist()
    return first - second


STUDY = Study(
    options=Options(editors=EDITORS, edits=80),
    run="{model}",
    pool=(),
    preset=lambda cell: PRESETS[cell["size"]],
    corpus=corpus_of,
    train=training_of,
    edit=lambda cell: {"strength": cell["strength"]},
    tables=make_tables,
)

if __name__ == "__main__":
    launch_module()
