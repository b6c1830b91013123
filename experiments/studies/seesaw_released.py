"""Seesaw-CF's own requests, about its own people: do our cells rank as the paper's printed ones?

Command:
    python -m experiments.seesaw_released [--path ../shared/data/seesaw_cf]

The released files say what some 1,300 people have whose facts are edited, and what 54,000 others have who
are asked about. A world of the first and of some of the others is learned; then the paper's requests are
made, each alone and all together. The files tell gender and hardly anybody's race, so that of the printed
cells of a property and a group those of women and men can be compared (Table 14).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from corpus.config import PeopleWorld, WorldConfig
from corpus.worlds.people import GENDER
from corpus.worlds.people.released import REQUESTS
from experiments import stages
from experiments.command import launch_module
from experiments.record import estimate_as_list
from experiments.settings import StagedSettings
from experiments.studies.agreement import estimate_over_edits
from experiments.studies.seesaw_dose import Dose, dose_stages, is_requested, measure_dose, require_doses
from testbed.evaluations.seesaw import NEW_HOLDERS, OTHERS, Seesaw
from testbed.evaluations.seesaw.groups import CellKey, EditorChanges, GroupCell, editor_changes, group_cells
from testbed.evaluations.seesaw.metrics import SUCCESS
from testbed.evaluations.seesaw.population import Population
from testbed.evaluations.seesaw.released import Hindrance, Poser, read_world_requests
from testbed.evaluations.seesaw.tables import paper_accuracy_table, read_table
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run, read_metrics
from testbed.run.settings import CorpusSettings, TrainSettings
from testbed.run.world import World, load_world
from testbed.scores.statistics import Estimate
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.settings import CaseConfig, EditSettings

NAME = "seesaw"
PRINTED = {"FT": "ft-constrained", "MEND": "mend", "MEMIT": "memit"}
"""Editors of the paper, and what they are called here."""
LEAST_CELLS = 3
"""Of fewer no ranks are compared."""
EditorAtDose = tuple[str, int]


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is measured."""

    path: Path = Path("../shared/data/seesaw_cf")
    """Folder of the released files."""
    seed: int = 0
    """Of the world and the model."""
    people: int = 2400
    """People of the world: all whose facts are edited, and as many of those asked about as there is room."""
    steps: int = 1200
    """Most steps of training."""
    accuracy: float = 0.97
    """Share of facts at which a training stops."""
    edits: int = 300
    """Requests that are made, of all properties in turn; a multiple of every dose."""
    doses: tuple[int, ...] = (1, 300)
    """How many are made at a time. The paper's were made together, as far as its files tell."""
    editors: tuple[str, ...] = ("full", "ft-constrained", "memit", "mend")
    """Who edits."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_doses(self.edits, self.doses)


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


def run_study(options: Settings) -> None:
    """World, model, edits, record."""
    stages.run_in_stages(options, study_stages, record_study)


def run_of(options: Settings) -> Run:
    """The run of the world."""
    return Run(options.runs, f"seesaw-released-{options.people}-{options.seed}")


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; a training stops when the time is over."""
    yield from stages.model_stages(*model_settings(options), clock)
    yield from dose_stages(options.editors, options.doses, partial(edit_settings, options))


def model_settings(options: Settings) -> tuple[CorpusSettings, TrainSettings]:
    """Corpus and training: everybody is mentioned as often, and every fact is stated."""
    world = replace(
        CORPUS[NAME].world,
        path=str(options.path),
        subjects=options.people,
        people=PeopleWorld(spoken="alike"),
    )
    return settings_of_stated_world(run_of(options), options.seed, world, options.steps, options.accuracy)


def settings_of_stated_world(
    run: Run, seed: int, world: WorldConfig, steps: int, accuracy: float
) -> tuple[CorpusSettings, TrainSettings]:
    """Corpus and training of a world of people in which every fact is stated.

    Args:
        steps: most steps of training.
        accuracy: share of facts at which it stops.
    """
    where, preset, training = stages.settings_of_run(run, seed), CORPUS[NAME], TRAIN[NAME]
    exact = replace(preset.exact, strata=(0.0, 0.0, 1.0))
    train = replace(training.train, steps=steps)
    return (
        replace(preset, world=world, exact=exact, **where),
        replace(training, train=train, until=accuracy, **where),
    )


def edit_settings(options: Settings, editor: str, dose: int) -> EditSettings:
    """The paper's requests by one editor, so many at a time; the same at every dose."""
    return replace(
        EDIT[NAME],
        editors=(editor,),
        batch=dose,
        cases=CaseConfig(count=options.edits),
        evaluations={NAME: Seesaw(requests="released", phrasings=1)},
        **stages.settings_of_run(run_of(options), options.seed),
    )


def record_study(options: Settings) -> Path:
    """Which requests the world can pose, our cells beside the printed ones, and how alike they rank."""
    run, printed = run_of(options), read_printed_cells()
    scored: dict[EditorAtDose, ScoredEditor] = {}
    for dose, name in product(options.doses, options.editors):
        (scored[name, dose],) = stages.score_edits([run], edit_settings(options, name, dose))
    changes = {key: editor_changes(one) for key, one in scored.items()}
    by_key = {key: collect_answers(one) for key, one in changes.items()}
    agreements = {
        key: {who: rank_agreement(one, cells, options.seed) for who, cells in printed.items()}
        for key, one in by_key.items()
    }
    tables = [
        requests_table(load_world(run)),
        cells_table(by_key, printed),
        agreement_table(agreements),
        kinds_table({key: measure_dose(one, changes[key]) for key, one in scored.items()}),
        paper_accuracy_table([scored[name, options.doses[0]] for name in options.editors]),
    ]
    found: dict[str, dict[str, dict[str, list[float | None]]]] = {}
    alike: dict[str, dict[str, dict[str, list[float | None]]]] = {}
    for (name, dose), one in by_key.items():
        means = {f"{r}, {group}": estimate_as_list(cell.mean) for (r, group), cell in one.cells.items()}
        found.setdefault(name, {})[f"{dose} at once"] = means
        rhos = {f"printed {who}": estimate_as_list(rho) for who, rho in agreements[name, dose].items()}
        alike.setdefault(name, {})[f"{dose} at once"] = rhos
    return options.record(
        run,
        {"seesaw_released.md": stages.show_tables(tables)},
        ("editor", "dose"),
        found=found,
        rank_correlation=alike,
        stated_facts={run.name: read_metrics(run)[-1]["accuracy"]},
    )


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


def requests_table(world: World) -> Table:
    """How many requests of each file the world can pose, and what hinders the others."""
    poser, counts = Poser(Population(world)), Counter[tuple[str, str]]()
    for request in read_world_requests(world):
        posed = poser.pose(request)
        counts[request.file, posed if isinstance(posed, Hindrance) else ""] += 1
    rows: list[list[Cell]] = []
    for file in REQUESTS:
        hindered = [counts[file, one] for one in Hindrance]
        rows.append([file, counts[file, ""] + sum(hindered), counts[file, ""], *hindered])
    note = f"In a world of {len(world.graph.subjects):,} of their people."
    header = ["file", "requests", "posed", *Hindrance]
    return Table("requests", "Requests that can be posed", header, rows, note)


def cells_table(
    by_key: Mapping[EditorAtDose, CellAnswers], printed: Mapping[str, Mapping[CellKey, float]]
) -> Table:
    """D_d of those who have the new object, of women and men, ours above the printed row."""
    keys = [*next(iter(printed.values()))]
    rows: list[list[Cell]] = [[who, "printed", *of.values()] for who, of in printed.items()]
    for (name, dose), one in by_key.items():
        rows.append([name, f"{dose:,} at once", *(str(one.cells.get(key, "-")) for key in keys)])
    first = next(iter(by_key.values()))
    rows.append(["", "answers", *(first.cells[key].answers if key in first.cells else 0 for key in keys)])
    rows.append(["", "people", *(first.people.get(key, 0) for key in keys)])
    note = (
        "D_d of those who have the new object. * below 0 with p < .05 by the paper's test, ** also after "
        "Holm's correction over all cells of an editor. Answers and people are the same in every row of ours."
    )
    header = ["editor", "what", *(f"{r}, {group}" for r, group in keys)]
    return Table("cells", "Cells of a property and a gender (Table 14)", header, rows, note, words=2)


def agreement_table(agreements: Mapping[EditorAtDose, Mapping[str, Estimate]]) -> Table:
    """Spearman's rho of each of our editors with each printed row."""
    rows: list[list[Cell]] = [
        [name, f"{dose:,}", *of.values(), next(iter(of.values())).cases]
        for (name, dose), of in agreements.items()
    ]
    pairs = ", ".join(f"{ours} and {who}" for who, ours in PRINTED.items())
    note = (
        f"Pairs of the same editor are {pairs}; all others are controls. Intervals are over edits, of one "
        "world and one model. In print women and men are nearly alike, so that eight cells are four "
        "properties twice."
    )
    header = ["ours", "at once", *(f"printed {who}" for who in PRINTED), "cells"]
    return Table("agreement", "Rank correlation with the printed cells", header, rows, note, words=2)


def kinds_table(by_dose: Mapping[EditorAtDose, Dose]) -> Table:
    """What happens to the three kinds of others."""
    rows: list[list[Cell]] = [
        [name, f"{dose:,}", of.success, *of.change.values()] for (name, dose), of in by_dose.items()
    ]
    header = ["editor", "at once", SUCCESS, *(f"D_d, {kind}" for kind in OTHERS)]
    note = "All properties together. D_d is 0 for the agent. Whose fact another request changes is left out."
    return Table("kinds", "The three kinds of others", header, rows, note, words=2)


if __name__ == "__main__":
    launch_module()
