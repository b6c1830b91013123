"""Damage and propagation at equal strength: every editor stops where the request is as probable.

Command:
    python -m experiments.strength --run demo

Each editor edits the same facts of a run's model, once for each strength: the probability of the request at
which its edits are cut short, or stretched up to four times (`lm.editors.strength`). Editors that add nothing
to the model have no such dial, and stand once, where they are. The table has each metric whose name contains
one of `--show`, and what was reached: the mean probability that the request then has, and the share of edits
whose request came within .02 of the strength, or beyond it. Requests that repeat the truth are left out: the
model says most of them without an edit. Needs a trained run, such as the demo's; takes about a minute of one
core for each editor there.
"""

from dataclasses import dataclass

from experiments.command import launch_module
from experiments.measures.equal_strength import strength_table
from experiments.study import Study, StudyOptions, Values

EDITORS = (
    "lora-down", "lora-all", "embeddings", "full", "full-early", "full-late", "ft-constrained", "rome",
    "memit", "mend", "in-context", "grace", "context-distillation", "self-bayes", "count-based", "oracle",
)  # fmt: skip
NO_DIAL = ("in-context", "grace")


SHOWN = ("damage", "harm", "spill", "propagation", "skill", "coherence")
"""Parts of the names of metrics that are shown."""


@dataclass(frozen=True)
class Options(StudyOptions):
    """Which editors, at which strengths, on which run."""

    run: str = "demo"
    """Name of a trained run."""
    strengths: tuple[float, ...] = (0.5, 0.9, 0.99)
    """Probabilities of the request."""

    @property
    def cells(self) -> list[Values]:
        """Each strength; and None, for editors without a dial."""
        return [{"strength": one, "seed": 0, "is_made": True} for one in (*self.strengths, None)]


STUDY = Study(
    options=Options(editors=EDITORS, edits=120),
    run="{run}",
    edit=lambda cell: {"strength": cell["strength"], "hase.reinforce": 0.0},
    editors=lambda cell: [n for n in cell["editors"] if (n in NO_DIAL) == (cell["strength"] is None)],
    tables=lambda findings: [strength_table(findings, SHOWN)],
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
