"""Do an editor's cells rank alike on two models of one world, and on those of the paper?"""

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
from scipy.stats import spearmanr

from experiments.measures.agreement import estimate_over_edits
from experiments.study import Findings
from testbed.evaluations.seesaw import OTHERS, crossing
from testbed.evaluations.seesaw.groups import EditorChanges, editor_changes
from testbed.evaluations.seesaw.printed import GROUP_TABLES, read_table
from testbed.scores.statistics import Estimate
from testbed.scores.tables import Cell, Table

Pair = tuple[str, str]


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


def model_tables(findings: Findings) -> Iterator[Table]:
    """How alike cells rank on two models, and on the paper's five; change of accuracy by pair."""
    models = [group["model"] for group in findings.groups]
    changes = {
        model: {one.name: editor_changes(one) for one in findings.editors(model=model)} for model in models
    }
    pairs = [*combinations(models, 2)]
    rows: list[list[Cell]] = [
        [name, *(compare_models(changes[a][name], changes[b][name], 0) for a, b in pairs)]
        for name in findings.options.editors
    ]
    note = "Spearman's rho of D_d over cells of an edited property and a kind of others; edits drawn again."
    header = ["editor", *(f"{first} and {second}" for first, second in pairs)]
    yield Table("models-ranks", "Do cells rank alike?", header, rows, note)
    rows = [[n, len(r), float(np.mean(r)), min(r), max(r)] for n, r in compare_printed_models().items()]
    note = "Spearman's rho over printed cells whose groups are told, of every two of the five models (MEMIT)."
    header = ["printed", "pairs", "mean", "least", "most"]
    yield Table("models-printed", "The paper's models", header, rows, note)
    rows = []
    for model in models:
        for one in findings.editors(model=model):
            results = one.edits.results
            reader = one.evaluation.readers(results, one.name)[one.name]
            before, after = (
                crossing.accuracy_by_pair(results, p, stated=True) for p in (reader.start, reader.probability)
            )
            falls = [
                after[pair].value - before[pair].value if pair in before else None
                for pair in map(tuple, crossing.PAPER_PAIRS)
            ]
            rows.append([one.name, model, *falls])
    header = ["editor", "model", *(" / ".join(pair) for pair in crossing.PAPER_PAIRS)]
    note = "Facts that the corpus states; below 0 they fall. No intervals: cells have a few answers each."
    yield Table("models-pairs", "Change of accuracy by pair (Table 4)", header, rows, note, words=2)
