"""Tables of groups: D_d and its excess by group, and whose confidence is lowered."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corpus.worlds.people import CITIZENSHIP, EDITED, GENDER, GROUPINGS, RACE
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.seesaw.cells import CellKey, GroupCell, count_lowered, group_cells
from testbed.evaluations.seesaw.differences import ConfidenceChange, confidence_change
from testbed.evaluations.seesaw.roles import OTHERS
from testbed.scores.comparison import ScoredEditor
from testbed.scores.metric import sum_by_case
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import Cell as Shown
from testbed.scores.tables import Table


class EditorChanges(NamedTuple):
    """An editor's results, and how every choice of them moved."""

    name: str
    results: Results
    changes: ConfidenceChange


def editor_changes(editor: ScoredEditor) -> EditorChanges:
    """D_d, D_d^q and X_d of every choice of an editor."""
    results = editor.edited.results
    reader = editor.evaluation.readers(results, editor.name)[editor.name]
    return EditorChanges(editor.name, results, confidence_change(results.choices, reader))


def group_names(results: Results, grouping: str) -> np.ndarray:
    """str[N]: the group of whoever is asked about; over several worlds, whose groups differ, its size."""
    facets = results.choices.facets
    names = facets[grouping].astype(str)
    if grouping == GENDER or len(np.unique(results.cases["run"])) == 1:
        return names
    sized = np.array([f"of {size}" for size in facets[f"{grouping}_size"].tolist()])
    return np.where(names == "", "", sized)


def groups_by_size(results: Results, grouping: str) -> list[str]:
    """The names of all groups, by falling size."""
    names = [str(name) for name in np.unique(group_names(results, grouping)) if name]
    return sorted(names, key=lambda name: (-group_size(results, grouping, name), name))


def group_size(results: Results, grouping: str, name: str) -> int:
    """How many people a group has."""
    return int(results.choices.facets[f"{grouping}_size"][group_names(results, grouping) == name].max())


def group_table(editors: Sequence[EditorChanges], grouping: str, kind: str) -> Table:
    """D_d of each cell and, below it, its excess where it differs (Tables 10, 12, 14 and Figure 2)."""
    groups = groups_by_size(editors[0].results, grouping)
    rows: list[list[Shown]] = []
    for editor in editors:
        results, d = editor.results, editor.changes
        among, names = results.choices.role == kind, group_names(results, grouping)
        change_cells = group_cells(results, d.change, among, names)
        excess_cells = group_cells(results, d.excess, among, names)
        for name in EDITED:
            lines = [[_cell_text(part, (name, g)) for g in groups] for part in (change_cells, excess_cells)]
            if any(lines[0]):
                rows.append([editor.name, name, "D_d", *lines[0]])
            if lines[0] != lines[1]:
                rows.append([editor.name, name, "X_d", *lines[1]])
    note = (
        f"Others are {kind}. * below 0 with p < .05 by a one-sample t-test of all answers, as in the paper; "
        "** also after Holm's correction over the table's cells of one editor. Cells of fewer than 20 "
        "answers show how many there are. X_d has a row of its own where gold moves, too; else it is D_d."
    )
    title = f"By {grouping}, {kind}"
    key = f"seesaw-{grouping}-{kind}".replace(" ", "-")
    return Table(key, title, ["editor", "property", "of", *groups], rows, note, words=3)


def lowered_table(editors: Sequence[EditorChanges]) -> Table:
    """Share of cells whose confidence falls, by editor, grouping and kind of others (Figure 4, Table 9)."""
    rows: list[list[Shown]] = []
    for editor in editors:
        results, d = editor.results, editor.changes
        for kind in OTHERS:
            for grouping in GROUPINGS:
                among = results.choices.role == kind
                by_key = group_cells(results, d.change, among, group_names(results, grouping))
                count, shares = count_lowered(by_key)
                if count:
                    rows.append([editor.name, kind, grouping, count, *shares])
    header = ["editor", "others", "grouping", "cells", "with star", "after Holm", "interval below 0"]
    note = (
        "A cell is a group and a property with at least 20 answers; the paper has 30 of race, 35 of region "
        "and 8 of gender, and asks new holders only."
    )
    return Table("seesaw-4", "Share of cells with lowered confidence (Figure 4)", header, rows, note, words=3)


def lowered_by_property_table(editors: Sequence[EditorChanges]) -> Table:
    """In how many cells confidence falls, by property (Table 8)."""
    rows: list[list[Shown]] = []
    for editor in editors:
        results, d = editor.results, editor.changes
        for kind in OTHERS:
            stars = dict.fromkeys(EDITED, 0)
            among = results.choices.role == kind
            for grouping in GROUPINGS:
                for key, cell in group_cells(
                    results, d.change, among, group_names(results, grouping)
                ).items():
                    stars[key[0]] += cell.is_lowered
            rows.append([editor.name, kind, *stars.values(), sum(stars.values())])
    header = ["editor", "others", *EDITED, "total"]
    note = "Cells with the paper's star. Printed totals of new holders: see the table of the paper's counts."
    return Table("seesaw-8", "Cells with lowered confidence (Table 8)", header, rows, note, words=2)


def continent_table(editors: Sequence[EditorChanges]) -> Table:
    """D_d of new holders after citizenship edits, by the new continent and race (Figure 3)."""
    groups = groups_by_size(editors[0].results, RACE)
    rows: list[list[Shown]] = []
    for editor in editors:
        results, d = editor.results, editor.changes
        c, names = results.choices, group_names(results, RACE)
        of = results.cases["property"].astype(str)[c.case] == CITIZENSHIP
        continent = results.cases["category"].astype(str)[c.case]
        for kind in OTHERS:
            for where in np.unique(continent[of]).tolist():
                among = of & (continent == where) & (c.role == kind)
                by_key = group_cells(results, d.change, among, names)
                rows.append(
                    [editor.name, kind, where, *(_cell_text(by_key, (CITIZENSHIP, g)) for g in groups)]
                )
    return Table(
        "seesaw-3",
        "Citizenship by the new country's continent and race (Figure 3)",
        ["editor", "others", "continent", *groups],
        rows,
        "D_d; stars as above.",
        words=3,
    )


def kinds_table(editors: Sequence[EditorChanges]) -> Table:
    """D_d, gold's own and the excess of the three kinds of others, with intervals."""
    rows: list[list[Shown]] = []
    for editor in editors:
        results, d = editor.results, editor.changes
        for kind in OTHERS:
            among = results.choices.role == kind
            metrics = {i: sum_by_case(x, results.choices.case, len(results), among) for i, x in enumerate(d)}
            means = estimate_metrics(metrics, cluster_levels(results), np.ones(len(results), bool))
            rows.append([editor.name, kind, int(among.sum()), *(means[i] for i in range(len(d)))])
    header = ["editor", "others", "answers", "D_d", "gold's D_d", "X_d"]
    note = "Only new holders are asked in the paper; D_d above 0 of these is how it would have an edit be."
    return Table("kinds", "The three kinds of others", header, rows, note, words=2)


def _cell_text(by_key: dict[CellKey, GroupCell], key: CellKey) -> str | None:
    return str(by_key[key]) if key in by_key else None


def changes_by_group(
    editor: EditorChanges, grouping: str, kind: str, groups: Sequence[str]
) -> dict[str, list[Estimate]]:
    """D_d and X_d of each of some groups, edits of all properties together (Figure 2)."""
    results, c = editor.results, editor.results.choices
    names, size = group_names(results, grouping), len(results)
    masks = [(c.role == kind) & (names == group) for group in groups]
    lines = {}
    for called, values in (("D_d", editor.changes.change), ("X_d", editor.changes.excess)):
        metrics = {i: sum_by_case(values, c.case, size, mask) for i, mask in enumerate(masks)}
        means = estimate_metrics(metrics, cluster_levels(results), np.ones(size, bool))
        lines[called] = [means[i] for i in range(len(groups))]
    return lines
