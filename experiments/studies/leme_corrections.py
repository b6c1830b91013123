"""LEME: is a correction another thing to write about than an update or an injection?

Command:
    python -m experiments.leme_corrections

A third of the samples of Rosati et al. 2024 correct what a model has wrong. Here the corpus states a tenth
of the facts from which couplings start wrongly, and all that depends on them as it is, so that a model
contradicts itself until it is corrected. A third of the edits are corrections to the truth, a third
injections of what was never stated, a third updates of what was stated truly. Facts that stay are judged
under both interpretations: the world changed, or what was stated is wrong, which a correction means.
"""

from experiments.command import launch_module
from experiments.measures.corrections import KINDS, correction_tables
from experiments.study import Study, WorldOptions

PLANTED = 0.1
"""Share of the facts from which couplings start that the corpus states wrongly."""

STUDY = Study(
    options=WorldOptions(worlds=3, editors=("none", "full", "rome", "memit", "lora-down"), edits=30),
    cells=lambda options: [{"seed": 1 + seed} for seed in range(options.worlds)],
    run="leme-corrections-{seed}",
    preset="leme",
    corpus=lambda _: {"exact.planted": PLANTED},
    edit=lambda _: {"leme.injections": 1 / 3, "leme.corrections": 1 / 3},
    subsets=KINDS,
    tables=lambda findings: correction_tables(findings.editors()),
)

if __name__ == "__main__":
    launch_module()
