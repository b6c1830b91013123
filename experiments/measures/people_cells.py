"""Cells of a property and a group: whose confidence falls, and how they rank beside printed ones."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from corpus.worlds.people import GENDER
from experiments.measures.agreement import estimate_over_edits
from testbed.engine.results import Results
from testbed.evaluations.seesaw import NEW_HOLDERS, OTHERS
from testbed.evaluations.seesaw.groups import (
    CellKey,
    EditorChanges,
    GroupCell,
    count_lowered,
    group_cells,
    group_names,
)
from testbed.evaluations.seesaw.metrics import SUCCESS, estimate_means
from testbed.evaluations.seesaw.printed import read_table
from testbed.scores.statistics import Estimate
from testbed.scores.summary import ScoredEditor

PRINTED = {"FT": "ft-constrained", "MEND": "mend", "MEMIT": "memit"}
"""Editors of the paper, and what they are called here."""
LEAST_CELLS = 3
"""Of fewer no ranks are compared."""


class Dose(NamedTuple):
    """What one editor does at one dose, over worlds.

    Attributes:
        success: of requests.
        change: by kind of others, their D_d.
        lowered: by kind of others, how many cells of property and race have answers enough, and how many of
            these have the paper's star.
    """

    success: Estimate
    change: dict[str, Estimate]
    lowered: dict[str, tuple[int, int]]


class CellAnswers(NamedTuple):
    """An editor's answers about those who have the new object, by property and group.

    Attributes:
        cells: mean D_d.
        people: how many different ones were asked.
        sums, answers: float64[E] each, of every edit the sum of D_d, and how many answers it is of.
    """

    cells: dict[CellKey, GroupCell]
    people: dict[CellKey, int]
    sums: dict[CellKey, np.ndarray]
    answers: dict[CellKey, np.ndarray]


def measure_dose(editor: ScoredEditor, changes: EditorChanges) -> Dose:
    """What happens to those whom none of the requests is about."""
    results, change = changes.results, changes.changes.change
    untouched = ~is_requested(results)
    among = {kind: untouched & (results.choices.role == kind) for kind in OTHERS}
    races = group_names(results, "race")
    lowered = {kind: count_stars(changes, mask, races) for kind, mask in among.items()}
    means = estimate_means(results, {kind: (change, mask) for kind, mask in among.items()})
    return Dose(editor.summary["all"][editor.name][SUCCESS], means, lowered)


def count_stars(editor: EditorChanges, among: np.ndarray, groups: np.ndarray) -> tuple[int, int]:
    """How many cells of a property and a group have answers enough, and how many of these have a star.

    Args:
        among: bool[N], answers that count.
        groups: str[N], the group of whoever is asked about.
    """
    count, (share, *_) = count_lowered(group_cells(editor.results, editor.changes.change, among, groups))
    return count, round(share * count) if count else 0


def is_requested(results: Results) -> np.ndarray:
    """bool[N]: whether a choice is about a fact that some request of the same world changes."""
    cases, choices = results.cases, results.choices
    worlds = cases["run"].tolist()
    requested = set(zip(worlds, cases["subject"].tolist(), cases["relation"].tolist(), strict=True))
    asked = zip(
        (worlds[k] for k in choices.case.tolist()),
        choices.subject.tolist(),
        choices.relation.tolist(),
        strict=True,
    )
    return np.array([one in requested for one in asked], bool)


def describe_stars(counts: tuple[int, int]) -> str:
    """What `count_stars` counts, in words."""
    return f"{counts[1]} of {counts[0]}"


def collect_answers(editor: EditorChanges, grouping: str = GENDER) -> CellAnswers:
    """Those who have the new object and whose own fact no request changes."""
    results, change = editor.results, editor.changes.change
    c, groups = results.choices, results.choices.facets[grouping].astype(str)
    among = (c.role == NEW_HOLDERS) & ~is_requested(results)
    cells = group_cells(results, change, among, groups)
    properties, size = results.cases["property"].astype(str)[c.case], len(results)
    masks = {key: among & (properties == key[0]) & (groups == key[1]) for key in cells}
    return CellAnswers(
        cells,
        {key: len(np.unique(c.subject[mask])) for key, mask in masks.items()},
        {key: np.bincount(c.case[mask], change[mask], size) for key, mask in masks.items()},
        {key: np.bincount(c.case[mask], minlength=size) for key, mask in masks.items()},
    )


def read_printed_cells(number: int = 14) -> dict[str, dict[CellKey, float]]:
    """By editor of the paper, the printed D_d of a table of GPT-J: of each property and group."""
    printed: dict[str, dict[CellKey, float]] = {who: {} for who in PRINTED}
    for row in read_table(number):
        for group, cell in row.items():
            if group not in ("property", "who") and cell:
                printed[row["who"]][row["property"], group] = float(cell.rstrip("*"))
    return printed


def rank_agreement(
    ours: CellAnswers, printed: Mapping[CellKey, float], seed: int, within: bool = False
) -> Estimate:
    """Spearman's rho of an editor's cells with printed ones, over the cells that have answers enough.

    Its interval is that of edits drawn again, with whoever was asked after them.

    Args:
        within: rank what is left of each cell less the mean of its property's cells, which compares groups
            and not properties.
    """
    keys = [key for key in printed if key in ours.cells and ours.cells[key].has_enough_answers]
    if len(keys) < LEAST_CELLS:
        return Estimate(np.nan, np.nan, np.nan, len(keys))
    sums, answers = (np.column_stack([of[key] for key in keys]) for of in (ours.sums, ours.answers))
    of = np.unique([name for name, _ in keys], return_inverse=True)[1]
    counts = np.bincount(of)

    def center_cells(cells: np.ndarray) -> np.ndarray:
        return cells - (np.bincount(of, cells) / counts)[of] if within else cells

    theirs = center_cells(np.array([printed[key] for key in keys]))

    def correlate_cells(weights: np.ndarray) -> float:
        return spearmanr(center_cells(weights @ sums / np.maximum(weights @ answers, 1)), theirs).statistic

    return estimate_over_edits(correlate_cells, len(sums), len(keys), seed)
