"""Whose world is it? The same editors in worlds whose facts depend on each other in different ways.

Command:
    python -m experiments.kinds

Ten worlds of each kind (docs/kinds.md), and of the built-in one, `home`, where a relation depends on one
other, as `keyed` supposes, and half of the dependent facts are silent. Settings are the presets'.
Follows: where two subjects or more have the new object. Decisions: of the pairs of editors that surely differ
in one kind, the share that another kind orders alike. Worlds come in turn, so that fewer (`--worlds 6`) are
there first. Takes about an hour of one core.
"""

from collections.abc import Iterator

from experiments.command import launch_module
from experiments.measures.agreement import decision_accuracy
from experiments.study import Findings, Study, WorldOptions
from testbed.evaluations.kinds import metrics as m
from testbed.scores.frame import EDITOR
from testbed.scores.readers import BAYESIAN
from testbed.scores.tables import Cell, Table
from testbed.scores.views import Column, View

LAWS = ("home", "types", "joint", "roles")
FIRST = 300
"""The first seed; development has others."""
SHARED = {"subset": "new object of 2 or more"}
SHOWN = (
    Column(m.FOLLOW, where=SHARED), m.FOLLOW_OTHERS, m.STAY_STATED, m.STAY_SILENT, m.KEPT, m.TV_OWN,
    m.SKILL_RECALIBRATED,
)  # fmt: skip
WHO = (EDITOR, BAYESIAN)


def tables_of(findings: Findings) -> Iterator[Table]:
    """Which orders carry over between kinds, by what follows and by coherence gained."""
    for metric, subset in ((m.FOLLOW, SHARED["subset"]), (m.SKILL_RECALIBRATED, "all")):
        by_law = {
            law: {one.name: one.frame.cell(metric, one.name, subset) for one in findings.editors(law=law)}
            for law in LAWS
        }
        rows: list[list[Cell]] = []
        for law, large in by_law.items():
            shares = [decision_accuracy(small, large)[0] for small in by_law.values()]
            rows.append([law, decision_accuracy(large, large)[1], *shares])
        head = ["surely differ in", "pairs", *LAWS]
        yield Table(f"decisions-{metric}", f"Ordered alike, by {metric}", head, rows)


STUDY = Study(
    options=WorldOptions(
        worlds=10, edits=24,
        editors=("none", "lora-down", "embeddings", "rome", "keyed-request", "keyed", "keyed-counting"),
    ),
    cells=lambda options: [
        {"law": law, "seed": FIRST + i} for i in range(options.worlds) for law in LAWS
    ],
    run="kinds-{law}-{seed}",
    preset=lambda cell: "tiny" if cell["law"] == "home" else cell["law"],
    corpus=lambda cell: {"world.subjects": 100} | (
        {"kind": "exact", "exact.strata": (0.5, 0.0, 0.5)} if cell["law"] == "home" else {}
    ),
    train=lambda _: {
        "train.steps": 120, "train.rows": 16, "train.evaluate-every": 60, "train.checkpoint-every": 120,
    },
    edit=lambda _: {"evaluation": "kinds", "agent": "exact"},
    subsets=(SHARED["subset"], "answers change", "no answer changes"),
    views=[
        *(View(f"in-{law}", f"In worlds of kind {law}", SHOWN, who=WHO, where={"law": law}, ranked=True)
          for law in LAWS),
        *(View(metric, f"{metric}, by kind", [Column(metric, law, {"law": law, **where}) for law in LAWS],
               who=WHO, ranked=True)
          for metric, where in ((m.FOLLOW, SHARED), (m.STAY_SILENT, {}), (m.SKILL_RECALIBRATED, {}))),
    ],
    tables=tables_of,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
