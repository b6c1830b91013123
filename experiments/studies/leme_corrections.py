"""LEME: is a correction another thing to write about than an update or an injection?

Command:
    python -m experiments.leme_corrections

A third of the samples of Rosati et al. 2024 correct what a model has wrong. Here the corpus states a tenth
of the facts from which couplings start wrongly, and all that depends on them as it is, so that a model
contradicts itself until it is corrected. A third of the edits are corrections to the truth, a third
injections of what was never stated, a third updates of what was stated truly. Facts that stay are judged
under both interpretations: the world changed, or what was stated is wrong, which a correction means.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from corpus.seeds import generator
from experiments import stages
from experiments.command import launch_module
from experiments.record import comparison_as_list, estimate_as_list
from experiments.settings import StagedSettings
from experiments.studies.leme import NAME
from testbed.engine.results import cluster_levels
from testbed.evaluations.leme import metrics as m
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run, read_metrics
from testbed.run.settings import CorpusSettings
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.statistics import Comparison, Estimate, compare_metrics, estimate_metrics
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.settings import CaseConfig, EditSettings

KINDS = (m.CORRECTION, m.INJECTION, m.UPDATE)
CHANGED, WRONG = 1, 2
"""The interpretations, as times of an editor's results."""
SHOWN = (
    (m.EDIT_SUBJECT, CHANGED),
    (m.FACTUAL_SUBJECT, CHANGED),
    (m.FACTUAL_SUBJECT, WRONG),
    (m.FACTUAL_RELATED, WRONG),
    (m.INTERNAL_SUBJECT, CHANGED),
    (m.CROSS, CHANGED),
    (m.EFFICACY, CHANGED),
)
"""What is asked, and under which interpretation facts are right."""
AGENTS = (BAYESIAN, f"{BAYESIAN}, correction")
"""Who writes what the agent believes: after the world changed, and after what was stated was wrong."""
Estimates = dict[tuple[str, int], Estimate]
"""By metric and interpretation."""
MORE = f"{m.CROSS}, more than without an edit"


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is measured."""

    worlds: int = 3
    """Worlds, of seeds 1, 2, ..., each with its own corpus, model and edits."""
    planted: float = 0.1
    """Share of the facts from which couplings start that the corpus states wrongly."""
    editors: tuple[str, ...] = ("none", "full", "rome", "memit", "lora-down")
    """Who edits."""
    edits: int = 30
    """Edits by each editor in each world, a third of each kind."""


def run_study(options: Settings) -> None:
    """Worlds, models, edits, record."""
    stages.run_in_stages(options, study_stages, record_study)


def list_runs(options: Settings) -> list[tuple[Run, int]]:
    """The run and the seed of each world."""
    return stages.runs_of_worlds(options.runs, "leme-corrections", options.worlds)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; trainings stop when the time is over."""
    for run, seed in list_runs(options):
        training = replace(TRAIN[NAME], **stages.settings_of_run(run, seed))
        yield from stages.model_stages(corpus_settings(options, run, seed), training, clock)
        yield from stages.edit_stages([edit_settings(options, run, seed)])


def corpus_settings(options: Settings, run: Run, seed: int) -> CorpusSettings:
    """The preset's corpus, some of its facts planted."""
    exact = replace(CORPUS[NAME].exact, planted=options.planted)
    return replace(CORPUS[NAME], exact=exact, **stages.settings_of_run(run, seed))


def edit_settings(options: Settings, run: Run, seed: int) -> EditSettings:
    """All editors, a third of the edits of each kind."""
    thirds = replace(EDIT[NAME].evaluations[NAME], injections=1 / 3, corrections=1 / 3)
    return replace(
        EDIT[NAME],
        editors=options.editors,
        cases=CaseConfig(count=options.edits),
        evaluations=EDIT[NAME].evaluations | {NAME: thirds},
        **stages.settings_of_run(run, seed),
    )


def record_study(options: Settings) -> Path:
    """What passages say, by editor and kind of edit."""
    runs = [run for run, _ in list_runs(options)]
    editors = stages.score_edits(runs, edit_settings(options, *list_runs(options)[0]))
    by_editor = {one.name: estimate_kinds(one, one.name) for one in editors}
    by_editor |= {name: estimate_kinds(editors[0], name) for name in AGENTS}
    more = {one.name: compare_agreement(one) for one in editors if one.name != "none"}
    found = {
        name: {
            kind: {title_of(*shown): estimate_as_list(x) for shown, x in of_kind.items()}
            for kind, of_kind in of_name.items()
        }
        for name, of_name in by_editor.items()
    }
    for name, of_name in more.items():
        for kind, comparison in of_name.items():
            found[name][kind][MORE] = comparison_as_list(comparison)
    stated = {run.name: read_metrics(run)[-1]["accuracy"] for run in runs}
    pages = {"leme_corrections.md": stages.show_tables([kind_table(by_editor, more, options)])}
    return options.record(runs[0], pages, ("editor", "kind"), found=found, stated_facts=stated)


def estimate_kinds(editor: ScoredEditor, reader: str) -> dict[str, Estimates]:
    """What one reader says by kind of edit, as SHOWN."""
    results = editor.edits.results
    reader_of = editor.evaluation.readers(results, editor.name)[reader]
    answers = {time: m.Answers(results, reader_of._replace(time=time)) for time in (CHANGED, WRONG)}
    compute = {one.name: one.compute for one in m.METRICS}
    computed = {(name, time): compute[name](answers[time]) for name, time in SHOWN}
    shown = {one: metric for one, metric in computed.items() if metric is not None}
    parts, levels = m.make_subsets(results), cluster_levels(results)
    return {kind: estimate_metrics(shown, levels, parts[kind]) for kind in KINDS}


def compare_agreement(editor: ScoredEditor) -> dict[str, Comparison]:
    """By kind of edit, how much more the two passages agree after it than without it."""
    results, rng = editor.edits.results, generator(editor.edits.seed, "corrections")
    edited, unedited = (editor.values[reader][m.CROSS] for reader in (editor.name, NO_EDIT))
    parts, levels = m.make_subsets(results), cluster_levels(results)
    return {kind: compare_metrics(edited, unedited, levels, parts[kind], rng) for kind in KINDS}


def title_of(metric: str, time: int) -> str:
    """A column's title: the interpretation is told where it matters."""
    is_judged = metric in (m.FACTUAL_SUBJECT, m.FACTUAL_RELATED)
    return f"{metric}, {'one was wrong' if time == WRONG else 'the world changed'}" if is_judged else metric


def kind_table(
    by_editor: dict[str, dict[str, Estimates]], more: dict[str, dict[str, Comparison]], options: Settings
) -> Table:
    """A row for each editor and kind of edit."""
    rows: list[list[Cell]] = [
        [name, kind, *of_kind.values(), more[name][kind] if name in more else None]
        for name, of_name in by_editor.items()
        for kind, of_kind in of_name.items()
    ]
    note = (
        f"{options.edits} edits in each of {options.worlds} worlds, in which {options.planted} of the facts "
        "from which couplings start are stated wrongly. ± is half of a 95% interval over subjects."
    )
    header = ["editor", "kind", *(title_of(*shown) for shown in SHOWN), MORE]
    return Table("corrections", "What passages say, by kind of edit", header, rows, note, words=2)


if __name__ == "__main__":
    launch_module()
