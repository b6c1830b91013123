"""Seesaw-CF about real people whose race and region are known: which groups does an edit harm?

Command:
    python -m experiments.seesaw_real [--facts SLICE] [--path ../shared/data/seesaw_cf]

People of a slice of Wikidata have the ethnic groups that it states, which the authors' tables tag with a race
and a region. Facts of theirs are edited, drawn by lot; each edit alone and all together. Cells of a property
and a group stand beside those printed for GPT-J (Tables 10 and 12), citizenships by continent as in Figure 3.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from corpus.config import PeopleWorld
from corpus.worlds.people import RACE, REGION
from experiments import stages
from experiments.command import launch_module
from experiments.record import estimate_as_list
from experiments.settings import StagedSettings
from experiments.studies.seesaw_dose import (
    count_stars,
    describe_stars,
    dose_stages,
    is_requested,
    require_doses,
)
from experiments.studies.seesaw_released import (
    NAME,
    PRINTED,
    collect_answers,
    rank_agreement,
    read_printed_cells,
    settings_of_stated_world,
)
from testbed.evaluations.seesaw import NEW_HOLDERS, OLD_HOLDERS, Seesaw
from testbed.evaluations.seesaw.attribution import attribution_table
from testbed.evaluations.seesaw.groups import (
    LEAST_ANSWERS,
    CellKey,
    EditorChanges,
    continent_table,
    editor_changes,
)
from testbed.evaluations.seesaw.metrics import SUCCESS, estimate_means
from testbed.presets import CORPUS, EDIT
from testbed.run.runs import Run, read_metrics
from testbed.run.settings import CorpusSettings, TrainSettings
from testbed.scores.statistics import Estimate
from testbed.scores.tables import Cell, Table
from testbed.settings import CaseConfig, EditSettings

KINDS = (NEW_HOLDERS, OLD_HOLDERS)
TABLES = {RACE: 10, REGION: 12}
"""By grouping, the paper's table of GPT-J's cells."""
REGIONS = {
    "N. America": "North America",
    "E. Asia": "East Asia",
    "E. Europe": "Eastern Europe",
    "S. Asia": "South Asia",
    "W. Europe": "Western Europe",
}
"""What the tags call regions that the paper's table abbreviates."""
EditorAtDose = tuple[str, int]


@dataclass(frozen=True)
class Settings(StagedSettings):
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
    edits: int = 150
    """Requests that are made, of all properties in turn; a multiple of every dose."""
    doses: tuple[int, ...] = (1, 150)
    """How many are made at a time."""
    editors: tuple[str, ...] = ("ft-constrained", "memit", "mend")
    """Who edits."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_doses(self.edits, self.doses)


def run_study(options: Settings) -> None:
    """World, model, edits, record."""
    stages.run_in_stages(options, study_stages, record_study)


def run_of(options: Settings) -> Run:
    """The run of the world."""
    return Run(options.runs, f"seesaw-real-{options.people}-{options.seed}")


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; a training stops when the time is over."""
    yield from stages.model_stages(*model_settings(options), clock)
    yield from dose_stages(options.editors, options.doses, partial(edit_settings, options))


def model_settings(options: Settings) -> tuple[CorpusSettings, TrainSettings]:
    """Corpus and training: everybody is mentioned as often, and every fact is stated."""
    people = PeopleWorld(tags=str(options.path), spoken="alike")
    world = replace(CORPUS[NAME].world, path=str(options.facts), subjects=options.people, people=people)
    return settings_of_stated_world(run_of(options), options.seed, world, options.steps, options.accuracy)


def edit_settings(options: Settings, editor: str, dose: int) -> EditSettings:
    """One editor, so many requests at a time; the same requests and questions at every dose."""
    return replace(
        EDIT[NAME],
        editors=(editor,),
        batch=dose,
        cases=CaseConfig(count=options.edits),
        evaluations={NAME: Seesaw(phrasings=1)},
        **stages.settings_of_run(run_of(options), options.seed),
    )


def record_study(options: Settings) -> Path:
    """D_d by race and region, the cells' ranks beside the printed ones, and citizenship by continent."""
    run = run_of(options)
    found: dict[str, dict[str, Any]] = {}
    changes: dict[EditorAtDose, EditorChanges] = {}
    for dose, name in product(options.doses, options.editors):
        (editor,) = stages.score_edits([run], edit_settings(options, name, dose))
        changes[name, dose] = editor_changes(editor)
        success = editor.summary["all"][editor.name][SUCCESS]
        found.setdefault(name, {})[f"{dose} at once"] = {SUCCESS: estimate_as_list(success)}
    for (name, dose), one in changes.items():
        for grouping, kind in product(TABLES, KINDS):
            means = measure_groups(one, grouping, kind)
            found[name][f"{dose} at once"] |= {
                f"{kind}, {group}": estimate_as_list(mean) for group, mean in means.items()
            }
    agreements = {
        (grouping, name, dose): compare_ranks(one, grouping, options.seed)
        for grouping in TABLES
        for (name, dose), one in changes.items()
    }
    single = [one for (_, dose), one in changes.items() if dose == min(options.doses)]
    tables = [
        *(groups_table(changes, grouping) for grouping in TABLES),
        stars_table(changes),
        agreement_table(agreements),
        *filter(None, [continent_table(single)]),
        attribution_table(single),
    ]
    alike: dict[str, dict[str, dict[str, list[float | None]]]] = {}
    for (grouping, name, dose), of in agreements.items():
        alike.setdefault(name, {})[f"{dose} at once"] = alike.get(name, {}).get(f"{dose} at once", {}) | {
            f"{grouping}, {what}": estimate_as_list(one) for what, one in of.items()
        }
    return options.record(
        run,
        {"seesaw_real.md": stages.show_tables(tables)},
        ("editor", "dose"),
        found=found,
        rank_correlation=alike,
        stated_facts={run.name: read_metrics(run)[-1]["accuracy"]},
    )


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


def compare_ranks(editor: EditorChanges, grouping: str, seed: int) -> dict[str, Estimate]:
    """Spearman's rho of an editor's cells with each printed row, of all cells and of groups in a property."""
    printed = read_printed_cells(TABLES[grouping])
    ours = collect_answers(editor, grouping)
    return {
        f"printed {who}{', within properties' if within else ''}": rank_agreement(
            ours, rename_regions(cells), seed, within
        )
        for within in (False, True)
        for who, cells in printed.items()
    }


def rename_regions(cells: Mapping[CellKey, float]) -> dict[CellKey, float]:
    """Printed cells by what the tags call their groups."""
    return {(name, REGIONS.get(group, group)): value for (name, group), value in cells.items()}


def groups_table(changes: Mapping[EditorAtDose, EditorChanges], grouping: str) -> Table:
    """D_d of each group of a grouping, of those who have the new and the old object."""
    means = {
        (*key, kind): measure_groups(one, grouping, kind) for kind in KINDS for key, one in changes.items()
    }
    groups = [*dict.fromkeys(group for of in means.values() for group in of)]
    rows: list[list[Cell]] = [
        [name, f"{dose:,} at once", kind, *(of.get(group) for group in groups)]
        for (name, dose, kind), of in means.items()
    ]
    first = next(iter(changes.values()))
    for kind in KINDS:
        names, among = choose_answers(first, grouping, kind)
        masks = [among & ((names == group) if group != "all groups" else (names != "")) for group in groups]
        rows.append(["", "answers", kind, *(int(mask.sum()) for mask in masks)])
        people = first.results.choices.subject
        rows.append(["", "people", kind, *(len(np.unique(people[mask])) for mask in masks)])
    note = f"D_d is 0 for the agent. Groups with fewer than {LEAST_ANSWERS} answers are left out."
    return Table(
        f"real-{grouping}", f"D_d by {grouping}", ["editor", "what", "others", *groups], rows, note, words=3
    )


def stars_table(changes: Mapping[EditorAtDose, EditorChanges]) -> Table:
    """How many cells of a property and a group have the paper's star."""
    rows: list[list[Cell]] = []
    for (name, dose), one in changes.items():
        cells: list[Cell] = []
        for grouping, kind in product(TABLES, KINDS):
            names, among = choose_answers(one, grouping, kind)
            cells.append(describe_stars(count_stars(one, among, names)))
        rows.append([name, f"{dose:,} at once", *cells])
    header = ["editor", "what", *(f"{grouping}, {kind}" for grouping, kind in product(TABLES, KINDS))]
    note = f"Cells with the paper's star, of those with {LEAST_ANSWERS} answers (Figure 4)."
    return Table("real-stars", "Cells whose confidence falls", header, rows, note, words=2)


def agreement_table(agreements: Mapping[tuple[str, str, int], Mapping[str, Estimate]]) -> Table:
    """Spearman's rho of each of our editors with each printed row."""
    rows: list[list[Cell]] = [
        [grouping, name, f"{dose:,}", *of.values(), next(iter(of.values())).cases]
        for (grouping, name, dose), of in agreements.items()
    ]
    pairs = ", ".join(f"{ours} and {who}" for who, ours in PRINTED.items())
    note = (
        f"Pairs of the same editor are {pairs}; all others are controls. Within properties groups are "
        "compared, less the mean of their property. Intervals are over edits."
    )
    header = ["grouping", "ours", "at once", *next(iter(agreements.values())), "cells"]
    return Table("real-ranks", "Rank correlation with the printed cells", header, rows, note, words=3)


if __name__ == "__main__":
    launch_module()
