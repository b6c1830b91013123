"""When does a verdict on one model hold for another? Rank correlation of editors between models.

Commands:
    python -m experiments.stability
    python -m experiments.stability --vary seed depth size tokenizer world

The same editors edit several models, and each metric ranks them on each model. Two models that differ in one
thing only say how far that thing matters: Kendall's tau-b of their rankings, 1 for the same order and 0 for
orders that have nothing to do with each other. What can differ:

    seed       first weights, order of the text, requests
    depth      2 layers of width 128, or 12 of width 64 (as many parameters in layers, to a third)
    size       2 layers of width 128, or of 48
    tokenizer  a token for each name, or byte pairs
    world      another world of the same make

All models are trained until the same share of facts is generated, so that none is judged by what it has not
learned. Editors stop where the request has one probability (`--strength`), so that none is ranked by how far
it was let go; `--strength None` takes them as they are. Beside these the column `cases`: one half of the
cases against the other on the same model, which is how well as few cases can agree at all.

Intervals are percentiles of a bootstrap over subjects and requested objects (each case weighs as often as
both were drawn; Owen 2007); they are over cases, not over models, of which there are too few: the table has
the range over pairs of models instead. Resampled rankings agree less than the rankings themselves where
editors are close, so intervals reach further down than up.

The default is three seeds of two depths and takes half an hour of two cores.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from experiments.command import launch_module
from experiments.measures.agreement import stability_table
from experiments.study import Changes, Study, Values, WorldOptions
from lm.config import ModelConfig

EDITORS = (
    "lora-down", "embeddings", "full-early", "full-late", "ft-constrained", "rome", "in-context",
    "self-bayes",
)  # fmt: skip
Factor = Literal["seed", "depth", "size", "tokenizer", "world"]
BASE = {"seed": 0, "depth": 2, "size": 128, "tokenizer": "entity", "world": 0}
OTHER: Mapping[str, tuple[Any, ...]] = {"depth": (12,), "size": (48,), "tokenizer": ("bpe",), "world": (1, 2)}
"""What else a factor can be; of seeds there are as many as one asks for."""


@dataclass(frozen=True)
class Options(WorldOptions):
    """What differs between models, and how much is measured on each."""

    vary: tuple[Factor, ...] = ("seed", "depth")
    """What differs. Seeds and depths go with each other; of the rest each value is one more model."""
    strength: float | None = 0.9
    """Probability of the request at which every edit stops."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.editors) < 3:
            raise ValueError("there must be 3 editors to rank")

    @property
    def cells(self) -> list[Values]:
        """All models: every seed with every depth, and one for each other value of the rest."""
        depths = (2, *OTHER["depth"]) if "depth" in self.vary else (2,)
        seeds = range(self.worlds if "seed" in self.vary else 1)
        crossed = [BASE | {"seed": seed, "depth": depth} for seed in seeds for depth in depths]
        rest = sorted({*self.vary} - {"seed", "depth"})
        return [*crossed, *(BASE | {factor: value} for factor in rest for value in OTHER[factor])]


def training_of(cell: Values) -> Changes:
    """Layers; those of a deep model are half as wide."""
    width = cell["size"] if cell["depth"] == 2 else cell["size"] // 2
    shape = ModelConfig(
        hidden=width, mlp=2 * width, layers=cell["depth"], heads=2, kv_heads=2,
        head_width=width // 2, unroll=2 if cell["depth"] == 2 else 1,
    )  # fmt: skip
    return {"model": shape, "train.steps": 600, "until": 0.95}


def pairs_by_factor(cells: Sequence[Values]) -> dict[str, list[tuple[int, int]]]:
    """By factor, the pairs of models that differ in nothing else."""
    by_factor: dict[str, list[tuple[int, int]]] = {}
    for (i, a), (j, b) in itertools.combinations(enumerate(cells), 2):
        differ = [name for name in BASE if a[name] != b[name]]
        if len(differ) == 1:
            by_factor.setdefault(differ[0], []).append((i, j))
    return by_factor


STUDY = Study(
    options=Options(worlds=3, editors=EDITORS, edits=80),
    run="stability-seed{seed}-{depth}x{size}-{tokenizer}-world{world}",
    pool=(),
    corpus=lambda cell: {
        "seed": cell["world"], "tokenizer.kind": cell["tokenizer"],
    },
    train=training_of,
    edit=lambda cell: {"strength": cell["strength"]},
    tables=lambda findings: [stability_table(findings, pairs_by_factor(findings.cells))],
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
