"""LEME (Rosati et al. 2024) whole: what does an edited model write, and which change was warranted?

Command:
    python -m experiments.leme

Worlds of coupled pairs, of three seeds and three strengths of the coupling, each with its own corpus, model
and edits; injections and updates apart.
"""

from itertools import product
from typing import Any

from experiments.command import launch_module
from experiments.study import Findings, SlowOptions, Study
from testbed.evaluations.leme.correlation import correlate_measures
from testbed.evaluations.leme.metrics import CORRECTION, INJECTION, METRICS, UPDATE
from testbed.scores.metric import metrics_shown_in
from testbed.scores.views import View

STRENGTHS = (1.0, 0.5, 0.0)
"""Probability that a coupled entity has the same object."""


def correlations(findings: Findings) -> dict[str, Any]:
    """By strength, how each short measure goes with each long one."""
    found = {}
    for strength in STRENGTHS:
        editors = findings.editors(strength=strength)
        related = correlate_measures(editors, editors[0].edits.seed)
        found[f"strength {strength}"] = {
            f"{short} with {long}": one for (short, long), one in related.items()
        }
    return {"correlations": found}


STUDY = Study(
    options=SlowOptions(
        worlds=3, edits=40,
        editors=("none", "full", "ft-constrained", "mend", "rome", "memit", "lora-down", "in-context",
                 "in-context, closed", "self-bayes"),
    ),
    cells=lambda options: [{"strength": s, "seed": i} for s, i in product(STRENGTHS, range(options.worlds))],
    run="leme-{strength:.1f}-{seed}",
    preset="leme",
    corpus=lambda cell: {"world.coupled.strength": cell["strength"]},
    # Contexts in the document before that of the passage, beside those in the same.
    variants={"in-context, closed": ("in-context", {"in-context.closed": True})},
    slow=("self-bayes",),
    subsets=(INJECTION, UPDATE, CORRECTION),
    views=[
        View(f"leme-{strength}", f"Couplings of strength {strength}", metrics_shown_in(METRICS, "compared"),
             who=("editor", "reference"), where={"strength": strength})
        for strength in STRENGTHS
    ],
    figures=correlations,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
