"""Editable by construction: which architecture or corpus makes even a plain `lora-down` update?

Command:
    python -m experiments.architectures

Three worlds, and in each one model of every variant, of some 0.4 million parameters, trained for as many
steps. As it is: the decoder of `tiny`. Loops: its two layers are passed twice. Convolution: each layer adds
to a token's state those of the three before, weighed by channel (Canon). Tied: the head is the embedding.
Rows at tokens: each layer adds a row of its own at each token, where a name is one. Revising: of the
documents some revise a fact, imagine one, or state one and its consequence. Causes first, effects first: the
order within documents. Of what sizes cost or save, the hidden or the inner width makes up.

Every request changes what the exact agent answers about a dependent fact that nobody stated. Follows: where
two subjects or more have the new object. What should stay: independent facts of the subject, and others'.
The settings of editors are those of `experiments.kinds`. Some 90 seconds of one core for each model.
"""

from collections.abc import Iterator

from experiments.command import launch_module
from experiments.studies.kinds import CHOSEN
from experiments.study import Changes, Findings, Study, WorldOptions
from testbed.engine.results import cluster_levels
from testbed.evaluations.hase import INDEPENDENT
from testbed.evaluations.hase import metrics as m
from testbed.run.runs import read_metrics
from testbed.run.world import load_world
from testbed.scores.statistics import estimate_metric
from testbed.scores.tables import Cell, Table

FIRST = 320
"""Seed of the first world; 323 is that of development."""
REVISING: Changes = {"documents.joint": 0.15, "documents.imagine": 0.1, "documents.revise": 0.2}
VARIANTS: dict[str, tuple[Changes, Changes]] = {
    "as it is": ({}, {}),
    "loops": ({}, {"model.loops": 2}),
    "convolution": ({}, {"model.convolution": 4}),
    "tied": ({}, {"model.tied": True, "model.hidden": 141}),
    "rows at tokens": ({}, {"model.token-rows": True, "model.mlp": 155}),
    "revising": (REVISING, {}),
    "causes first": ({"documents.order": "causes"}, {}),
    "effects first": ({"documents.order": "effects"}, {}),
}
"""How corpus and model of each differ."""
SHOWN = {
    m.SUCCESS: "states it", m.FOLLOWS: "follows", m.name_at("right", INDEPENDENT): "independent facts",
    m.KEPT: "others' facts", m.DAMAGE: "damage", m.SKILL_RECALIBRATED: "coherence gained",
}  # fmt: skip
SHARED = 2
"""Subjects at least that have the new object where it counts what follows."""


def models_of(findings: Findings) -> Iterator[Table]:
    """How large each model is, and what it knows before any edit, the worlds together."""
    rows: list[list[Cell]] = []
    for variant in VARIANTS:
        cells = findings.select(variant=variant)
        sizes = [
            findings.model_of(cell)[1].model.parameters(
                load_world(findings.run_of(cell)).tokenizer.vocabulary
            )
            for cell in cells
        ]
        known = [read_metrics(findings.run_of(cell))[-1]["accuracy"] for cell in cells]
        rows.append([variant, sum(sizes) // len(sizes), sum(known) / len(known), min(known)])
    yield Table("models", "Models", ["variant", "parameters", "facts known", "in the worst world"], rows)


def found_in(findings: Findings) -> Iterator[Table]:
    """What each editor reaches in each variant, over its worlds; what follows where it has support."""
    rows: list[list[Cell]] = []
    for variant in VARIANTS:
        for one in findings.editors(variant=variant):
            results, levels = one.edits.results, cluster_levels(one.edits.results)
            among = {name: results.cases["support_new"] >= SHARED * (name == m.FOLLOWS) for name in SHOWN}
            values = one.values[one.name]
            found = [estimate_metric(values[name], levels, some) for name, some in among.items()]
            rows.append([variant, one.name, *found])
    note = "All worlds together; follows where two subjects or more have the new object."
    title = "What follows, what stays, coherence gained"
    yield Table("found", title, ["variant", "editor", *SHOWN.values()], rows, note)
    yield from models_of(findings)


STUDY = Study(
    options=WorldOptions(worlds=3, edits=24, editors=("none", "lora-down", "rome", "keyed-request")),
    cells=lambda options: [
        {"variant": variant, "seed": FIRST + i} for i in range(options.worlds) for variant in VARIANTS
    ],
    run="architectures-{variant}-{seed}",
    corpus=lambda cell: {
        "world.subjects": 100, "kind": "exact", "exact.strata": (0.5, 0.0, 0.5),
    } | VARIANTS[cell["variant"]][0],
    train=lambda cell: {
        "train.steps": 120, "train.rows": 16, "train.evaluate-every": 120, "train.checkpoint-every": 120,
    } | VARIANTS[cell["variant"]][1],
    # As many side by side as there are: every editor is compiled once.
    edit=lambda values: {
        "evaluation": "hase", "hase.edits": "upstream", "hase.changing": True, "hase.reinforce": 0.0,
        "agent": "exact", "batch-edits": values["edits"],
    } | CHOSEN,
    quick=True,
    tables=found_in,
)  # fmt: skip


if __name__ == "__main__":
    launch_module()
