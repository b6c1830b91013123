"""Seesaw-CF: do cells and editors rank alike on a deeper and on a wider model of the same world?

Command:
    python -m experiments.seesaw_models

Halevy et al. 2024 edited five pretrained models by MEMIT (Tables 4, 11, 13 and 15). Here three models read
one corpus: that of `experiments.seesaw`, one twice as deep and one twice as wide. The same edits are made in
each and the same questions asked, so that models are compared case by case.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from experiments import stages
from experiments.command import launch_module
from experiments.record import estimate_as_list
from experiments.settings import StagedSettings
from experiments.studies import seesaw
from experiments.studies.agreement import estimate_over_edits
from experiments.studies.seesaw import FACTORIAL, NAME
from lm.config import ModelConfig
from testbed.evaluations.seesaw import NEW_HOLDERS, OLD_HOLDERS, OTHERS, Seesaw, crossing
from testbed.evaluations.seesaw.groups import EditorChanges, editor_changes
from testbed.evaluations.seesaw.metrics import CHANGE, STATED, SUCCESS
from testbed.evaluations.seesaw.tables import GROUP_TABLES, read_table
from testbed.presets import EDIT, TRAIN
from testbed.run.runs import Run, read_metrics
from testbed.scores.statistics import Estimate
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.settings import CaseConfig, EditSettings

KIND = FACTORIAL[0]
BASE = TRAIN[NAME].model
MODELS: dict[str, ModelConfig] = {
    "two layers": BASE,
    "twice as deep": replace(BASE, layers=2 * BASE.layers, unroll=2 * BASE.unroll),
    "twice as wide": replace(BASE, hidden=2 * BASE.hidden, mlp=2 * BASE.mlp, heads=4, kv_heads=4),
}
METRICS = (SUCCESS, CHANGE[NEW_HOLDERS], CHANGE[OLD_HOLDERS], STATED)
Pair = tuple[str, str]


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is measured."""

    seed: int = 0
    """Of the world, the models and the edits."""
    people: int = 96
    """People of the world, a multiple of 24."""
    steps: int = 300
    """Most steps of training."""
    accuracy: float = 0.95
    """Share of facts at which a training stops."""
    edits: int = 40
    """Edits by each editor in each model."""
    editors: tuple[str, ...] = ("ft-constrained", "memit", "mend")
    """Who edits."""


def run_study(options: Settings) -> None:
    """One corpus, three models, edits, record."""
    stages.run_in_stages(options, study_stages, record_study)


def run_of(options: Settings, model: str) -> Run:
    """The run of one model."""
    return Run(options.runs, f"seesaw-models-{model.replace(' ', '-')}-{options.seed}")


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; trainings stop when the time is over."""
    shape = seesaw.Settings(people=options.people, steps=options.steps)
    corpus, recipe = seesaw.model_settings(shape, KIND, options.seed)
    recipe = replace(recipe, until=options.accuracy)
    for name, model in MODELS.items():
        run = run_of(options, name)
        where = stages.settings_of_run(run, options.seed)
        recipe = replace(recipe, model=model, **where)
        yield from stages.model_stages(replace(corpus, **where), recipe, clock)
        yield from stages.edit_stages(edit_settings(options, run, editor) for editor in options.editors)


def edit_settings(options: Settings, run: Run, editor: str) -> EditSettings:
    """One editor; the same edits and questions in every model."""
    return replace(
        EDIT[NAME],
        editors=(editor,),
        cases=CaseConfig(count=options.edits),
        evaluations={NAME: Seesaw(others=12)},
        **stages.settings_of_run(run, options.seed),
    )


def record_study(options: Settings) -> Path:
    """Editors on each model, and how alike the cells of each editor rank on two of them."""
    scored: dict[str, dict[str, ScoredEditor]] = {}
    for model in MODELS:
        run = run_of(options, model)
        for name in options.editors:
            (editor,) = stages.score_edits([run], edit_settings(options, run, name))
            scored.setdefault(model, {})[name] = editor
    alike: dict[str, dict[str, Estimate]] = {}
    for name, (first, second) in product(options.editors, combinations(MODELS, 2)):
        one, other = (editor_changes(scored[model][name]) for model in (first, second))
        rho = compare_models(one, other, options.seed)
        alike.setdefault(name, {})[f"{first} and {second}"] = rho
    tables = [editors_table(scored), agreement_table(alike), printed_table(), pairs_table(scored)]
    found = {model: {name: _figures(editor) for name, editor in of.items()} for model, of in scored.items()}
    return options.record(
        run_of(options, next(iter(MODELS))),
        {"seesaw_models.md": stages.show_tables(tables)},
        ("model", "editor"),
        found=found,
        rank_correlation={
            name: {pair: estimate_as_list(rho) for pair, rho in of.items()} for name, of in alike.items()
        },
        stated_facts={m: read_metrics(run_of(options, m))[-1]["accuracy"] for m in MODELS},
    )


def _figures(editor: ScoredEditor) -> dict[str, Any]:
    means = editor.summary["all"][editor.name]
    return {name: estimate_as_list(means[name]) for name in METRICS}


def sum_cells(editor: EditorChanges) -> tuple[np.ndarray, np.ndarray]:
    """float64[E, K] twice: by edit the sum of D_d in each cell, and how many answers it is of.

    A cell is an edited property and a kind of others.
    """
    results, change = editor.results, editor.changes.change
    c, size = results.choices, len(results)
    of = results.cases["property"].astype(str)[c.case]
    masks = [(of == name) & (c.role == kind) for name in np.unique(of).tolist() for kind in OTHERS]
    masks = [mask for mask in masks if mask.any()]
    sums = [np.bincount(c.case[mask], change[mask], size) for mask in masks]
    answers = [np.bincount(c.case[mask], minlength=size) for mask in masks]
    return np.column_stack(sums), np.column_stack(answers).astype(float)


def compare_models(one: EditorChanges, other: EditorChanges, seed: int) -> Estimate:
    """Spearman's rho of an editor's cells on two models; its interval is that of edits drawn again.

    Raises:
        ValueError: the models were asked different questions.
    """
    cells = [sum_cells(editor) for editor in (one, other)]
    (_, answers), (_, other_answers) = cells
    if not np.array_equal(answers, other_answers):
        raise ValueError("two models were asked different questions; make the edits of both again")

    def correlate_cells(weights: np.ndarray) -> float:
        count = weights @ answers
        means = [(weights @ sums / np.maximum(count, 1))[count > 0] for sums, _ in cells]
        return spearmanr(*means).statistic

    return estimate_over_edits(correlate_cells, len(answers), answers.shape[1], seed)


def compare_printed_models() -> dict[str, list[float]]:
    """By what is printed of the paper's five models, Spearman's rho of every pair of them."""
    changes = {row["who"]: [float(x) for n, x in row.items() if n not in ("who", "mean")]
               for row in read_table(4)}  # fmt: skip
    by_table: dict[str, list[dict[Pair, float]]] = {
        "Table 4": [{("", str(i)): x for i, x in enumerate(of)} for of in changes.values()]
    }
    for number, grouping in GROUP_TABLES.items():
        if number % 2:
            by_model: dict[str, dict[Pair, float]] = {}
            for row in read_table(number):
                text = {k: v for k, v in row.items() if k not in ("property", "who", "groups not told") and v}
                cells = {(row["property"], group): float(v.rstrip("*")) for group, v in text.items()}
                by_model.setdefault(row["who"], {}).update(cells)
            by_table[f"Table {number}, {grouping}"] = [*by_model.values()]
    return {name: [_rho(a, b) for a, b in combinations(models, 2)] for name, models in by_table.items()}


def _rho(one: Mapping[Pair, float], other: Mapping[Pair, float]) -> float:
    keys = [key for key in one if key in other]
    return float(spearmanr([one[key] for key in keys], [other[key] for key in keys]).statistic)


def editors_table(scored: Mapping[str, Mapping[str, ScoredEditor]]) -> Table:
    """Every editor on every model."""
    rows: list[list[Cell]] = [
        [name, model, *(of[name].summary["all"][of[name].name][metric] for metric in METRICS)]
        for name in next(iter(scored.values()))
        for model, of in scored.items()
    ]
    header = ["editor", "model", *METRICS]
    return Table("models", "Editors on three models of one world", header, rows, words=2)


def agreement_table(alike: Mapping[str, Mapping[str, Estimate]]) -> Table:
    """How alike the cells of each editor rank on two models."""
    pairs = [*next(iter(alike.values()))]
    rows: list[list[Cell]] = [[name, *of.values()] for name, of in alike.items()]
    note = "Spearman's rho of D_d over cells of an edited property and a kind of others; edits drawn again."
    return Table("models-ranks", "Do cells rank alike?", ["editor", *pairs], rows, note)


def printed_table() -> Table:
    """How alike the paper's five models rank."""
    rows: list[list[Cell]] = [
        [name, len(rhos), float(np.mean(rhos)), min(rhos), max(rhos)]
        for name, rhos in compare_printed_models().items()
    ]
    note = "Spearman's rho over printed cells whose groups are told, of every two of the five models (MEMIT)."
    header = ["printed", "pairs", "mean", "least", "most"]
    return Table("models-printed", "The paper's models", header, rows, note)


def pairs_table(scored: Mapping[str, Mapping[str, ScoredEditor]]) -> Table:
    """Change of accuracy by the paper's pairs of properties (Table 4)."""
    rows: list[list[Cell]] = []
    for model, of in scored.items():
        for name, editor in of.items():
            results = editor.edits.results
            reader = editor.evaluation.readers(results, editor.name)[editor.name]
            before, after = (
                crossing.accuracy_by_pair(results, p, stated=True) for p in (reader.start, reader.probability)
            )
            rows.append([name, model, *(_fall(before, after, pair) for pair in crossing.PAPER_PAIRS)])
    header = ["editor", "model", *(" / ".join(pair) for pair in crossing.PAPER_PAIRS)]
    note = "Facts that the corpus states; below 0 they fall. No intervals: cells have a few answers each."
    return Table("models-pairs", "Change of accuracy by pair (Table 4)", header, rows, note, words=2)


def _fall(
    before: Mapping[Pair, Estimate], after: Mapping[Pair, Estimate], pair: Sequence[str]
) -> float | None:
    key = (pair[0], pair[1])
    return after[key].value - before[key].value if key in before else None


if __name__ == "__main__":
    launch_module()
