"""Which number without gold tells whether an edit did harm or good? The field's beside exact outcomes.

Command:
    python -m experiments.metric_judge

In three worlds of each of four kinds (docs/kinds.md), and with models of four layers in two worlds of two of
these, every editor makes the same edits, each of which contradicts the world's truth, with its settings of
experiments.kinds; what it adds is taken half, once and twice. Of each edited model, one edit by one editor in
one world, the numbers that papers report are computed as they compute them, beside four exact outcomes
(`experiments.measures.edited_models`).
Decisions: of two editors of which one surely has more of an outcome in a world, which one? The direction of
a number, and which two are best, are learned on worlds of other kinds. Some 200 seconds of one core a
world where models are there.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from corpus.files import read_json, write_json
from experiments.command import launch_module
from experiments.measures.edited_models import OUTCOMES, EditedModels
from experiments.measures.predictions import JudgedWorld, correlate, decide, list_sure_pairs, predict_kinds
from experiments.studies import kinds
from experiments.study import Findings, Stage, Study, Values, WorldOptions
from testbed.open_run import open_run
from testbed.scores.tables import Cell, Table

EDITORS = ("lora-down", "full-early", "embeddings", "rome", "keyed-request", "keyed")
LAWS = ("home", "types", "joint", "roles")
STRENGTHS = (0.5, 1.0, 2.0)
"""Times what an editor adds."""
DEEP, DEEP_LAWS, DEEP_WORLDS = 4, ("home", "types"), 2
"""Layers of deeper models, and whose worlds they have: so many of each kind."""
EFFICACY = "efficacy: probability"
"""The trivial predictor, beside the mean."""


def list_cells(options: WorldOptions) -> list[Values]:
    """A world of each kind in turn; then deeper models of some."""
    flat = [(law, kinds.FIRST + i) for i in range(options.worlds) for law in LAWS]
    deep = [(law, kinds.FIRST + i) for i in range(DEEP_WORLDS) for law in DEEP_LAWS]
    cells = [{"law": law, "seed": seed, "layers": 2, "deep": ""} for law, seed in flat]
    return cells + [{"law": law, "seed": seed, "layers": DEEP, "deep": "-deep"} for law, seed in deep]


def judged_file(findings: Findings, cell: Values) -> Path:
    """Where numbers and outcomes of a world's edited models are."""
    return findings.run_of(cell).folder / f"judged-{findings.options.edits}.json"


def judging_stages(findings: Findings) -> Iterator[Stage]:
    """Every model, and then the edits of its world by all editors."""
    for cell in findings.cells:
        yield from findings.model_stages(cell)
        yield f"judge edits of {findings.run_of(cell).name}", partial(judge_world, findings, cell)


def judge_world(findings: Findings, cell: Values) -> None:
    """Numbers and outcomes of all editors, at all strengths, of all edits; kept on disk."""
    path, count = judged_file(findings, cell), findings.options.edits
    if path.exists():
        return
    run = open_run(findings.run_of(cell).folder, "exact")
    drawn = run.cases("kinds", 3 * count, seed=cell["seed"])
    cases = [case for case in drawn if case.truth != case.request.object][:count]
    models = EditedModels(run, cases, cell["seed"])
    found = [
        pair
        for name in findings.options.editors
        for pair in models.edit_all(run.method_of(name, findings.edits_of(cell, name))[1], STRENGTHS)
    ]
    shape = len(findings.options.editors) * len(STRENGTHS), len(cases)
    tables = [
        {name: np.reshape([row[name] for row in rows], shape).round(6).tolist() for name in rows[0]}
        for rows in zip(*found, strict=True)
    ]
    write_json(path, dict(zip(("numbers", "outcomes"), tables, strict=True)))


def read_world(findings: Findings, cell: Values) -> JudgedWorld:
    """What was found in a cell."""
    content = read_json(judged_file(findings, cell))
    numbers, outcomes = (
        {name: np.array(values, float) for name, values in content[part].items()}
        for part in ("numbers", "outcomes")
    )
    ordered = {name: list_sure_pairs(values) for name, values in outcomes.items()}
    return JudgedWorld(cell["law"], cell["layers"], numbers, outcomes, ordered)


def predict_worlds(flat: Sequence[JudgedWorld], outcome: str) -> list[Cell]:
    """A row: the two numbers that predict an outcome best, the best one, and efficacy; how well each does."""
    names = [*flat[0].numbers]
    row: list[Cell] = [outcome]
    for choices in ([*combinations(names, 2)], [(name,) for name in names], [(EFFICACY,)]):
        predicted, taken, r2 = predict_kinds(flat, outcome, choices)
        with_it = [one._replace(numbers={"it": values}) for one, values in zip(flat, predicted, strict=True)]
        if len(choices) > 1:
            row.append("; ".join(dict.fromkeys(" and ".join(pair) for pair in taken)))
        row += [r2, decide(with_it, with_it, "it", outcome)]
    return row


def judge_tables(findings: Findings) -> Iterator[Table]:
    """Correlations and decisions, at two layers and at four, and the best numbers together."""
    worlds = [read_world(findings, cell) for cell in findings.cells]
    flat, deep = ([one for one in worlds if (one.layers == DEEP) == is_deep] for is_deep in (False, True))
    models = sum(next(iter(one.outcomes.values())).size for one in worlds)
    note = f"{models} edited models in {len(worlds)} models of {len(flat)} worlds."
    yield Table(
        "correlations", "Rank correlation with exact outcomes", ["number", *OUTCOMES],
        [[name, *(correlate(flat, name, outcome) for outcome in OUTCOMES)] for name in flat[0].numbers],
        f"Over the edited models of a world of two layers, mean over worlds. {note}",
    )  # fmt: skip
    for key, judged in (("two", flat), ("four", deep)):
        pairs = [sum(len(one.ordered[outcome]) for one in judged) for outcome in OUTCOMES]
        rows: list[list[Cell]] = [["pairs that surely differ", *pairs]]
        rows += [
            [name, *(decide(judged, flat, name, outcome) for outcome in OUTCOMES)] for name in flat[0].numbers
        ]
        title = f"What your number tells you, at {key} layers"
        yield Table(
            f"decisions-{key}", title, ["number", *OUTCOMES], rows, "Share of decisions that are right."
        )
    head = [
        "outcome",
        "best two",
        "R2",
        "decisions",
        "best one",
        "R2, one",
        "decisions, one",
        "R2, efficacy",
        "decisions, efficacy",
    ]
    yield Table(
        "best",
        "The best numbers together",
        head,
        [predict_worlds(flat, outcome) for outcome in OUTCOMES],
        words=2,
    )


STUDY = Study(
    options=WorldOptions(worlds=3, edits=16, editors=EDITORS),
    cells=list_cells,
    run="kinds-{law}-{seed}{deep}",
    preset=kinds.STUDY.preset,
    corpus=kinds.STUDY.corpus,
    train=lambda cell: kinds.STUDY.train(cell) | {
        "model.layers": cell["layers"], "model.unroll": cell["layers"],
    },
    edit=lambda _: {"evaluation": "kinds", "agent": "exact"} | kinds.CHOSEN,
    before=judging_stages,
    editors=lambda _: (),
    tables=judge_tables,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
