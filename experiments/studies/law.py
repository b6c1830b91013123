"""When does an edit carry its consequences along, and which number can tell beforehand?

Command:
    python -m experiments.law

Models come in turn from six kinds of worlds, each by a point of a Latin hypercube over FACTORS, in random
order, so that any first part of them (`--models 24`) is a design, too. Options that a kind of world does not
have keep their place. Editors differ in where they store, and each edit stops where its request has a
probability of .9. A law is fitted on kinds of worlds and tried on others. Some two minutes of one core a
model. It needs statsmodels (pip install '.[test]').
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import qmc

from corpus.files import read_json, write_json
from experiments.command import launch_module
from experiments.measures.laws import (
    OUTCOMES,
    fit_law,
    measure_edits,
    predict_other_kinds,
    read_effect,
    read_predictors,
)
from experiments.studies import kinds
from experiments.study import Changes, Findings, Stage, Study, StudyOptions, Values
from testbed.open_run import open_run
from testbed.scores.tables import Cell, Table

PRESETS = {
    "home": "tiny", "types": "types", "people": "seesaw",
    "joint": "joint", "coupled": "leme", "roles": "roles",
}  # fmt: skip
GRAPHS = ("home", "people", "coupled")
"""Kinds whose relations depend on others by rows: they have all options of documents and strata."""
FACTORS: dict[str, tuple[Any, ...]] = {
    "subjects": (60, 100, 160), "unstated": (0.25, 0.5, 0.75), "root_mass": (2.0, 8.0, 64.0),
    "objects": (6, 12, 24), "imagine": (0.0, 0.25), "revise": (0.0, 0.25), "synonyms": (0.0, 0.3),
    "often": (1, 10), "copies": (1, 3), "first": (0.0, 0.3), "mixed": (False, True), "layers": (2, 3, 4),
    "hidden": (48, 64, 96), "steps": (60, 100, 160),
}  # fmt: skip
"""Levels; often is how much oftener some people are spoken of, copies how often a statement stands for each
other sentence, first the share of steps that read statements alone."""
POINTS, DESIGN_SEED = 60, 2
FIRST, TOKENS, LENGTHS = 500, 1280, {"coupled": 256}
"""Seed of the first model that is reported; tokens of a step, and of each row where it is not 160."""
EDITORS = ("embeddings", "keyed-request", "full-early", "full-late", "lora-down", "rome")
SLOPES = ("support", "readable", "overlap")
"""Of these each editor has its own."""
DESIGN = (
    "gradsim", "silent", "popular", "imagine", "revise", "synonyms", "copies", "first", "mixed", "layers",
    "hidden", "tokens",
)  # fmt: skip
WHO = "C(editor, Sum)"
LAWS = {
    "who edits": WHO,
    "support": "support",
    **{f"who edits, {name}": f"{WHO} * {name}" for name in (*SLOPES, "gradsim")},
    "the law": f"{WHO} * ({' + '.join(SLOPES)}) + silent + tokens",
    "the law, the design": " + ".join([f"{WHO} * ({' + '.join(SLOPES)})", *DESIGN]),
}


@dataclass(frozen=True)
class Options(StudyOptions):
    """How many models of the design."""

    models: int = POINTS
    """So many of the first."""
    seed: int = FIRST
    """Of the first model; each has the next one."""

    @property
    def cells(self) -> list[Values]:
        """Kinds in turn."""
        laws, first = [*PRESETS], self.seed
        return [{"law": laws[i % len(laws)], "seed": first + i, "place": i} for i in range(self.models)]


def draw_design(place: int) -> dict[str, Any]:
    """The levels of the model at a place."""
    point = qmc.LatinHypercube(len(FACTORS), seed=DESIGN_SEED).random(POINTS)[place % POINTS]
    return {
        name: levels[int(u * len(levels))] for u, (name, levels) in zip(point, FACTORS.items(), strict=True)
    }


def corpus_of(cell: Values) -> Changes:
    """What the design changes of a preset, where the kind has such options."""
    level, kind = draw_design(cell["place"]), cell["law"]
    mix = "mixed" if level["mixed"] else "homogeneous"
    found: Changes = {"world.subjects": level["subjects"], "documents.mix": mix}
    if kind not in GRAPHS:
        return found
    found |= {"kind": "exact", "exact.root-mass": level["root_mass"]}
    found |= {f"documents.{name}": level[name] for name in ("imagine", "revise")}
    found |= {"exact.strata": (level["unstated"], 0.0, 1 - level["unstated"])}
    if kind == "home":
        return found | {"world.builtin.upstream-objects": level["objects"]}
    found |= {"documents.synonyms": level["synonyms"]}
    if kind == "people":
        return found | {"documents.copies": level["often"]}
    return found | {"documents.outlined": 0.0, "documents.together": 0.0}


def training_of(cell: Values) -> Changes:
    """Depth, width, tokens, and the order and number of statements."""
    level = draw_design(cell["place"])
    steps, layers, length = level["steps"], level["layers"], LENGTHS.get(cell["law"], 160)
    return {
        "model.layers": layers, "model.unroll": 1, "model.hidden": level["hidden"],
        "model.mlp": 2 * level["hidden"], "model.head-width": 32, "train.steps": steps,
        "train.rows": TOKENS // length, "train.row-length": length, "train.evaluate-every": steps,
        "train.checkpoint-every": steps,
        "train.atomic-steps": round(level["first"] * steps),
        "train.copies": (level["copies"], 1, 1, 1, 1) if level["copies"] > 1 else (),
    }  # fmt: skip


def law_file(findings: Findings, cell: Values) -> Path:
    """Where predictors of a model and outcomes of its edits are."""
    return findings.run_of(cell).folder / f"law-{findings.options.edits}.json"


def law_stages(findings: Findings) -> Iterator[Stage]:
    """Every model, what is read from it, and then its edits by all editors."""

    def measure(cell: Values) -> None:
        path, count, seed = law_file(findings, cell), findings.options.edits, cell["seed"]
        if not path.exists():
            run = open_run(findings.run_of(cell).folder, "exact")
            cases = list(run.cases("kinds", count, seed=seed))
            editors = findings.options.editors
            methods = {name: run.method_of(name, findings.edits_of(cell, name))[1] for name in editors}
            found = measure_edits(run, cases, methods, seed)
            write_json(path, {"predictors": read_predictors(run, cases, seed), "outcomes": found})

    for cell in findings.cells:
        yield from findings.model_stages(cell)
        yield f"edits of {findings.run_of(cell).name}", partial(measure, cell)


def list_rows(findings: Findings) -> pd.DataFrame:
    """A row for each model and editor: outcomes, and predictors in standard deviations."""
    rows = []
    for cell in findings.cells:
        corpus, training = findings.model_of(cell)
        content = read_json(law_file(findings, cell))
        known = content["predictors"] | vars(corpus.documents) | vars(training.model)
        steps, copies, first = (training.train.steps, training.train.copies[:1], training.train.atomic_steps)
        known |= {"mixed": corpus.documents.mix == "mixed", "copies": sum(copies), "first": first / steps}
        known["tokens"] = np.log2(steps * TOKENS / known["facts"])
        predictors = {name: float(known[name]) for name in (*SLOPES, *DESIGN)}
        of = {"model": cell["seed"], "kind": cell["law"]}
        rows += [of | {"editor": name} | found | predictors for name, found in content["outcomes"].items()]
    data = pd.DataFrame(rows)
    x = data[[*SLOPES, *DESIGN]]
    data[x.columns] = ((x - x.mean()) / x.std().replace(0, 1)).fillna(0)
    return data


def law_tables(findings: Findings) -> Iterator[Table]:
    """How well laws predict kinds that they were not fitted to, and the effects of the law."""
    data = list_rows(findings)
    note = f"{len(data)} rows, one for each of {data['model'].nunique()} models and each editor."
    for by in ("editor", "kind"):
        means = data.groupby(by, sort=False)[[*OUTCOMES]].mean()
        yield Table(
            f"by {by}", f"Outcomes by {by}", ["", *OUTCOMES], [[k, *row] for k, row in means.iterrows()], note
        )
    if data["kind"].nunique() < 3:
        return  # There are no two kinds to fit a law to, and another one to try it on.
    rows: dict[str, list[list[Cell]]] = {"R2 on a third of the kinds": []}
    for law, formula in LAWS.items():
        found = [predict_other_kinds(data, f"{name} ~ {formula}") for name in OUTCOMES]
        rows["R2 on a third of the kinds"].append([law, *(r2 for r2, _ in found)])
        rows[f"R2 on one kind: {law}"] = [
            [kind, *(each.get(kind) for _, each in found)] for kind in data["kind"].unique()
        ]
    for title, some in rows.items():
        yield Table(title, title, ["", *OUTCOMES], some, f"Fitted to all other kinds. {note}")
    alone = {name: f"{WHO} + C(kind) + {name}" for name in (*SLOPES, *DESIGN)}
    terms = fit_law(data, f"damage ~ {LAWS['the law']}").params.index
    for title, formulas in (
        ("Effects, each beside editor and kind", alone),
        ("Effects in the law", dict.fromkeys(terms, LAWS["the law"])),
    ):
        fits = {one: [fit_law(data, f"{of} ~ {one}") for of in OUTCOMES] for one in {*formulas.values()}}
        effects: list[list[Cell]] = [
            [term, *(read_effect(fit, term) for fit in fits[formula])] for term, formula in formulas.items()
        ]
        gained = "What an outcome gains for a standard deviation of each; errors are clustered by model."
        yield Table(title, title, ["", *OUTCOMES], effects, f"{gained} {note}")


STUDY = Study(
    options=Options(edits=16, editors=EDITORS),
    run="law-{law}-{seed}",
    preset=lambda cell: PRESETS[cell["law"]],
    corpus=corpus_of,
    train=training_of,
    edit=lambda _: {
        "evaluation": "kinds", "agent": "exact", "strength": 0.9, "full-late.learning-rate": 1e-2,
    } | kinds.CHOSEN,
    before=law_stages,
    editors=lambda _: (),
    tables=law_tables,
    figures=lambda findings: {"laws": list_rows(findings).round(4).to_dict("list")},
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
