"""Why do edits propagate in small models and not at the paper's size? Four differences, each by itself.

Command:
    python -m experiments.size_factors

Eight models of one shape (some 4 million parameters) are half of all combinations of FACTORS, such that the
effect of each is apart from every pair of others; `--halves 2` adds the other half. Worlds have one share of
objects to subjects, so that support is alike. Each edit stops where its request has a probability of .9. Some
two hours of one core for a half.

Readable: how well the edited relation is read from the state at the last token of the name, of subjects that
the reading was not fitted to (`read_causes`). Right: facts that the model states before any edit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import pandas as pd
from statsmodels.formula.api import ols

from corpus.config import DocumentConfig, TokenizerConfig
from experiments.command import launch_module
from experiments.measures.laws import read_causes, read_effect
from experiments.measures.scaled import PAPER_FACTS, scale_world
from experiments.study import Changes, Findings, Study, StudyOptions, Values
from testbed.evaluations.hase import metrics as m
from testbed.presets import DENSE_WORLD, PAPER_WORDS, SHORT_DOCUMENTS, TRAIN
from testbed.run.model import load_model
from testbed.run.runs import read_metrics
from testbed.run.world import load_world
from testbed.scores.tables import Cell, Table
from testbed.scores.views import View

FACTORS = {
    "documents": ("three sentences", "ten sentences"),
    "names": ("one token", "byte pairs"),
    "facts": (1_500, 4_500),
    "training": ("statements first", "all at once"),
}
"""The levels of small worlds and the paper's."""
STEPS = {"statements first": 0.05, "all at once": 0.08}
"""Optimiser steps for each fact."""
SLOW = ("ten sentences", "byte pairs", 1_500, "statements first")
"""This model knew 0.55 of its facts after so many, others 0.92 or more: it takes twice as many."""
EDITORS = ("embeddings", "full-early", "lora-down", "keyed-request")
SHOWN = (m.SUCCESS, m.RATIO, m.FOLLOWS, m.KEPT, m.DAMAGE)


@dataclass(frozen=True)
class Options(StudyOptions):
    """How many models."""

    halves: int = 1
    """Halves of the combinations: 1 or 2."""

    @property
    def cells(self) -> list[Values]:
        """An even number of the paper's levels comes first, an odd one after."""
        levels = list(product((0, 1), repeat=len(FACTORS)))
        order = sorted(levels, key=lambda of: sum(of) % 2)[: self.halves * len(levels) // 2]
        return [{f: FACTORS[f][i] for f, i in zip(FACTORS, of, strict=True)} | {"seed": 1} for of in order]


def corpus_of(cell: Values) -> Changes:
    """Documents, names, and how many facts."""
    is_long, is_split = cell["documents"] == "ten sentences", cell["names"] == "byte pairs"
    return {
        "world": scale_world(DENSE_WORLD, cell["facts"]),
        "documents": DocumentConfig() if is_long else SHORT_DOCUMENTS,
        "tokenizer": PAPER_WORDS if is_split else TokenizerConfig(),
    }


def training_of(cell: Values) -> Changes:
    """The recipe of `paper-cpu`, in which statements come first and oftener, or all sentences at once."""
    steps, recipe = round(STEPS[cell["training"]] * cell["facts"]), TRAIN["paper-cpu"].train
    steps *= 2 if tuple(map(cell.get, FACTORS)) == SLOW else 1
    first = round(recipe.atomic_steps * cell["facts"] / PAPER_FACTS)
    shared = {"steps": steps, "rows": 16, "row_length": 320, "evaluate_every": 50, "checkpoint_every": 100}
    if cell["training"] == "statements first":
        train = replace(recipe, **shared, atomic_steps=first)
    else:
        train = replace(recipe, **shared, atomic_steps=0, copies=(), label_weight=1.0)
    shape = {"hidden": 256, "mlp": 768, "layers": 4, "heads": 4, "kv-heads": 4, "unroll": 4}
    return {"train": train} | {f"model.{name}": value for name, value in shape.items()}


def tables_of(findings: Findings) -> Iterator[Table]:
    """Each model with what was found in it, and what each factor changes."""
    rows = []
    for cell in findings.cells:
        row, run = {name: cell[name] for name in FACTORS}, findings.run_of(cell)
        world, found = load_world(run), findings.editors(**row)
        edited = found[0].edits.results.cases["relation"].tolist()
        readable = read_causes(load_model(run, world)[0], world, edited, cell["seed"])
        ratios = {one.name: one.frame.cell(m.RATIO, one.name).value for one in found}
        rows.append(row | {"right": read_metrics(run)[-1]["accuracy"], "readable": readable} | ratios)
    data = pd.DataFrame(rows)
    outcomes = ["right", "readable", *findings.options.editors]
    title, words = "Propagation ratio in each model", len(FACTORS)
    yield Table("models", title, [*data.columns], data.to_numpy().tolist(), words=words)
    for name, levels in FACTORS.items():
        data[name] = data[name].map(levels.index)
    fits = [ols(f'Q("{name}") ~ {" + ".join(FACTORS)}', data).fit() for name in outcomes]
    effects: list[list[Cell]] = [[f, *(read_effect(fit, f) for fit in fits)] for f in FACTORS]
    note = f"From the first level to the second, over {len(data)} models; with 95% intervals over models."
    yield Table("effects", "What each difference changes", ["", *outcomes], effects, note)


STUDY = Study(
    options=Options(edits=120, editors=EDITORS),
    run="size-factors-{documents}-{names}-{facts}-{training}",
    preset=("paper-cpu", "paper-cpu", "paper-laptop"),
    corpus=corpus_of,
    train=training_of,
    edit=lambda _: {"strength": 0.9},
    views=[View("all", "All requests", SHOWN, rows={f: f for f in FACTORS} | {"reader": "editor"})],
    tables=tables_of,
)

if __name__ == "__main__":
    launch_module()
