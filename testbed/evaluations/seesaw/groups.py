"""Groups: D_d of each cell with the paper's star, and with what the star leaves out.

A cell is a property and a group. The paper's star is that of a one-sample t-test of all answers as if they
were independent: mean below 0 and p < .05, two-sided. Beside it stand Holm's correction over all cells of one
editor, and an interval over edited people and objects. A cell with fewer
than LEAST_ANSWERS answers has its number and no star.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import ttest_1samp

from corpus.worlds.people import CITIZENSHIP, EDITED, GENDER, GROUPINGS, RACE, REGION
from testbed.engine.results import Results
from testbed.evaluations.paper_tables import read_paper_table
from testbed.evaluations.seesaw import NEITHER, NEW_HOLDERS, OLD_HOLDERS, OTHERS, Seesaw
from testbed.evaluations.seesaw.metrics import (
    CHANGE,
    EXCESS,
    ConfidenceChange,
    confidence_change,
    estimate_means,
)
from testbed.pages.chapter import Chart, Material, Picture, SectionPlan, TableSource
from testbed.pages.sections import picture_lines
from testbed.scores.statistics import Estimate, adjust_holm
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table

LEAST_ANSWERS = 20
SIGNIFICANCE_LEVEL = 0.05
CellKey = tuple[str, str]
"""Property and group."""


class GroupCell(NamedTuple):
    """The answers about people of one group after edits of one property.

    Attributes:
        answers: how many.
        mean: of D_d; its interval over clusters.
        p: of the t-test that the mean is 0, two-sided; nan of fewer than LEAST_ANSWERS answers.
        p_holm: `p` after Holm's correction over the cells of one table.
    """

    answers: int
    mean: Estimate
    p: float
    p_holm: float

    @property
    def has_enough_answers(self) -> bool:
        """Whether there are answers enough for a mean to be shown."""
        return self.answers >= LEAST_ANSWERS

    @property
    def is_lowered(self) -> bool:
        """Whether it has the paper's star."""
        return self.has_enough_answers and self.mean.value < 0 and self.p < SIGNIFICANCE_LEVEL

    @property
    def is_lowered_after_holm(self) -> bool:
        """Whether it keeps the star after Holm's correction."""
        return self.has_enough_answers and self.mean.value < 0 and self.p_holm < SIGNIFICANCE_LEVEL

    def __str__(self) -> str:
        if not self.has_enough_answers:
            return f"n = {self.answers}"
        stars = "**" if self.is_lowered_after_holm else "*" if self.is_lowered else ""
        return f"{self.mean.value:+.3f}{stars}"


def group_cells(
    results: Results, values: np.ndarray, among: np.ndarray, groups: np.ndarray
) -> dict[CellKey, GroupCell]:
    """The cells of some answers, in the order of properties and of the sizes of groups.

    Args:
        values: float64[N] of every choice.
        among: bool[N], the answers that count.
        groups: str[N], the group of whoever is asked about; empty ones count nowhere.
    """
    properties = results.cases["property"].astype(str)[results.choices.case]
    is_counted = among & (groups != "")
    keys = sorted({*zip(properties[is_counted].tolist(), groups[is_counted].tolist(), strict=True)})
    masks = {key: is_counted & (properties == key[0]) & (groups == key[1]) for key in keys}
    means = estimate_means(results, {key: (values, mask) for key, mask in masks.items()})
    tests = {key: t_test_mean(values[mask]) for key, mask in masks.items()}
    p_holm = adjust_holm({str(key): p for key, p in tests.items()})
    return {
        key: GroupCell(int(masks[key].sum()), means[key], p, p_holm[str(key)]) for key, p in tests.items()
    }


def t_test_mean(values: np.ndarray) -> float:
    """p-value of a two-sided one-sample t-test that the mean is 0; nan of too few or of equal values."""
    if len(values) < LEAST_ANSWERS or np.ptp(values) == 0:
        return math.nan
    return float(ttest_1samp(values, 0).pvalue)


def count_lowered(by_key: Mapping[CellKey, GroupCell]) -> tuple[int, list[float]]:
    """How many cells have answers enough, and which shares of these are lowered.

    Returns:
        Their number; the shares that have the star, that keep it after Holm's correction, and whose interval
        over clusters is below 0.
    """
    enough = [cell for cell in by_key.values() if cell.has_enough_answers]
    if not enough:
        return 0, [math.nan] * 3
    marks: Sequence[Sequence[bool]] = [
        [cell.is_lowered for cell in enough],
        [cell.is_lowered_after_holm for cell in enough],
        [cell.has_enough_answers and cell.mean.high < 0 for cell in enough],
    ]
    return len(enough), [sum(mark) / len(enough) for mark in marks]


class EditorChanges(NamedTuple):
    """An editor's results, and how every choice of them moved."""

    name: str
    results: Results
    changes: ConfidenceChange

    def cells(self, values: np.ndarray, grouping: str, kind: str) -> dict[CellKey, GroupCell]:
        """The cells of a grouping, of the answers about one kind of others."""
        among = self.results.choices.role == kind
        return group_cells(self.results, values, among, group_names(self.results, grouping))


def editor_changes(editor: ScoredEditor) -> EditorChanges:
    """D_d, D_d^q and X_d of every choice of an editor."""
    results = editor.edits.results
    return EditorChanges(
        editor.name, results, confidence_change(results.choices, editor.readers[editor.name])
    )


def changes_of(material: Material) -> list[EditorChanges]:
    """Those of all editors."""
    return [editor_changes(editor) for editor in material.editors]


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
    rows: list[list[Cell]] = []
    for editor in editors:
        change_cells = editor.cells(editor.changes.change, grouping, kind)
        excess_cells = editor.cells(editor.changes.excess, grouping, kind)
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
    key = f"seesaw-{grouping}-{kind}".replace(" ", "-")
    return Table(key, f"By {grouping}, {kind}", ["editor", "property", "of", *groups], rows, note, words=3)


def lowered_table(editors: Sequence[EditorChanges]) -> Table:
    """Share of cells whose confidence falls, by editor, grouping and kind of others (Figure 4, Table 9)."""
    rows: list[list[Cell]] = []
    for editor, kind, grouping in product(editors, OTHERS, GROUPINGS):
        count, shares = count_lowered(editor.cells(editor.changes.change, grouping, kind))
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
    rows: list[list[Cell]] = []
    for editor, kind in product(editors, OTHERS):
        stars = dict.fromkeys(EDITED, 0)
        for grouping in GROUPINGS:
            for key, cell in editor.cells(editor.changes.change, grouping, kind).items():
                stars[key[0]] += cell.is_lowered
        rows.append([editor.name, kind, *stars.values(), sum(stars.values())])
    header = ["editor", "others", *EDITED, "total"]
    note = "Cells with the paper's star."
    return Table("seesaw-8", "Cells with lowered confidence (Table 8)", header, rows, note, words=2)


def continent_table(editors: Sequence[EditorChanges]) -> Table | None:
    """D_d after citizenship edits, by the new continent and race (Figure 3).

    Continents of several worlds are different ones, so that theirs stand together. A row without any cell of
    LEAST_ANSWERS answers is left out; None if all are.
    """
    first = editors[0].results
    groups, has_several_worlds = groups_by_size(first, RACE), len(np.unique(first.cases["run"])) > 1
    rows: list[list[Cell]] = []
    cells_with_answers = all_cells = 0
    for editor in editors:
        results = editor.results
        c, names = results.choices, group_names(results, RACE)
        of = results.cases["property"].astype(str)[c.case] == CITIZENSHIP
        continent = results.cases["category"].astype(str)[c.case]
        where = np.where(continent == "", "not known", "any" if has_several_worlds else continent)
        for kind, one in product(OTHERS, np.unique(where[of]).tolist()):
            among = of & (where == one) & (c.role == kind)
            by_key = group_cells(results, editor.changes.change, among, names)
            count, _ = count_lowered(by_key)
            cells_with_answers, all_cells = cells_with_answers + count, all_cells + len(groups)
            if count:
                rows.append([editor.name, kind, one, *(_cell_text(by_key, (CITIZENSHIP, g)) for g in groups)])
    title, header = "Citizenship by the new country's continent and race (Figure 3)", ["others", "continent"]
    note = (
        f"D_d; stars as above. {cells_with_answers:,} of {all_cells:,} cells have {LEAST_ANSWERS} answers; "
        "rows without such a cell are left out. Of several worlds all continents stand together."
    )
    return Table("seesaw-3", title, ["editor", *header, *groups], rows, note, words=3) if rows else None


def kinds_table(editors: Sequence[EditorChanges]) -> Table:
    """D_d, gold's own and the excess of the three kinds of others, with intervals."""
    rows: list[list[Cell]] = []
    for editor, kind in product(editors, OTHERS):
        among = editor.results.choices.role == kind
        means = estimate_means(editor.results, {i: (x, among) for i, x in enumerate(editor.changes)})
        rows.append([editor.name, kind, int(among.sum()), *means.values()])
    header = ["editor", "others", "answers", "D_d", "gold's D_d", "X_d"]
    note = "Only new holders are asked in the paper; D_d above 0 of these is how it would have an edit be."
    return Table("kinds", "The three kinds of others", header, rows, note, words=2)


def spread_table(editors: Sequence[EditorChanges]) -> Table:
    """Least and most D_d of all groups, ours above those of the paper's Tables 10 to 15."""
    rows: list[list[Cell]] = []
    for editor, kind, grouping in product(editors, OTHERS, GROUPINGS):
        spread: dict[str, list[float]] = {}
        for (name, _), cell in editor.cells(editor.changes.change, grouping, kind).items():
            if cell.has_enough_answers:
                spread.setdefault(name, []).append(cell.mean.value)
        texts = {name: f"{min(values):+.2f} to {max(values):+.2f}" for name, values in spread.items()}
        rows.append([editor.name, f"this run, {kind}", grouping, *map(texts.get, EDITED)])
    for printed in read_paper_table(Seesaw.package, "ranges"):
        figures = (printed[name] or None for name in EDITED)
        rows.append([printed["who"], f"printed, Table {printed['table']}", printed["grouping"], *figures])
    note = (
        f"Of the groups of a grouping the one whose D_d is least, and most; of this run those with at least "
        f"{LEAST_ANSWERS} answers. The paper asks {NEW_HOLDERS} only. After edits of gender they grow surer "
        "by up to +.98: what a model does that now says the new gender of everybody."
    )
    title = "D_d by property beside the paper's (Tables 10 to 15)"
    return Table("paper-14", title, ["who", "figure", "grouping", *EDITED], rows, note, words=3)


def draw_groups(material: Material) -> list[Picture]:
    """D_d and X_d of each group, of new holders and of old ones, edits of all properties together."""
    every, pictures = material.once(changes_of), []
    for grouping, kind in product((RACE, REGION), (NEW_HOLDERS, OLD_HOLDERS)):
        names = groups_by_size(every[0].results, grouping)
        chart = Chart(
            "lines", f"{grouping}-{kind.partition(' ')[0]}.svg",
            f"D_d and X_d of {kind} by {grouping} (Figure 2)", {},
            [f"{group_size(every[0].results, grouping, name)}" for name in names],
            f"people of the same {grouping}", "change of D", f"change of {kind}",
        )  # fmt: skip
        lines: dict[str, dict[str, list[Estimate]]] = {}
        for e in every:
            of, of_kind = group_names(e.results, grouping), e.results.choices.role == kind
            for called, x in (("D_d", e.changes.change), ("X_d", e.changes.excess)):
                means = estimate_means(e.results, {name: (x, of_kind & (of == name)) for name in names})
                lines.setdefault(e.name, {})[called] = [*means.values()]
        pictures.append(picture_lines(material, chart, lines, names))
    return pictures


def from_changes(make: Callable[..., Any], *which: str) -> TableSource:
    """Tables of how every choice of the editors moved."""
    return lambda of: make(of.once(changes_of), *which)


FIRST, *OTHER_CELLS = product((RACE, REGION, GENDER), OTHERS)
"""Groupings and kinds of others: the table that is open, and those that are folded."""
KINDS = SectionPlan(
    "kinds", "Who is asked decides what is seen",
    "The paper asks only about people with the new object, since an edit of the old one might apply "
    "to others who have it. That measure cannot see the harm. If the model now gives everybody the "
    "new object, it looks surer about those who have it anyway, and D_d is 0 or more, \u201cas it "
    "ideally should be\u201d. People with the old object lose what people with the new one gain. "
    "The paper's gender rows (up to +.98 for MEND) can be read in the same way. So the paper's "
    "number stands here as it is, and beside it the two other kinds. Of gender nobody has neither.",
    [Chart(
        "lines", "kinds.svg", f"D_d of {NEW_HOLDERS}, {OLD_HOLDERS} and {NEITHER} for every editor",
        {"D_d": [*CHANGE.values()], "mean size of X_d": [*EXCESS.values()]}, ["new", "old", "neither"],
        "others who have", "change of D", "D_d",
    )],
    [from_changes(kinds_table)],
)  # fmt: skip
GROUPS = SectionPlan(
    "groups", "Which groups?",
    "Which groups does the model become less sure of, after edits of other people? A star is the "
    "paper's: a t-test that takes all answers for independent. Confidence in a group that is small "
    "or seldom mentioned may fall for that reason alone: see the next section.",
    [draw_groups],
    [from_changes(lowered_table), from_changes(group_table, *FIRST)],
    [from_changes(continent_table), from_changes(lowered_by_property_table),
     *(from_changes(group_table, *which) for which in OTHER_CELLS)],
)  # fmt: skip


def _cell_text(by_key: dict[CellKey, GroupCell], key: CellKey) -> str | None:
    return str(by_key[key]) if key in by_key else None
