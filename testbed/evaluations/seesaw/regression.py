"""Group or frequency: the excess of others explained by who they are, and by how much was said of them.

X_d is regressed by least squares with errors clustered by edit and by person. Errors are a jackknife's: what
leaving out one edit, or one person, does to the coefficients (CV3 of MacKinnon, Nielsen & Webb 2023), the two
together as Cameron, Gelbach & Miller (2011) add up two ways. The usual sandwich (CV1) is too small where a
group has few people. Tests are t-tests at the number of clusters of the way that has fewer, less one; of all
groups at once it is Hotelling's T.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import f as fisher
from scipy.stats import t as student

from corpus.worlds.people import RACE
from testbed.evaluations.seesaw import OTHERS
from testbed.evaluations.seesaw.attribution import attribution_table
from testbed.evaluations.seesaw.groups import SIGNIFICANCE_LEVEL, EditorChanges, from_changes, group_names
from testbed.pages.chapter import SectionPlan
from testbed.scores.statistics import detectable_difference
from testbed.scores.tables import Cell, Table

FREQUENCY, SUPPORT, SIZE = "log frequency", "log n_u(new)", "log group size"
LEAST_WORLDS = 5
"""Least worlds over which sizes of groups are told from groups: in one world they are one column."""
CLUSTERS_PER_COLUMN = 2
"""Clusters that a column needs, of the way that has fewer: few clusters do not tell how many columns vary."""
_SINGULAR = 1e-10
"""Directions that vary by less, beside the one that varies most, went with the cluster that is left out."""


class Slope(NamedTuple):
    """By how much the outcome is larger where a column is larger by one.

    Attributes:
        low, high: ends of the 95% interval.
        detectable: the smallest true slope that a test at 5% would show in 80% of such samples.
    """

    value: float
    low: float
    high: float
    p: float
    detectable: float


class GroupDifferences(NamedTuple):
    """Differences between groups at equal columns.

    Attributes:
        largest: the largest difference of a group from the first one, with its sign, and its name.
        p: of no difference between any of them.
        detectable: a difference from the first group that would be shown of whichever group it is.
    """

    largest: tuple[str, float]
    p: float
    detectable: float


class Fit(NamedTuple):
    """A regression; empty where the outcome is constant, or the clusters are too few (CLUSTERS_PER_COLUMN).

    Columns that others determine, as constant ones, are absent.

    Attributes:
        clusters: of the way that has fewer.
    """

    slopes: dict[str, Slope]
    groups: GroupDifferences | None
    clusters: int


def fit_regression(
    outcome: np.ndarray,
    columns: Mapping[str, np.ndarray],
    clusters: tuple[np.ndarray, np.ndarray],
    groups: np.ndarray | None = None,
    worlds: np.ndarray | None = None,
) -> Fit:
    """Regress float64[n] on columns, groups and worlds.

    Args:
        columns: float64[n] each.
        clusters: int64[n] twice, equal for observations of one edit, and for those of one person.
        groups: str[n]; the one with most observations is the first.
        worlds: int64[n], each of which has a mean of its own.
    """
    names, design = _design_matrix(columns, groups, worlds)
    ways = [np.unique(way, return_inverse=True)[1] for way in clusters]
    count = min(int(way.max()) + 1 for way in ways) if len(outcome) else 0
    if count < CLUSTERS_PER_COLUMN * len(names) or np.ptp(outcome) == 0:
        return Fit({}, None, count)
    coefficients, covariance = least_squares(outcome, design, (ways[0], ways[1]))
    errors = np.sqrt(np.diag(covariance))
    slopes = {}
    for at, name in enumerate(names):
        if name in columns:
            value, error = float(coefficients[at]), float(errors[at])
            half = float(student.ppf(0.975, count - 1)) * error
            p = float(2 * student.sf(abs(value) / error, count - 1))
            slopes[name] = Slope(
                value, value - half, value + half, p, detectable_difference(error, count - 1)
            )
    return Fit(slopes, _group_differences(coefficients, covariance, names, count), count)


def least_squares(
    outcome: np.ndarray, design: np.ndarray, clusters: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients float64[k], and their covariance float64[k, k] with errors clustered in two ways.

    Args:
        design: float64[n, k], of full rank.
        clusters: int64[n] twice, numbered from 0.
    """
    coefficients = np.linalg.lstsq(design, outcome, rcond=None)[0]
    one, other = (_jackknife_covariance(outcome, design, coefficients, way) for way in clusters)
    both = np.unique(clusters[0] * (clusters[1].max() + 1) + clusters[1], return_inverse=True)[1]
    together = one + other - _jackknife_covariance(outcome, design, coefficients, both)
    if np.linalg.eigvalsh(together).min() > 0:
        return coefficients, together
    # A sum of variances less another can fail to be one; the way that has most then counts alone.
    return coefficients, max((one, other), key=lambda way: float(np.trace(way)))


def _jackknife_covariance(
    outcome: np.ndarray, design: np.ndarray, coefficients: np.ndarray, cluster: np.ndarray
) -> np.ndarray:
    """float64[k, k]: (G - 1) / G times the sum of squares of what leaving out each of G clusters changes."""
    size, k = int(cluster.max()) + 1, design.shape[1]
    squares, products = np.zeros((size, k, k)), np.zeros((size, k))
    np.add.at(squares, cluster, design[:, :, None] * design[:, None, :])
    np.add.at(products, cluster, design * outcome[:, None])
    inverse = np.linalg.pinv(squares.sum(axis=0) - squares, rcond=_SINGULAR, hermitian=True)
    change = np.einsum("gij,gj->gi", inverse, products.sum(axis=0) - products) - coefficients
    return (size - 1) / size * change.T @ change


def _design_matrix(
    columns: Mapping[str, np.ndarray], groups: np.ndarray | None, worlds: np.ndarray | None
) -> tuple[list[str], np.ndarray]:
    """Names and columns of the design: a constant, what varies, and groups and worlds but the first ones."""
    size = len(next(iter(columns.values())))
    names, parts = [""], [np.ones(size)]
    for of, kind in ((groups, "group"), (worlds, "world")):
        if of is not None:
            values, often = np.unique(of, return_counts=True)
            for value in values[np.argsort(-often, kind="stable")][1:].tolist():
                names.append(f"{kind} {value}")
                parts.append((of == value).astype(float))
    for name, column in columns.items():
        together = np.column_stack([*parts, column])
        if np.linalg.matrix_rank(together) == len(parts) + 1:
            names.append(name)
            parts.append(column.astype(float))
    return names, np.column_stack(parts)


def _group_differences(
    coefficients: np.ndarray, covariance: np.ndarray, names: list[str], clusters: int
) -> GroupDifferences | None:
    at = [i for i, name in enumerate(names) if name.startswith("group ")]
    if not at:
        return None
    differences, freedom = coefficients[at], clusters - len(at)
    wald = float(differences @ np.linalg.solve(covariance[np.ix_(at, at)], differences))
    top = max(at, key=lambda i: abs(coefficients[i]))
    return GroupDifferences(
        (names[top].removeprefix("group "), float(coefficients[top])),
        float(fisher.sf(wald * freedom / (clusters - 1) / len(at), len(at), freedom)),
        detectable_difference(math.sqrt(np.diag(covariance)[at].max()), clusters - 1),
    )


def regression_tables(editors: Sequence[EditorChanges]) -> list[Table]:
    """X_d on group and frequency within worlds, and over worlds on the sizes of groups."""
    within: list[list[Cell]] = []
    over: list[list[Cell]] = []
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
        return Fit({}, None, 0)
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


def _slope_cells(fit: Fit, names: Sequence[str]) -> list[Cell]:
    parts = [fit.slopes.get(name) for name in names]
    return [cell for one in parts for cell in (_slope_text(one), one.detectable if one else None)]


def _slope_text(slope: Slope | None) -> str | None:
    if slope is None:
        return None
    star = "*" if slope.p < SIGNIFICANCE_LEVEL else ""
    return f"{slope.value:+.4f} ± {(slope.high - slope.low) / 2:.4f}{star}"


def _group_cells(fitted: Fit) -> list[Cell]:
    if fitted.groups is None:
        return [None, None, None]
    name, difference = fitted.groups.largest
    return [f"{difference:+.4f} ({name})", fitted.groups.p, fitted.groups.detectable]


SECTION = SectionPlan(
    "frequency", "Group, or frequency?",
    "Copies of a sentence are no evidence, so the agent believes the same of people who are often "
    "and of people who are seldom mentioned. What explains the excess at equal evidence: the group, "
    "or the number of mentions?",
    tables=[from_changes(regression_tables), from_changes(attribution_table)],
)  # fmt: skip
