"""Seesaw-CF about real people whose race and region are known: which groups does an edit harm?

Command:
    python -m experiments.seesaw_real [--facts SLICE] [--path ../shared/data/seesaw_cf]

People of a slice of Wikidata have the ethnic groups that it states, which the authors' tables tag with a race
and a region. Facts of theirs are edited, drawn by lot; each edit alone and all together. Cells of a property
and a group stand beside those printed for GPT-J (Tables 10 and 12), citizenships by continent as in Figure 3.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from corpus.config import PeopleWorld
from corpus.worlds.people import RACE, REGION
from experiments.command import launch_module
from experiments.measures.people_cells import (
    PRINTED,
    collect_answers,
    count_stars,
    describe_stars,
    is_requested,
    rank_agreement,
    read_printed_cells,
)
from experiments.study import Findings, Study, StudyOptions, Values
from testbed.evaluations.seesaw import NEW_HOLDERS, OLD_HOLDERS
from testbed.evaluations.seesaw.attribution import attribution_table
from testbed.evaluations.seesaw.groups import LEAST_ANSWERS, EditorChanges, continent_table, editor_changes
from testbed.evaluations.seesaw.metrics import SUCCESS, estimate_means
from testbed.scores.statistics import Estimate
from testbed.scores.tables import Cell, Table
from testbed.scores.views import View

KINDS = (NEW_HOLDERS, OLD_HOLDERS)
TABLES = {RACE: 10, REGION: 12}
"""By grouping, the paper's table of GPT-J's cells."""
REGIONS = {
    "N. America": "North America", "E. Asia": "East Asia", "E. Europe": "Eastern Europe",
    "S. Asia": "South Asia", "W. Europe": "Western Europe",
}  # fmt: skip
"""What the tags call regions that the paper's table abbreviates."""


@dataclass(frozen=True)
class Options(StudyOptions):
    """How much is measured."""

    facts: Path = Path("../shared/data/wikidata_slice")
    """Folder of facts, in Wikidata5m's layout."""
    path: Path = Path("../shared/data/seesaw_cf")
    """Folder of Seesaw-CF's tables of race and region."""
    seed: int = 0
    """Of the world and the model."""
    people: int = 600
    """People of the world, those first of whom most is known, so that nearly all of these have a race."""
    steps: int = 1200
    """Most steps of training."""
    accuracy: float = 0.95
    """Share of facts at which a training stops."""
    doses: tuple[int, ...] = (1, 150)
    """How many requests are made at a time, a divisor of all edits."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(self.edits % dose for dose in self.doses):
            raise ValueError(f"edits {self.edits} must be a multiple of every dose")

    @property
    def cells(self) -> list[Values]:
        """The same requests and questions at every dose."""
        return [{"dose": dose, "seed": self.seed} for dose in self.doses]


def choose_answers(editor: EditorChanges, grouping: str, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """str[N], the group of whoever is asked about; and bool[N], who counts: no request changes their fact."""
    choices = editor.results.choices
    return choices.facets[grouping].astype(str), (choices.role == kind) & ~is_requested(editor.results)


def measure_groups(editor: EditorChanges, grouping: str, kind: str) -> dict[str, Estimate]:
    """D_d of each group with answers enough, edits of all properties together; "all groups" comes first."""
    names, among = choose_answers(editor, grouping, kind)
    masks = {"all groups": among & (names != "")}
    masks |= {name: among & (names == name) for name in np.unique(names[among]).tolist() if name}
    enough = {name: mask for name, mask in masks.items() if mask.sum() >= LEAST_ANSWERS}
    change = editor.changes.change
    return estimate_means(editor.results, {name: (change, mask) for name, mask in enough.items()})


def make_tables(findings: Findings) -> Iterator[Table]:
    """D_d by race and region, the cells' ranks beside the printed ones, and citizenship by continent."""
    doses, seed = findings.options.doses, findings.options.seed
    changes = {(one.name, dose): editor_changes(one) for dose in doses for one in findings.editors(dose=dose)}
    for grouping in TABLES:
        means = {(*key, kind): measure_groups(one, grouping, kind)
                 for kind in KINDS for key, one in changes.items()}  # fmt: skip
        groups = [*dict.fromkeys(group for of in means.values() for group in of)]
        rows: list[list[Cell]] = [
            [name, f"{dose:,} at once", kind, *(of.get(group) for group in groups)]
            for (name, dose, kind), of in means.items()
        ]
        first = next(iter(changes.values()))
        for kind in KINDS:
            names, among = choose_answers(first, grouping, kind)
            masks = [among & ((names == g) if g != "all groups" else (names != "")) for g in groups]
            rows.append(["", "answers", kind, *(int(mask.sum()) for mask in masks)])
            people = first.results.choices.subject
            rows.append(["", "people", kind, *(len(np.unique(people[mask])) for mask in masks)])
        note = f"D_d is 0 for the agent. Groups with fewer than {LEAST_ANSWERS} answers are left out."
        header = ["editor", "what", "others", *groups]
        yield Table(f"real-{grouping}", f"D_d by {grouping}", header, rows, note, words=3)
    pairs = [*product(TABLES, KINDS)]
    rows = [
        [name, f"{dose:,} at once",
         *(describe_stars(count_stars(one, *reversed(choose_answers(one, *pair)))) for pair in pairs)]
        for (name, dose), one in changes.items()
    ]  # fmt: skip
    header = ["editor", "what", *(f"{grouping}, {kind}" for grouping, kind in pairs)]
    note = f"Cells with the paper's star, of those with {LEAST_ANSWERS} answers (Figure 4)."
    yield Table("real-stars", "Cells whose confidence falls", header, rows, note, words=2)
    yield rank_table(changes, seed)
    single = [one for (_, dose), one in changes.items() if dose == min(doses)]
    yield from filter(None, [continent_table(single), attribution_table(single)])


def rank_table(changes: dict[tuple[str, int], EditorChanges], seed: int) -> Table:
    """Spearman's rho of each of our editors with each printed row, of all cells and within properties."""
    rows: list[list[Cell]] = []
    for grouping, number in TABLES.items():
        printed = {
            who: {(name, REGIONS.get(group, group)): value for (name, group), value in cells.items()}
            for who, cells in read_printed_cells(number).items()
        }
        for (name, dose), one in changes.items():
            ours = collect_answers(one, grouping)
            rhos = [rank_agreement(ours, cells, seed, within)
                    for within in (False, True) for cells in printed.values()]  # fmt: skip
            rows.append([grouping, name, f"{dose:,}", *rhos, rhos[0].cases])
    pairs = ", ".join(f"{ours} and {who}" for who, ours in PRINTED.items())
    note = (
        f"Pairs of the same editor are {pairs}; all others are controls. Within properties groups are "
        "compared, less the mean of their property. Intervals are over edits."
    )
    heads = [f"printed {who}{end}" for end in ("", ", within properties") for who in PRINTED]
    header = ["grouping", "ours", "at once", *heads, "cells"]
    return Table("real-ranks", "Rank correlation with the printed cells", header, rows, note, words=3)


STUDY = Study(
    options=Options(editors=("ft-constrained", "memit", "mend"), edits=150),
    run="seesaw-real-{people}-{seed}",
    preset="seesaw",
    corpus=lambda cell: {
        "world.path": str(cell["facts"]), "world.subjects": cell["people"],
        "world.people": PeopleWorld(tags=str(cell["path"]), spoken="alike"), "exact.strata": (0.0, 0.0, 1.0),
    },
    train=lambda cell: {"train.steps": cell["steps"], "until": cell["accuracy"]},
    edit=lambda cell: {"batch": cell["dose"], "seesaw.phrasings": 1},
    views=[View("real", "Requests stated", (SUCCESS,), rows={"reader": "editor", "dose": "at once"})],
    tables=make_tables,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
