"""How much of the variance of D_d is each person's group, frequency, support, or first confidence.

Columns that go together share what they explain. So each block of columns has the mean, over all orders in
which blocks can enter a regression, of what it adds to the explained share of the variance (Lindeman, Merenda
& Gold 1980; the Shapley value of R^2). Worlds have means of their own. Intervals bootstrap edits.

Beside it stands the other question: at equal frequency, how far is the worst group from the best?
"""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from corpus.seeds import generator
from corpus.worlds.people import RACE
from testbed.evaluations.seesaw import NEW_HOLDERS, OLD_HOLDERS
from testbed.evaluations.seesaw.groups import EditorChanges, group_names
from testbed.evaluations.seesaw.metrics import confidence
from testbed.scores.statistics import Estimate, draw_case_weights, estimate_from_draws
from testbed.scores.tables import Cell, Table

GROUP, FREQUENCY, SUPPORT, FIRST = "group", "frequency", "support of the new object", "confidence before"
REST = "none of these"
RESAMPLES = 500
ATTRIBUTED = (NEW_HOLDERS, OLD_HOLDERS)


def attribution_table(editors: Sequence[EditorChanges]) -> Table:
    """Shares of the variance of D_d, and the gap between groups at equal frequency."""
    rows: list[list[Cell]] = []
    for editor in editors:
        for kind in ATTRIBUTED:
            among = (editor.results.choices.role == kind) & (editor.results.choices.facets[RACE] != "")
            if not among.any() or np.ptp(editor.changes.change[among]) == 0:
                continue
            shares = attribute_changes(editor, among)
            rows.append([editor.name, kind, int(among.sum()), *shares.values(), gap_of_groups(editor, among)])
    header = ["editor", "others", "answers", GROUP, FREQUENCY, SUPPORT, FIRST, REST]
    note = (
        "Means over all orders in which columns can enter a regression; worlds have means of their own. "
        "Worst and best group: means of D_d at equal shares of seldom and often mentioned people; the worst "
        "of several groups is below the best by chance, too. ± is half of a 95% interval over edits."
    )
    title = "What the variance of D_d goes with"
    return Table("attribution", title, [*header, "worst group less best"], rows, note, words=2)


def attribute_changes(editor: EditorChanges, among: np.ndarray) -> dict[str, Estimate]:
    """Shares of the variance of D_d of some answers, which add up to 1 with the rest.

    Args:
        among: bool[N], the answers that count.
    """
    results, c = editor.results, editor.results.choices
    rows = np.flatnonzero(among)
    case = c.case[rows]
    names = group_names(results, RACE)[rows]
    before = confidence(c.lm[:, 0], c.options, c.facets["right"], c.facets["wrong"])[rows]
    blocks = {
        GROUP: (names[:, None] == np.unique(names)[None, 1:]).astype(float),
        FREQUENCY: np.log(c.facets["frequency"][rows])[:, None],
        SUPPORT: np.log(np.maximum(results.cases["support_new"][case], 1))[:, None],
        FIRST: before[:, None],
    }
    return attribute_variance(editor.changes.change[rows], blocks, case, results.cases["run"][case])


def attribute_variance(
    outcome: np.ndarray, blocks: Mapping[str, np.ndarray], case: np.ndarray, world: np.ndarray
) -> dict[str, Estimate]:
    """The share of the variance of an outcome within worlds that goes with each block of columns.

    Args:
        outcome: float64[n].
        blocks: float64[n, columns] each.
        case: int64[n]; the cases are drawn again for intervals.
        world: int64[n].

    Returns:
        A share for each block, and what is left under REST.
    """
    columns = np.column_stack([*blocks.values(), outcome])
    for one in np.unique(world):
        columns[world == one] -= columns[world == one].mean(axis=0)
    numbers, place = np.unique(case, return_inverse=True)
    products = np.zeros((len(numbers), columns.shape[1], columns.shape[1]))
    np.add.at(products, place, columns[:, :, None] * columns[:, None, :])
    weights = draw_case_weights({"case": numbers}, RESAMPLES, generator(0, "attribution"))
    moments = np.einsum("bk,kij->bij", weights, products)
    ends = np.cumsum([0, *(x.shape[1] for x in blocks.values())])
    members = [range(a, b) for a, b in itertools.pairwise(ends)]
    explained = {
        subset: _explained_share(moments, [k for i in subset for k in members[i]])
        for size in range(len(blocks) + 1)
        for subset in itertools.combinations(range(len(blocks)), size)
    }
    shares = {name: _mean_addition(explained, number, len(blocks)) for number, name in enumerate(blocks)} | {
        REST: 1 - explained[tuple(range(len(blocks)))]
    }
    return {name: estimate_from_draws(draws, len(numbers)) for name, draws in shares.items()}


def gap_of_groups(editor: EditorChanges, among: np.ndarray) -> Estimate:
    """Mean D_d of the worst group less that of the best, where people mentioned as often weigh as much."""
    results, c = editor.results, editor.results.choices
    rows = np.flatnonzero(among)
    groups, group = np.unique(group_names(results, RACE)[rows], return_inverse=True)
    levels, level = np.unique(c.facets["frequency"][rows], return_inverse=True)
    numbers, place = np.unique(c.case[rows], return_inverse=True)
    shape = len(numbers), len(groups), len(levels)
    cell = np.ravel_multi_index((place, group, level), shape)
    size = math.prod(shape)
    sums, counts = (
        np.bincount(cell, weights, size).reshape(shape)
        for weights in (editor.changes.change[rows], np.ones(len(rows)))
    )
    weights = draw_case_weights({"case": numbers}, RESAMPLES, generator(0, "attribution"))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.einsum("bk,kgl->bgl", weights, sums) / np.einsum("bk,kgl->bgl", weights, counts)
        of_groups = np.nansum(means, axis=2) / np.isfinite(means).sum(axis=2)
    return estimate_from_draws(np.nanmin(of_groups, axis=1) - np.nanmax(of_groups, axis=1), len(numbers))


def _explained_share(moments: np.ndarray, columns: list[int]) -> np.ndarray:
    """float64[B]: R^2 of the last column on some others, from sums of products float64[B, k, k]."""
    if not columns:
        return np.zeros(len(moments))
    inner = moments[:, columns][:, :, columns]
    outer = moments[:, columns, -1]
    inverse = np.linalg.pinv(inner, rcond=1e-10, hermitian=True)
    return np.einsum("bi,bij,bj->b", outer, inverse, outer) / moments[:, -1, -1]


def _mean_addition(explained: Mapping[tuple[int, ...], np.ndarray], number: int, blocks: int) -> np.ndarray:
    """What one block adds, in the mean over all orders of blocks."""
    added = np.zeros_like(explained[()])
    for subset, share in explained.items():
        if number not in subset:
            weight = math.factorial(len(subset)) * math.factorial(blocks - len(subset) - 1)
            larger = explained[tuple(sorted((*subset, number)))]
            added += weight / math.factorial(blocks) * (larger - share)
    return added
