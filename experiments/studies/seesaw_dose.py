"""Seesaw-CF: does an edit made together with others harm those whom single edits help?

Command:
    python -m experiments.seesaw_dose
    python -m experiments.seesaw_dose --people 10008 --worlds 1 --edits 900 --doses 1 10 100 900

Halevy et al. 2024 made, as far as their files tell, 900 edits at once; experiments.seesaw makes each alone.
Here the same 300 requests about 1,200 people are made 1, 10, 100 and 300 at a time, by every editor that
takes batches, and the others are asked the same questions each time. Groups differ, and everybody is
mentioned as often. Whoever has the edited relation changed by another of the requests is left out. For the
rational agent requests do not touch other people's stated facts: its change is 0 at every dose.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments import stages
from experiments.command import launch_module
from experiments.record import estimate_as_list
from experiments.settings import StagedSettings
from experiments.studies.seesaw import NAME, SHARES, WorldKind, model_settings
from experiments.studies.seesaw import Settings as SeesawSettings
from testbed.engine.results import Results
from testbed.evaluations.seesaw import NEW_HOLDERS, OLD_HOLDERS, OTHERS, Seesaw
from testbed.evaluations.seesaw.attribution import attribution_table
from testbed.evaluations.seesaw.groups import (
    EditorChanges,
    count_lowered,
    editor_changes,
    group_cells,
    group_names,
)
from testbed.evaluations.seesaw.metrics import SUCCESS, estimate_means
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run, read_metrics
from testbed.scores.statistics import Estimate
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.settings import CaseConfig, EditSettings

WORLD = WorldKind(shift=True, frequency=False)
MANY = 5000
"""People from which on a model learns as `paper-laptop`'s does: by larger steps, of short documents."""
STARRED = (NEW_HOLDERS, OLD_HOLDERS)
"""Others whose cells are counted: those whom the paper asks, and those who have the old object."""


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is measured."""

    worlds: int = 3
    """Worlds, of seeds 1, 2, ..."""
    people: int = 1200
    """People of each world, a multiple of 24."""
    steps: int = 2400
    """Most steps of training."""
    accuracy: float = 0.95
    """Share of facts at which a training stops."""
    edits: int = 300
    """Requests in each world; a multiple of every dose."""
    doses: tuple[int, ...] = (1, 10, 100, 300)
    """How many requests are made at a time."""
    editors: tuple[str, ...] = ("full", "ft-constrained", "lora-down", "memit")
    """Who edits."""
    others: int = 4
    """Other people of each kind that are asked about after each request."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.people % sum(SHARES):
            raise ValueError(f"people must be a multiple of {sum(SHARES)}; they are {self.people}")
        require_doses(self.edits, self.doses)


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


def run_study(options: Settings) -> None:
    """Worlds, models, edits, record."""
    stages.run_in_stages(options, study_stages, record_study)


def list_runs(options: Settings) -> list[tuple[Run, int]]:
    """The run and the seed of each world."""
    return stages.runs_of_worlds(options.runs, f"seesaw-dose-{options.people}", options.worlds)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; trainings stop when the time is over."""
    shape = SeesawSettings(runs=options.runs, people=options.people, steps=options.steps)
    for run, seed in list_runs(options):
        where = stages.settings_of_run(run, seed)
        corpus, recipe = model_settings(shape, WORLD, seed)
        if options.people >= MANY:
            steps = replace(TRAIN["paper-laptop"].train, steps=options.steps)
            recipe = replace(TRAIN["paper-laptop"], train=steps)
            length = CORPUS["paper-laptop"].documents.length
            corpus = replace(corpus, documents=replace(corpus.documents, length=length))
        recipe = replace(recipe, until=options.accuracy, **where)
        yield from stages.model_stages(replace(corpus, **where), recipe, clock)
        make_settings = partial(edit_settings, options, run, seed)
        yield from dose_stages(options.editors, options.doses, make_settings)


def require_doses(edits: int, doses: Sequence[int]) -> None:
    """Raises ValueError unless so many requests can be made at every dose, none left over."""
    if any(edits % dose for dose in doses):
        raise ValueError(f"edits {edits} must be a multiple of every dose")


def dose_stages(
    editors: Sequence[str], doses: Sequence[int], make_settings: Callable[[str, int], EditSettings]
) -> Iterator[stages.Stage]:
    """Edits by each editor at each dose, whose settings are made of both."""
    for dose in doses:
        yield from stages.edit_stages((make_settings(name, dose) for name in editors), f", {dose} at once")


def edit_settings(options: Settings, run: Run, seed: int, editor: str, dose: int) -> EditSettings:
    """One editor at one dose; the requests and what is asked of others are the same at every dose."""
    return replace(
        EDIT[NAME],
        editors=(editor,),
        batch=dose,
        cases=CaseConfig(count=options.edits),
        evaluations={NAME: Seesaw(others=options.others)},
        **stages.settings_of_run(run, seed),
    )


def record_study(options: Settings) -> Path:
    """How others' confidence changes with the dose."""
    runs = list_runs(options)
    by_dose, single = {}, []
    for name, dose in product(options.editors, options.doses):
        (editor,) = stages.score_edits([run for run, _ in runs], edit_settings(options, *runs[0], name, dose))
        changes = editor_changes(editor)
        by_dose[name, dose] = measure_dose(editor, changes)
        if dose == 1:
            single.append(changes)
    found: dict[str, dict[str, dict[str, list[float | None]]]] = {}
    for (name, dose), of_dose in by_dose.items():
        figures = {SUCCESS: of_dose.success} | {f"D_d {kind}": x for kind, x in of_dose.change.items()}
        found.setdefault(name, {})[f"{dose} at once"] = {k: estimate_as_list(x) for k, x in figures.items()}
    stated = {run.name: read_metrics(run)[-1]["accuracy"] for run, _ in runs}
    tables = [dose_table(by_dose, options), *([attribution_table(single)] if single else [])]
    pages = {"seesaw_dose.md": stages.show_tables(tables)}
    return options.record(runs[0][0], pages, ("editor", "dose"), found=found, stated_facts=stated)


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


def dose_table(by_dose: Mapping[tuple[str, int], Dose], options: Settings) -> Table:
    """A row for each editor and dose."""
    rows: list[list[Cell]] = []
    for (name, dose), one in by_dose.items():
        stars = [describe_stars(one.lowered[kind]) for kind in STARRED]
        rows.append([name, f"{dose:,}", one.success, *one.change.values(), *stars])
    header = ["editor", "at once", SUCCESS, *(f"D_d, {kind}" for kind in OTHERS)]
    header += [f"stars, {kind}" for kind in STARRED]
    note = (
        f"{options.edits} requests in each of {options.worlds} worlds of {options.people:,} people. D_d is 0 "
        "for the agent. Stars: cells of a property and a race whose confidence falls by the paper's test."
    )
    return Table("dose", "What happens to others, by requests made at once", header, rows, note, words=2)


def describe_stars(counts: tuple[int, int]) -> str:
    """What `count_stars` counts, in words."""
    return f"{counts[1]} of {counts[0]}"


if __name__ == "__main__":
    launch_module()
