"""Where a vector at the subject's name does not reach: TAXI, Seesaw-CF and LEME, edited there.

Command:
    python -m experiments.reach

Each evaluation has generated worlds of some seeds. `keyed` stores at the name what the model's beliefs imply,
`keyed-counting` what counting concludes, `keyed-request` the request alone; beside them stand an adapter and
no edit. TAXI also asks inverse questions, which do not name the subject before they ask for it; Seesaw-CF
asks about other people; LEME lets the model write passages about the subject and about an entity that is
coupled to it. Settings are the editors' own, chosen on none of these worlds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments import stages
from experiments.command import launch_module
from experiments.record import BY_EDITOR, figures_by_editor
from experiments.settings import StagedSettings
from experiments.studies import seesaw
from testbed.evaluations.hase.metrics import SKILL
from testbed.evaluations.leme import metrics as leme
from testbed.evaluations.seesaw import NEITHER, NEW_HOLDERS, OLD_HOLDERS
from testbed.evaluations.seesaw import metrics as people
from testbed.evaluations.taxi import metrics as taxi
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run
from testbed.run.settings import CorpusSettings, TrainSettings
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.settings import CaseConfig, EditSettings

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "taxi": (
        taxi.SUCCESS, taxi.CONSISTENCY, taxi.INVARIANCE, taxi.reverse_name(taxi.CONSISTENCY),
        taxi.OTHERS_RIGHT, taxi.MASS_OUTSIDE, SKILL,
    ),
    "seesaw": (
        people.SUCCESS, people.ACCURACY, people.UNREASONED, people.STILL_RIGHT[NEW_HOLDERS],
        people.STILL_RIGHT[OLD_HOLDERS], people.STILL_RIGHT[NEITHER], people.RATIO,
    ),
    "leme": (
        leme.EFFICACY, leme.EDIT_SUBJECT, leme.FACTUAL_SUBJECT, leme.INTERNAL_SUBJECT, leme.CROSS,
        leme.COUPLED_NEW, leme.TWIN_NEW,
    ),
}  # fmt: skip
"""What each evaluation's table shows."""


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is measured."""

    benchmarks: tuple[str, ...] = tuple(COLUMNS)
    """Whose worlds and questions."""
    editors: tuple[str, ...] = ("keyed", "keyed-counting", "keyed-request", "lora-down", "none")
    """Who edits."""
    seeds: int = 3
    """Worlds of each evaluation."""
    edits: int = 60
    """Edits by each editor in each world."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.benchmarks or set(self.benchmarks) - set(COLUMNS):
            raise ValueError(f"benchmarks must be some of {', '.join(COLUMNS)}")

    def list_runs(self, evaluation: str) -> list[Run]:
        """A run for each world of an evaluation."""
        return [Run(self.runs, f"reach-{evaluation}-{seed}") for seed in range(self.seeds)]


def run_study(options: Settings) -> None:
    """Worlds, models, edits, tables, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Every world, its model and its edits, an evaluation after another."""
    for evaluation in options.benchmarks:
        for seed, run in enumerate(options.list_runs(evaluation)):
            where = stages.settings_of_run(run, seed)
            corpus, recipe = model_settings(options, evaluation, seed)
            yield from stages.model_stages(replace(corpus, **where), replace(recipe, **where), clock)
            edits = edit_settings(options, evaluation, run, seed)
            yield from stages.edit_stages(replace(edits, editors=(name,)) for name in options.editors)


def model_settings(options: Settings, evaluation: str, seed: int) -> tuple[CorpusSettings, TrainSettings]:
    """The preset's; Seesaw's people are those of `experiments.seesaw`, in groups that differ."""
    if evaluation != "seesaw":
        return CORPUS[evaluation], TRAIN[evaluation]
    return seesaw.model_settings(seesaw.Settings(runs=options.runs), seesaw.CELLS[0], seed)


def edit_settings(options: Settings, evaluation: str, run: Run, seed: int) -> EditSettings:
    """The preset's, of one world."""
    cases = CaseConfig(options.edits)
    return replace(
        EDIT[evaluation], editors=options.editors, cases=cases, **stages.settings_of_run(run, seed)
    )


def record_study(options: Settings) -> Path:
    """A table for each evaluation, and every figure."""
    tables: list[Table] = []
    figures: dict[str, Any] = {}
    for evaluation in options.benchmarks:
        runs = options.list_runs(evaluation)
        editors = stages.score_runs(runs, evaluation)
        tables.append(editor_table(editors, evaluation))
        figures |= {f"{evaluation}, {name}": one for name, one in figures_by_editor(editors, ()).items()}
    pages = {"reach.md": stages.show_tables(tables)}
    return options.record(options.list_runs(options.benchmarks[0])[0], pages, BY_EDITOR, found=figures)


def editor_table(editors: list[ScoredEditor], evaluation: str) -> Table:
    """A row for each editor, and for each reference that it is held against."""
    first = editors[0]
    readers = [(one, one.name) for one in editors] + [(first, name) for name in first.reference_names]
    rows: list[list[Cell]] = [
        [reader, *(one.summary["all"][reader].get(metric) for metric in COLUMNS[evaluation])]
        for one, reader in readers
    ]
    return Table(evaluation, f"{evaluation}: edited at the name", ["editor", *COLUMNS[evaluation]], rows)


if __name__ == "__main__":
    launch_module()
