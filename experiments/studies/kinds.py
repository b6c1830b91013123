"""Is the best editor at home the best elsewhere? The same editors in worlds of other kinds.

Command:
    python -m experiments.kinds

Ten worlds of each kind (docs/kinds.md), and of the built-in one, `home`, where a relation depends on one
other, as `keyed` supposes, and half of the dependent facts are silent. Every editor that has a dial has one
of four settings, the preset among them, chosen on 12 edits in a world of types and one of joint causes of
which nothing is reported: among settings that state as many requests as the best, within .02, the one whose
distance to gold over the subject's own facts, mean of both worlds, is least (`--development --edits 12`).
`keyed, learned` is `keyed` that concludes by a network that learned to revise.
Follows: where two subjects or more have the new object. Decisions: of the pairs of editors that surely differ
in one kind, the share that another kind orders alike. Worlds come in turn, so that fewer (`--worlds 6`) are
there first: some 100 seconds of one core each.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from experiments.command import launch_module
from experiments.measures.agreement import decision_table
from experiments.study import Changes, Findings, Study, Values, WorldOptions
from testbed.evaluations.kinds import metrics as m
from testbed.scores.frame import EDITOR
from testbed.scores.readers import BAYESIAN
from testbed.scores.tables import Cell, Table
from testbed.scores.views import Column, View

LAWS = ("home", "types", "joint", "roles", "colleges", "press")
FIRST, DEVELOPMENT = 300, 290
"""Seeds of what is reported, from the first on, and of the worlds in which settings are chosen."""
DEVELOPMENT_LAWS = ("types", "joint")
TRIED = {
    "lora-down": ("learning-rate", (1e-4, 3e-4, 1e-3, 3e-3)),
    "embeddings": ("learning-rate", (1e-3, 3e-3, 1e-2, 3e-2)),
    "full-early": ("learning-rate", (1e-3, 3e-3, 1e-2, 3e-2)),
    "ft-constrained": ("radius", (0.1, 0.5, 2.0, 8.0)),
    "rome": ("farthest", (1.0, 2.0, 4.0, 8.0)),
    "keyed-request": ("fit.learning-rate", (0.015, 0.03, 0.06, 0.12)),
    "keyed": ("sharpness", (0.5, 1.0, 2.0, 4.0)),
    "keyed-counting": ("majority", (0.25, 0.4, 0.5, 0.8)),
}
"""By editor an option and its values."""
SETTINGS: dict[str, tuple[str, Changes]] = {
    f"{name} {value:g}": (name, {f"{name}.{option}": value})
    for name, (option, values) in TRIED.items() for value in values
}  # fmt: skip
LEARNED = "keyed, learned"
VARIANTS = SETTINGS | {LEARNED: ("keyed", {"keyed.asks": "learned"})}
CHOSEN: Changes = {
    "lora-down.learning-rate": 1e-3, "embeddings.learning-rate": 1e-3,
    "full-early.learning-rate": 1e-2, "ft-constrained.radius": 0.5, "rome.farthest": 1.0,
    "keyed-request.fit.learning-rate": 0.015, "keyed.sharpness": 2.0, "keyed-counting.majority": 0.8,
}  # fmt: skip
"""Of these, as `python -m experiments.kinds --development --edits 12` chose."""
SHARED = {"subset": "new object of 2 or more"}
SHOWN = (
    Column(m.FOLLOW, where=SHARED), m.FOLLOW_OTHERS, m.STAY_STATED, m.STAY_SILENT, m.KEPT, m.TV_OWN,
    m.SKILL_RECALIBRATED,
)  # fmt: skip
WHO = (EDITOR, BAYESIAN)
ENOUGH = 0.02
"""So much less than the best setting may a setting state."""


@dataclass(frozen=True)
class Options(WorldOptions):
    """Worlds, or the search for settings."""

    development: bool = False
    """Try all settings in the worlds of development instead."""


def list_cells(options: Options) -> list[Values]:
    """Every model: a world of each kind in turn, or two worlds of development."""
    if options.development:
        return [{"law": law, "seed": DEVELOPMENT} for law in DEVELOPMENT_LAWS]
    return [{"law": law, "seed": FIRST + i} for i in range(options.worlds) for law in LAWS]


def tables_of(findings: Findings) -> Iterator[Table]:
    """Which orders carry over between kinds, by what follows and by coherence gained; or what is chosen."""
    if findings.options.development:
        yield choose_settings(findings)
        return
    for metric, subset in ((m.FOLLOW, SHARED["subset"]), (m.SKILL_RECALIBRATED, "all")):
        by_law = {
            law: {one.name: one.frame.cell(metric, one.name, subset) for one in findings.editors(law=law)}
            for law in LAWS
        }
        yield decision_table(by_law, metric)


def choose_settings(findings: Findings) -> Table:
    """What every setting states and how near gold it comes, mean of the worlds, and which one is chosen."""
    rows: list[list[Cell]] = []
    for name, (_, values) in TRIED.items():
        found = []
        for value in values:
            cells = [
                [findings.frame.cell(metric, f"{name} {value:g}", law=law).value for law in DEVELOPMENT_LAWS]
                for metric in (m.SUCCESS, m.TV_OWN)
            ]
            found.append([sum(pair) / len(pair) for pair in cells])
        most = max(states for states, _ in found)
        best = min(far for states, far in found if states >= most - ENOUGH)
        for value, (states, far) in zip(values, found, strict=True):
            rows.append([name, f"{value:g}", states, far, "chosen" if far == best else ""])
    return Table("tried", "Settings", ["editor", "setting", "states", "distance, own facts", ""], rows)


STUDY = Study(
    options=Options(
        worlds=10, edits=24,
        editors=("none", "in-context", *TRIED, LEARNED),
    ),
    cells=list_cells,
    run="kinds-{law}-{seed}",
    preset=lambda cell: "tiny" if cell["law"] == "home" else cell["law"],
    corpus=lambda cell: {"world.subjects": 100} | (
        {"kind": "exact", "exact.strata": (0.5, 0.0, 0.5)} if cell["law"] == "home" else {}
    ),
    train=lambda _: {
        "train.steps": 120, "train.rows": 16, "train.evaluate-every": 60, "train.checkpoint-every": 120,
    },
    # As many side by side as there are: every editor is compiled once.
    edit=lambda values: {
        "evaluation": "kinds", "agent": "exact", "batch-edits": values["edits"]
    } | CHOSEN,
    editors=lambda values: [*SETTINGS] if values["development"] else values["editors"],
    variants=VARIANTS,
    quick=True,
    subsets=(SHARED["subset"], "answers change", "no answer changes"),
    views=[
        *(View(f"in-{law}", f"In worlds of kind {law}", SHOWN, who=WHO, where={"law": law}, ranked=True)
          for law in LAWS),
        *(View(metric, f"{metric}, by kind", [Column(metric, law, {"law": law, **where}) for law in LAWS],
               who=WHO, ranked=True)
          for metric, where in (
              (m.FOLLOW, SHARED), (m.STAY_STATED, {}), (m.STAY_SILENT, {}), (m.TV_OWN, {}),
              (m.SKILL_RECALIBRATED, {}))),
    ],
    tables=tables_of,
    title=lambda options: "kinds-development" if options.development else "",
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
