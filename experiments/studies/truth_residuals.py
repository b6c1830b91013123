"""Does an edit break the laws of truth more, in a model that has learned what "true" and "false" mean?

Command:
    python -m experiments.truth_residuals

Hase et al. 2024 find that an edit makes p("s r o" is true) differ more from p(o | s, r) than before (their
residual TF: .40 to .52 for LoRA). Each world has two models, which read the same corpus: one by the demo's
recipe, of which labels stay half learned, and one that reads labelled sentences oftener and weighs labels
more. Requests are drawn by the paper's sampler and edited with the demo's settings; residuals are in the
paper's definitions (A.5). About three minutes of one core a world.
"""

from experiments.command import launch_module
from experiments.measures.truth_laws import truth_tables
from experiments.study import Study, WorldOptions

RECIPES = {
    "as the demo": {},
    "labels oftener": {
        "train.steps": 500, "train.learning-rate": 0.01, "train.atomic-steps": 80,
        "train.copies": (1, 3, 4, 4, 4), "train.label-weight": 10.0,
    },
}  # fmt: skip
"""By name: what differs from the demo's training. Looked at on the world of seed 1000 alone."""


STUDY = Study(
    options=WorldOptions(worlds=10, editors=("lora-down", "lora-all", "embeddings", "full"), edits=80),
    cells=lambda options: [
        {"recipe": recipe, "number": number, "seed": 1 + seed}
        for seed in range(options.worlds)
        for number, recipe in enumerate(RECIPES)
    ],
    run="truth-residuals-{number}-{seed}",
    train=lambda cell: RECIPES[cell["recipe"]],
    edit=lambda _: {"hase.sampler": "published"},
    tables=lambda findings: truth_tables(findings, tuple(RECIPES)),
)

if __name__ == "__main__":
    launch_module()
