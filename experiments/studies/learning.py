"""How much does a model remember, in which direction, and after how many readings?

Command:
    python -m experiments.learning

Three worlds of each kind: mean, least and most. No sentence is wrong. Takes 15 minutes of one core.

bits: what a model holds of 2,048 facts after 100 readings of each, by parameter: log2 of how much likelier
than chance (1 of 32) each is to it, summed. Net, a fact that another one implies counts by how much likelier
it is than the model's own belief about the other one makes it.
reversal: of whom does a pupil learn, where only whom the teacher teaches was stated? Chance is 1 of 200.
plateau: readings of each fact until a tenth and half of 2,048 are stated, and how many are at the end.
"""

from collections.abc import Iterator
from statistics import fmean
from typing import NamedTuple

import numpy as np

from experiments.command import launch_module
from experiments.measures import stored_facts
from experiments.measures.stored_facts import BACKWARD, OBJECTS, RELATIONS
from experiments.study import Findings, Study, Values, WorldOptions
from testbed.engine.controls.forms import ask_about_facts
from testbed.run.model import load_trained
from testbed.run.runs import Run, read_metrics
from testbed.scores.tables import Cell, Table

FIRST, STEPS = 400, 800
"""Seed of the first world that is reported; steps of each training."""


class Training(NamedTuple):
    """A class of `stored_facts`, the model's width, and the most tokens of a sentence; 6: a name is one."""

    law: str
    hidden: int
    tokens: int = 6
    subjects: int = 128
    facts: int = 2048
    readings: int = 100


def measure_bits(run: Run, cell: Values) -> Values:
    """What one model holds."""
    _, world, model, _ = load_trained(run.root, run.name)
    graph, law = world.graph, getattr(stored_facts, cell["law"])(cell["seed"], cell["subjects"])
    beliefs = ask_about_facts(model, world)
    p = np.array([beliefs[fact].p for fact in range(len(graph))]).reshape(-1, RELATIONS, OBJECTS)
    truth = np.searchsorted(graph.candidates_of(0), graph.object).reshape(*p.shape[:2], 1)
    implied = np.full_like(p, 1 / OBJECTS)
    implied[:, 1::2] = (1 - law.follows) / OBJECTS + law.follows * p[:, ::2, np.argsort(law.implied)]
    held, due = (np.take_along_axis(x, truth, 2) for x in (p, implied))
    size = model.config.parameters(model.vocabulary)
    return {
        "parameters": size, "right": (p.argmax(2) == truth[..., 0]).mean(),
        "bits": np.log2(held * OBJECTS).sum() / size, "net": np.log2(held / due).sum() / size,
    }  # fmt: skip


def measure_reversal(run: Run, _: Values) -> Values:
    """Shares of stated facts that are right, and of teachers whom only their own side names."""
    trained = load_trained(run.root, run.name)
    graph, beliefs = trained.world.graph, ask_about_facts(trained.model, trained.world)
    answers = [graph.candidates_of(int(r))[beliefs[f].p.argmax()] for f, r in enumerate(graph.relation)]
    right = np.array(answers) == graph.object
    stated = np.isin(np.arange(len(graph)), trained.world.stated_facts)
    reverse = ~stated & (graph.relation == graph.relations.index(BACKWARD))
    return {"stated": right[stated].mean(), "reversed": right[reverse].mean()}


def measure_plateau(run: Run, cell: Values) -> Values:
    """Readings to a tenth and to half of the facts, and the share at the end."""
    lines, each = read_metrics(run), cell["readings"] / STEPS
    first = [next((x["step"] for x in lines if x["accuracy"] >= y), np.nan) for y in (0.1, 0.5)]
    return {"to a tenth": first[0] * each, "to half": first[1] * each, "at the end": lines[-1]["accuracy"]}


COUPLES = {"Couples": 200, "Both": 300, "Bridge": 600, "BothAndBridge": 700}
TRAININGS = {
    measure_bits: [Training(law, width) for width in (8, 12) for law in ("Attributes", "Dependent")],
    measure_reversal: [Training(law, 64, 6, 400, facts, 200) for law, facts in COUPLES.items()],
    measure_plateau: [Training(law, 32, 16) for law in ("Attributes", "Skewed")],
}
"""By what is measured."""


def make_tables(findings: Findings) -> Iterator[Table]:
    """A table of each kind, a row a training: of each figure its mean, least and most."""
    for measure, trainings in TRAININGS.items():
        key = measure.__name__.removeprefix("measure_")
        rows: list[list[Cell]] = []
        for one in trainings:
            found = [measure(findings.run_of(cell), cell) for cell in findings.select(**one._asdict())]
            each = {name: [float(values[name]) for values in found] for name in found[0]}
            values = [f(x) for x in each.values() for f in (fmean, min, max)]
            rows.append([f"{one.law}, width {one.hidden}", *values])
        header = [f"{name}, {which}" for name in each for which in ("mean", "least", "most")]
        yield Table(key, key.capitalize(), ["world", *header], rows)


STUDY = Study(
    options=WorldOptions(worlds=3),
    cells=lambda options: [
        one._asdict() | {"seed": FIRST + i}
        for trainings in TRAININGS.values()
        for one in trainings
        for i in range(options.worlds)
    ],
    run="learning-{law}-{hidden}-{seed}",
    corpus=lambda cell: {
        "kind": "exact", "exact.noise": 1e-9, "world.source": f"{stored_facts.__name__}:{cell['law']}",
        "world.subjects": cell["subjects"], "documents.length": 1, "documents.reshuffles": 1,
        "tokenizer.vocabulary": 128, "tokenizer.kind": "entity" if cell["tokens"] == 6 else "bpe",
    },
    train=lambda cell: dict.fromkeys(("model.hidden", "model.head-width"), cell["hidden"]) | {
        "model.mlp": 2 * cell["hidden"], "model.heads": 1, "model.kv-heads": 1, "train.steps": STEPS,
        "train.rows": cell["readings"] * cell["facts"] // STEPS, "train.row-length": cell["tokens"],
        "train.packing": "document", "train.copies": (1, 0, 0, 0, 0), "train.evaluate-every": 20,
        "train.checkpoint-every": STEPS,
    },
    editors=lambda _: (),
    tables=make_tables,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
