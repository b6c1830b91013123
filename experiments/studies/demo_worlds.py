"""The demo's table over ten worlds: every editor, requests that contradict and that repeat the truth apart.

Command:
    python -m experiments.demo_worlds

Each world has a seed of its own, and with it a corpus, a model and requests, all as `make demo` makes them;
settings are the preset's, not tuned. Intervals are over worlds, subjects and requested objects at once. Takes
about four hours of one core; with `--edits 120` two.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corpus.files import read_json
from experiments import stages
from experiments.command import launch_module
from experiments.record import BY_EDITOR, figures_by_editor
from experiments.settings import StagedSettings
from testbed.evaluations.hase.metrics import (
    CONTRADICTS,
    DAMAGE,
    FOLLOWS,
    METRICS,
    REPEATS,
    SKILL,
    SKILL_RECALIBRATED,
    STAYS,
)
from testbed.evaluations.hase.tables import support_table
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run
from testbed.run.strata import SUPPORT_BINS
from testbed.scores.frame import frame_of
from testbed.scores.metric import metrics_shown_in
from testbed.scores.summary import ScoredEditor, rows_in_contest
from testbed.scores.tables import Cell, Table, better_of
from testbed.settings import CaseConfig, EditSettings

EDITORS = (
    "none", "lora-down", "lora-all", "embeddings", "full", "full-early", "full-late", "ft-constrained",
    "rome", "mend", "in-context", "grace", "sparse", "context-distillation", "count-based", "self-bayes",
    "random-target", "oracle",
)  # fmt: skip
"""All but `memit`, which is `rome` where edits are made one at a time."""
COLUMNS = metrics_shown_in(METRICS, "compared")
OF_WORLDS = (FOLLOWS, STAYS, DAMAGE, SKILL, SKILL_RECALIBRATED)
"""What is shown of each world by itself."""
TITLES = {
    CONTRADICTS: "Requests that contradict the truth",
    REPEATS: "Requests that repeat the truth",
    "all": "All requests",
}


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How many worlds, and who edits them."""

    worlds: int = 10
    """Worlds, of seeds 0, 1, ..."""
    editors: tuple[str, ...] = EDITORS
    """Who edits."""
    edits: int = 240
    """Edits by each editor in each world, half of which repeat the truth."""

    @property
    def world_runs(self) -> list[Run]:
        """A run for each world."""
        return list_world_runs(self.runs, self.worlds)


def run_study(options: Settings) -> None:
    """Worlds, models, edits, tables, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """All models first, then the edits, a world and an editor at a time."""
    yield from list_model_stages(options.world_runs, clock)
    for name in options.editors:
        for seed, run in enumerate(options.world_runs):
            yield from stages.edit_stages([edit_settings(options, run, seed, (name,))])


def list_world_runs(runs: Path, count: int) -> list[Run]:
    """The runs of the demo's worlds of seeds 0, 1, ..."""
    return [Run(runs, f"demo-worlds-{seed}") for seed in range(count)]


def list_model_stages(world_runs: Sequence[Run], clock: stages.Clock) -> Iterator[stages.Stage]:
    """Corpus and model of each of these worlds, where they are missing."""
    for seed, run in enumerate(world_runs):
        where = stages.settings_of_run(run, seed)
        corpus, training = replace(CORPUS["tiny"], **where), replace(TRAIN["tiny"], **where)
        yield from stages.model_stages(corpus, training, clock)


def edit_settings(options: Settings, run: Run, seed: int, editors: tuple[str, ...]) -> EditSettings:
    """The demo's, of one world."""
    return replace(
        EDIT["tiny"],
        editors=editors,
        cases=CaseConfig(options.edits),
        **stages.settings_of_run(run, seed),
    )


def record_study(options: Settings) -> Path:
    """The table by what the request is, by support, and by world."""
    runs = options.world_runs
    editors = score_worlds(options, runs)
    by_world = [score_worlds(options, [run]) for run in runs]
    tables = [editor_table(editors, subset) for subset in TITLES]
    tables.append(support_table(frame_of(editors), FOLLOWS, "support-followed"))
    tables += [world_table(by_world, metric) for metric in OF_WORLDS]
    learned = {run.name: read_json(run.finished_file)["accuracy"] for run in runs}
    return options.record(
        runs[0],
        {"demo-worlds.md": stages.show_tables(tables)},
        BY_EDITOR,
        found=figures_by_editor(editors, [*TITLES, *(f"support {name}" for name in SUPPORT_BINS)]),
        facts_learned={name: {"all": {"model": {"accuracy": value}}} for name, value in learned.items()},
    )


def score_worlds(options: Settings, runs: Sequence[Run]) -> list[ScoredEditor]:
    """The editors on some worlds pooled, in the order of the settings."""
    return stages.score_edits(runs, edit_settings(options, runs[0], 0, options.editors))


def editor_table(editors: Sequence[ScoredEditor], subset: str) -> Table:
    """A row an editor and a reference: what the report's first table has, over one kind of requests."""
    first = editors[0]
    by_reader = [(one.name, one) for one in editors] + [(name, first) for name in first.reference_names]
    rows: list[list[Cell]] = [
        [reader, *(one.summary[subset][reader].get(metric) for metric in COLUMNS)]
        for reader, one in by_reader
    ]
    return Table(
        f"requests-{subset.replace(' ', '-')}",
        TITLES[subset],
        ["editor", *COLUMNS],
        rows,
        "± is half of a 95% interval over worlds, subjects and requested objects at once.",
        better=better_of(first.evaluation.metrics),
        contest=rows_in_contest(editors),
    )


def world_table(by_world: Sequence[Sequence[ScoredEditor]], metric: str) -> Table:
    """A row an editor, a column a world: requests that contradict the truth."""
    rows: list[list[Cell]] = [
        [of_one[0].name, *(one.summary[CONTRADICTS][one.name].get(metric) for one in of_one)]
        for of_one in zip(*by_world, strict=True)
    ]
    names = [f"seed {seed}" for seed in range(len(by_world))]
    title = f"{metric}, by world: requests that contradict the truth"
    return Table(f"worlds-{metric.replace(' ', '-')}", title, ["editor", *names], rows)


if __name__ == "__main__":
    launch_module()
