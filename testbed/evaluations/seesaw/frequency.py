"""Group or frequency: the excess of others explained by who they are, and by how much was said of them."""

from collections.abc import Sequence

import numpy as np

from corpus.worlds.people import RACE
from testbed.evaluations.seesaw.groups import EditorChanges, group_names
from testbed.evaluations.seesaw.regression import Fit, Slope, fit_regression
from testbed.evaluations.seesaw.roles import OTHERS
from testbed.scores.tables import Cell as Shown
from testbed.scores.tables import Table

FREQUENCY, SUPPORT, SIZE = "log frequency", "log n_u(new)", "log group size"
LEAST_WORLDS = 5
"""Least worlds over which sizes of groups are told from groups: in one world they are one column."""


def regression_tables(editors: Sequence[EditorChanges]) -> list[Table]:
    """X_d on group and frequency within worlds, and over worlds on the sizes of groups."""
    within: list[list[Shown]] = []
    over: list[list[Shown]] = []
    for editor in editors:
        for kind in OTHERS:
            first = fit_group_or_frequency(editor, kind)
            within.append(
                [editor.name, kind, *_slope_cells(first, (FREQUENCY, SUPPORT)), *_group_cells(first)]
            )
            if len(np.unique(editor.results.cases["run"])) >= LEAST_WORLDS:
                second = fit_size_or_frequency(editor, kind)
                over.append([editor.name, kind, *_slope_cells(second, (SIZE, FREQUENCY, SUPPORT))])
    note = (
        "Least squares of X_d; errors are a jackknife's over edits and people. Smallest: a true slope or "
        "difference that a test at 5% would show in 80% of such samples."
    )
    tables = [
        Table(
            "group-or-frequency",
            "Group or frequency: within worlds",
            ["editor", "others", FREQUENCY, "smallest", SUPPORT, "smallest ",
             "largest group difference", "p of groups", "smallest difference"],
            within,
            f"{note} Groups are races, compared with the largest one.",
            words=2,
        )
    ]  # fmt: skip
    if over:
        header = ["editor", "others", SIZE, "smallest", FREQUENCY, "smallest ", SUPPORT, " smallest"]
        tables.append(
            Table("size-or-frequency", "Group size or frequency: over worlds", header, over, note, words=2)
        )
    return tables


def fit_group_or_frequency(editor: EditorChanges, kind: str) -> Fit:
    """X_d ~ race + log frequency + log n_u(new), with a mean for each world."""
    return _fit_excess(editor, kind, (FREQUENCY, SUPPORT), by_group=True)


def fit_size_or_frequency(editor: EditorChanges, kind: str) -> Fit:
    """X_d ~ log size of race + log frequency + log n_u(new), over worlds in which sizes differ."""
    return _fit_excess(editor, kind, (SIZE, FREQUENCY, SUPPORT), by_group=False)


def _fit_excess(editor: EditorChanges, kind: str, column_names: Sequence[str], by_group: bool) -> Fit:
    results, c = editor.results, editor.results.choices
    rows = np.flatnonzero((c.role == kind) & (c.facets[RACE] != ""))
    run, case = results.cases["run"][c.case][rows], c.case[rows]
    if not len(rows):
        return Fit({}, None, 0, 0)
    columns = {
        SIZE: np.log(np.maximum(c.facets["race_size"][rows], 1)),
        FREQUENCY: np.log(c.facets["frequency"][rows]),
        SUPPORT: np.log(np.maximum(results.cases["support_new"][case], 1)),
    }
    person = run.astype(np.int64) * (int(c.subject.max()) + 1) + c.subject[rows]
    return fit_regression(
        editor.changes.excess[rows],
        {name: columns[name] for name in column_names},
        (case, person),
        group_names(results, RACE)[rows] if by_group else None,
        run if len(np.unique(run)) > 1 else None,
    )


def _slope_cells(fit: Fit, names: Sequence[str]) -> list[Shown]:
    parts = [fit.slopes.get(name) for name in names]
    return [cell for one in parts for cell in (_slope_text(one), one.detectable if one else None)]


def _slope_text(slope: Slope | None) -> str | None:
    if slope is None:
        return None
    star = "*" if slope.p < 0.05 else ""
    return f"{slope.value:+.4f} ±{(slope.high - slope.low) / 2:.4f}{star}"


def _group_cells(fitted: Fit) -> list[Shown]:
    if fitted.groups is None:
        return [None, None, None]
    name, difference = fitted.groups.largest
    return [f"{difference:+.4f} ({name})", fitted.groups.p, fitted.groups.detectable]
