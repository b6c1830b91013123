"""LEME (Rosati et al. 2024) whole: what does an edited model write, and which change was warranted?

Command:
    python -m experiments.leme
    python -m experiments.leme --path FOLDER_IN_WIKIDATA5M_LAYOUT --worlds 3

Worlds of coupled pairs, of three seeds and three strengths of the coupling, each with its own corpus, model
and edits; injections and updates apart. With a folder couples are real, another sample for each seed.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

from experiments.command import launch_module
from experiments.study import Findings, SlowOptions, Study, Values
from testbed.evaluations.leme.correlation import correlate_measures
from testbed.evaluations.leme.metrics import CORRECTION, INJECTION, METRICS, UPDATE
from testbed.scores.metric import metrics_shown_in
from testbed.scores.views import View

STRENGTHS = (1.0, 0.5, 0.0)
"""Probability that a coupled entity has the same object."""
REAL = "real"
"""In its place, where couples are those of a folder."""


@dataclass(frozen=True)
class Options(SlowOptions):
    """The same, of generated couples or of real ones."""

    path: str = ""
    """Folder in Wikidata5m's layout that real couples come from."""

    @property
    def cells(self) -> list[Values]:
        """A world of every strength for each seed, or of real couples."""
        strengths = (REAL,) if self.path else STRENGTHS
        return [{"strength": s, "seed": i} for s, i in product(strengths, range(self.worlds))]


def correlations(findings: Findings) -> dict[str, Any]:
    """By strength, how each short measure goes with each long one."""
    found = {}
    for strength in dict.fromkeys(cell["strength"] for cell in findings.cells):
        editors = findings.editors(strength=strength)
        related = correlate_measures(editors, editors[0].edits.seed)
        found[f"strength {strength}"] = {
            f"{short} with {long}": one for (short, long), one in related.items()
        }
    return {"correlations": found}


STUDY = Study(
    options=Options(
        worlds=3, edits=40,
        editors=("none", "full", "ft-constrained", "mend", "rome", "memit", "lora-down", "in-context",
                 "in-context, closed", "self-bayes"),
    ),
    run="leme-{strength}-{seed}",
    preset="leme",
    corpus=lambda cell: (
        {"world.path": cell["path"]} if cell["path"] else {"world.coupled.strength": cell["strength"]}
    ),
    # Contexts in the document before that of the passage, beside those in the same.
    variants={"in-context, closed": ("in-context", {"in-context.closed": True})},
    slow=("self-bayes",),
    subsets=(INJECTION, UPDATE, CORRECTION),
    views=[
        View("leme", "What is written", metrics_shown_in(METRICS, "compared"),
             rows={"strength": "couplings", "reader": "editor"}, who=("editor", "reference"))
    ],
    figures=correlations,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
