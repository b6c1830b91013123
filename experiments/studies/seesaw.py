"""Seesaw-CF (Halevy et al. 2024) whole: does an edit harm a group, or those of whom little was said?

Command:
    python -m experiments.seesaw

Six kinds of worlds of people, each with three seeds: groups differ or not (shift), half of each group is
spoken of often or everybody alike (frequency); with both, also one in which the corpus hides who is in which
group, and one in which work depends on gender. Sizes of groups are permuted among them by seed, so that over
worlds size is told from group. Editors have the settings of the preset.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from corpus.config import PeopleWorld
from corpus.seeds import generator
from experiments import stages
from experiments.command import launch_module
from experiments.record import figures_by_editor, read_report
from experiments.settings import StagedSettings
from testbed.evaluations.seesaw import OLD_HOLDERS, OTHERS, Seesaw, crossing
from testbed.evaluations.seesaw.attribution import attribution_table
from testbed.evaluations.seesaw.groups import (
    EditorChanges,
    changes_by_group,
    editor_changes,
    groups_by_size,
    kinds_table,
    lowered_table,
)
from testbed.evaluations.seesaw.regression import (
    fit_group_or_frequency,
    fit_size_or_frequency,
    regression_tables,
)
from testbed.pages.charts import draw_lines
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run, read_metrics
from testbed.run.settings import CorpusSettings, TrainSettings
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Table, markdown_section
from testbed.settings import CaseConfig, EditSettings

NAME = "seesaw"
EDITORS = ("none", "full", "ft-constrained", "mend", "memit", "rome", "in-context")
SLOW = "self-bayes"
SHARES = (8, 6, 4, 3, 2, 1)
"""Sizes of the groups, in 24ths of all people."""


class WorldKind(NamedTuple):
    """Worlds of one kind.

    Attributes:
        shift: groups differ.
        frequency: half of each group is spoken of often.
        states_groups: the corpus says who is in which group.
        by_gender: work depends on gender, and on the group no longer.
    """

    shift: bool
    frequency: bool
    states_groups: bool = True
    by_gender: bool = False

    def __str__(self) -> str:
        properties = (("shift", self.shift), ("frequency", self.frequency), ("said", self.states_groups))
        name = "-".join(f"{'' if on else 'no-'}{what}" for what, on in properties)
        return f"{name}-by-gender" if self.by_gender else name


FACTORIAL = [WorldKind(*switches) for switches in product((True, False), repeat=2)]
HIDDEN, BY_GENDER = WorldKind(True, True, states_groups=False), WorldKind(True, True, by_gender=True)
CELLS = [*FACTORIAL, HIDDEN, BY_GENDER]
KINDS = {
    "groups differ": [cell for cell in FACTORIAL if cell.shift],
    "groups alike": [cell for cell in FACTORIAL if not cell.shift],
    "groups differ, hidden": [HIDDEN],
    "groups differ, work by gender": [BY_GENDER],
}
"""Worlds that are alike in what facts depend on."""


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is measured."""

    seeds: int = 3
    """Worlds of each of the six kinds, each with its own corpus, model and edits."""
    people: int = 144
    """People of each world, a multiple of 24."""
    steps: int = 300
    """Steps of training."""
    edits: int = 40
    """Edits by each editor in each world."""
    slow_edits: int = 8
    """Edits by self-bayes, which takes seconds for each."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.people < 24 or self.people % 24:
            raise ValueError(f"people must be a multiple of 24; they are {self.people}")


def run_study(options: Settings) -> None:
    """Worlds, models, edits, reports, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; trainings stop when the time is over."""
    for seed, cell in product(range(options.seeds), CELLS):
        run = run_of(options, cell, seed)
        where = stages.settings_of_run(run, seed)
        corpus, recipe = model_settings(options, cell, seed)
        yield from stages.model_stages(replace(corpus, **where), replace(recipe, **where), clock)
        yield from stages.edit_stages(_edit_settings(options, run, seed))
    for cell in CELLS:
        yield stages.report_stage(runs_of(options, cell))


def run_of(options: Settings, cell: WorldKind, seed: int) -> Run:
    """The run of one world."""
    return Run(options.runs, f"{NAME}-{cell}-{seed}")


def runs_of(options: Settings, cell: WorldKind) -> list[Run]:
    """The runs of one kind of world."""
    return [run_of(options, cell, seed) for seed in range(options.seeds)]


def model_settings(options: Settings, cell: WorldKind, seed: int) -> tuple[CorpusSettings, TrainSettings]:
    """Corpus and training of one world, without its run."""
    preset, training = CORPUS[NAME], TRAIN[NAME]
    each = options.people // sum(SHARES)
    sizes = generator(seed, "sizes of groups").permutation([each * share for share in SHARES])
    people = PeopleWorld(
        sizes=tuple(sizes.tolist()),
        shift=PeopleWorld().shift if cell.shift else 0.0,
        spoken="crossed" if cell.frequency else "alike",
        said=1.0 if cell.states_groups else 0.0,
        by_gender=PeopleWorld().shift if cell.by_gender else 0.0,
    )
    world = replace(preset.world, subjects=options.people, people=people)
    exact = preset.exact if cell.states_groups else replace(preset.exact, rows="given")
    steps = replace(training.train, steps=options.steps, checkpoint_every=options.steps // 4 or 1)
    return replace(preset, world=world, exact=exact), replace(training, train=steps)


def _edit_settings(options: Settings, run: Run, seed: int) -> Iterator[EditSettings]:
    base = replace(
        EDIT[NAME],
        **stages.settings_of_run(run, seed),
        cases=CaseConfig(count=options.edits),
        evaluations={NAME: Seesaw(others=12)},
    )
    for editor in EDITORS:
        yield replace(base, editors=(editor,))
    yield replace(base, editors=(SLOW,), cases=CaseConfig(count=options.slow_edits))


def record_study(options: Settings) -> Path:
    """The figures of all editors in every kind of world, the tables and the picture of the four panels."""
    editors_by_kind = {cell: _score_worlds(options, [cell]) for cell in CELLS}
    first = run_of(options, CELLS[0], 0)
    _draw_panels(
        {cell: [editor_changes(e) for e in editors_by_kind[cell]] for cell in FACTORIAL}, first.report
    )
    every = [
        editor_changes(e) for e in _score_worlds(options, [cell for cell in CELLS if cell.states_groups])
    ]
    falls = crossing.change_table({kind: _score_worlds(options, cells) for kind, cells in KINDS.items()})
    parts = ["# Which other facts fall\n\n" + markdown_section(falls)]
    parts += [
        f"# {cell}\n\n" + "\n\n".join(map(markdown_section, _kind_tables(editors_by_kind[cell])))
        for cell in CELLS
    ]
    parts.append(
        "# All worlds, groups said\n\n" + "\n\n".join(map(markdown_section, regression_tables(every)))
    )
    return options.record(
        first,
        read_report(first) | {"factorial.md": "\n\n".join(parts) + "\n"},
        found={str(cell): _kind_figures(editors_by_kind[cell]) for cell in CELLS},
        over_worlds={e.name: {kind: fit_size_or_frequency(e, kind) for kind in OTHERS} for e in every},
        stated_facts={
            run.name: read_metrics(run)[-1]["accuracy"] for c in CELLS for run in runs_of(options, c)
        },
    )


def _score_worlds(options: Settings, cells: Sequence[WorldKind]) -> list[ScoredEditor]:
    """All editors in all worlds of some kinds."""
    runs = [run for cell in cells for run in runs_of(options, cell)]
    return stages.score_runs(runs, NAME)


def _kind_tables(editors: Sequence[ScoredEditor]) -> list[Table]:
    every = [editor_changes(editor) for editor in editors]
    matrices = [crossing.accuracy_table(editors, stated) for stated in (True, False)]
    return [
        kinds_table(every), lowered_table(every), *regression_tables(every), attribution_table(every),
        *matrices, crossing.loss_table(editors),
    ]  # fmt: skip


def _kind_figures(editors: Sequence[ScoredEditor]) -> dict[str, Any]:
    by_editor = figures_by_editor(editors, ())
    for moves_of_editor in map(editor_changes, editors):
        fits = {kind: fit_group_or_frequency(moves_of_editor, kind) for kind in OTHERS}
        by_editor[moves_of_editor.name]["group or frequency"] = fits
    return by_editor


def _draw_panels(every: dict[WorldKind, list[EditorChanges]], folder: Path) -> None:
    """Four panels: shift on and off by frequency on and off; excess of old holders by size of group."""
    lines = {}
    for cell, editors in every.items():
        ticks = groups_by_size(editors[0].results, "race")
        title = f"{'groups differ' if cell.shift else 'groups alike'}, "
        title += "half are rarely spoken of" if cell.frequency else "all are spoken of alike"
        lines[title] = {e.name: changes_by_group(e, "race", OLD_HOLDERS, ticks)["X_d"] for e in editors}
    names = [str(size) for size in sorted(SHARES, reverse=True)]
    across = "size of the group, in 24ths of all people"
    draw_lines(lines, names, across, f"X_d of {OLD_HOLDERS}", folder / "factorial.png")


if __name__ == "__main__":
    launch_module()
