"""LEME: does an editor that states its edit more write less truth? Each editor at several strengths.

Command:
    python -m experiments.leme_strength

Rosati et al. 2024 compare editors, each as strong as it is. Here the same edits are made at several
probabilities of the request (`lm.editors.strength`), in the worlds and models of experiments.rater, so that
stating the edit more is told from being another editor: within each editor of each world, how much truth do
the passages lose as they state the edit more? Intervals are over subjects of all worlds, which are drawn
again together with all that was measured of them.

A second table has each editor as it is, with and without the outline that the paper's prompts give.
"""

from experiments.command import launch_module
from experiments.measures.slopes import TRUTHS, slope_table
from experiments.study import Study, WorldOptions
from testbed.evaluations.leme.metrics import EDIT_SUBJECT
from testbed.scores.views import View

STRENGTHS = (0.1, 0.3, 0.6, 0.9)
"""Probabilities of the request."""
WAYS = [("no", None), ("yes", None), *(("no", strength) for strength in STRENGTHS)]
"""Whether passages are outlined, and how strong edits are; None is as editors are."""

STUDY = Study(
    options=WorldOptions(worlds=3, editors=("full", "rome", "memit", "lora-down"), edits=30),
    cells=lambda options: [
        {"outline": outline, "strength": strength, "seed": 1 + seed}
        for seed in range(options.worlds)
        for outline, strength in WAYS
    ],
    run="rater-{seed}",
    preset="leme",
    edit=lambda cell: {"strength": cell["strength"], "leme.outline": cell["outline"] == "yes"},
    # No edit has no strength.
    editors=lambda cell: cell["editors"] if cell["strength"] else ("none", *cell["editors"]),
    views=[
        View("strengths", "Passages by strength, outlined or not", (EDIT_SUBJECT, *TRUTHS),
             rows={"reader": "editor", "strength": "strength", "outline": "outlined"}),
    ],
    tables=lambda findings: [slope_table(findings, STRENGTHS)],
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
