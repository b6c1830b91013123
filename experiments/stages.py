"""Long studies as stages: each is kept when it is done, so that the same command goes on from there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from experiments.settings import StagedSettings
from experiments.study import Clock, Stage, finish_stages
from testbed.commands.corpus import build_corpus
from testbed.commands.edit import edit
from testbed.commands.report import report
from testbed.commands.train import train
from testbed.console import say
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.run.runs import Run
from testbed.run.runtime import prepare_jax
from testbed.run.settings import CorpusSettings, TrainSettings
from testbed.scores.gather import gather_results
from testbed.scores.summary import ScoredEditor, score_editors
from testbed.scores.tables import Table, markdown_section
from testbed.settings import EditSettings, ReportSettings

Settings = TypeVar("Settings", bound=StagedSettings)


def run_in_stages(
    settings: Settings,
    list_stages: Callable[[Settings, Clock], Iterable[Stage]],
    record_study: Callable[[Settings], Path],
) -> None:
    """Do a study's stages, and once all are done, its record; until the minutes are over.

    Args:
        list_stages: all of them, given how long there is; trainings stop when the time is over.
        record_study: writes the record and returns its folder.
    """
    prepare_jax()
    clock = Clock(settings.minutes)
    if finish_stages(list_stages(settings, clock), clock):
        say(f"record: {record_study(settings)}")


def settings_of_run(run: Run, seed: int) -> dict[str, Any]:
    """The settings of every command that say which run."""
    return {"run": run.name, "runs": run.root, "seed": seed}


def model_stages(corpus: CorpusSettings, training: TrainSettings, clock: Clock) -> Iterator[Stage]:
    """A corpus, and a model trained to its last step or until the time is over."""
    yield f"corpus of {corpus.run}", partial(build_corpus, corpus)
    yield f"model of {training.run}", lambda: train(replace(training, minutes=clock.minutes_left()))


def edit_stages(edits: Iterable[EditSettings], about: str = "") -> Iterator[Stage]:
    """Edits, those of each settings a stage; `about` says in their titles what tells them apart."""
    for one in edits:
        yield f"edit {one.run} by {', '.join(one.editors)}{about}", partial(edit, one)


def report_stage(runs: Sequence[Run], **options: Any) -> Stage:
    """A report of some runs, which stands with the first."""
    first, *others = runs
    settings = ReportSettings(first.name, first.root, tuple(run.name for run in others), **options)
    return f"report of {first.name}", partial(report, settings)


def score_runs(
    runs: Sequence[Run], evaluation: str, is_wanted: Callable[[dict], bool] = lambda _: True
) -> list[ScoredEditor]:
    """The editors of some runs, those edits whose config.json `is_wanted`."""
    return score_editors(gather_results(runs, recorded_evaluation_named(evaluation), is_wanted))


def show_tables(tables: Iterable[Table]) -> str:
    """Print tables; returns the page (Markdown) of them."""
    text = "\n".join(map(markdown_section, tables))
    say(text)
    return text
