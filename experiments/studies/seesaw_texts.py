"""Seesaw-CF: what do edited models write about the edited person, by editor and by edited property?

Command:
    python -m experiments.seesaw_texts

Halevy et al. 2024 had people code 252 pairs of texts by MEMIT, and GPT-3.5 those by MEMIT and fine-tuning
(Tables 6 and 19). Here every text is read against the world. Worlds are two kinds of those of
`experiments.seesaw`: work depends on a person's group, or on gender, since only of what depends on the edited
property something can be a stereotype.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from experiments import stages
from experiments.command import launch_module
from experiments.record import estimate_as_list
from experiments.settings import StagedSettings
from experiments.studies import seesaw
from experiments.studies.seesaw import BY_GENDER, FACTORIAL, NAME, WorldKind
from testbed.evaluations.seesaw import Seesaw, texts
from testbed.evaluations.seesaw.metrics import SUCCESS
from testbed.presets import EDIT
from testbed.run.runs import Run, read_metrics
from testbed.run.world import load_world
from testbed.scores.tables import Table, markdown_section
from testbed.settings import CaseConfig, EditSettings

KINDS = {"work by group": FACTORIAL[0], "work by gender": BY_GENDER}


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is written."""

    seeds: int = 3
    """Worlds of each of the two kinds, each with its own corpus, model and edits."""
    people: int = 144
    """People of each world, a multiple of 24."""
    steps: int = 300
    """Steps of training."""
    edits: int = 60
    """Edits by each editor in each world."""
    samples: int = 2
    """Texts after every opening; the paper has 5."""
    longest: int = 60
    """Most tokens of a text; the paper has 100."""
    editors: tuple[str, ...] = ("full", "ft-constrained", "memit")
    """Who edits."""


def run_study(options: Settings) -> None:
    """Worlds, models, edits with texts, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Everything in its order; trainings stop when the time is over."""
    shape = shape_of(options)
    for seed, kind in product(range(options.seeds), KINDS.values()):
        run = seesaw.run_of(shape, kind, seed)
        where = stages.settings_of_run(run, seed)
        corpus, recipe = seesaw.model_settings(shape, kind, seed)
        yield from stages.model_stages(replace(corpus, **where), replace(recipe, **where), clock)
        yield from stages.edit_stages(edit_settings(options, run, seed, name) for name in options.editors)


def shape_of(options: Settings) -> seesaw.Settings:
    """The study of the same worlds."""
    return seesaw.Settings(options.runs, options.minutes, options.seeds, options.people, options.steps)


def edit_settings(options: Settings, run: Run, seed: int, editor: str) -> EditSettings:
    """One editor, with texts and as few questions about others as there may be."""
    return replace(
        EDIT[NAME],
        editors=(editor,),
        cases=CaseConfig(count=options.edits),
        evaluations={NAME: Seesaw(others=1, phrasings=1, samples=options.samples, longest=options.longest)},
        **stages.settings_of_run(run, seed),
    )


def record_study(options: Settings) -> Path:
    """Flaws of texts by kind of world, editor and edited property, and how a judge by keywords errs."""
    pages, found, judged = [], {}, {}
    runs = {kind: seesaw.runs_of(shape_of(options), of) for kind, of in KINDS.items()}
    for kind, of in KINDS.items():
        tables, found[kind], judged[kind] = measure_kind(options, of)
        pages.append(f"# {kind}\n\n" + "\n\n".join(map(markdown_section, tables)))
    return options.record(
        runs["work by group"][0],
        {"seesaw_texts.md": "\n\n".join(pages) + "\n"},
        ("worlds", "editor", "edited", "flaw"),
        found=found,
        judge=judged,
        stated_facts={run.name: read_metrics(run)[-1]["accuracy"] for of in runs.values() for run in of},
    )


def measure_kind(
    options: Settings, kind: WorldKind
) -> tuple[list[Table], dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """The tables of one kind of worlds; by editor success and mean codes of flaws, and the judge's errors."""
    runs = seesaw.runs_of(shape_of(options), kind)
    worlds, found, judged = [load_world(run) for run in runs], {}, {}
    editors = [
        editor
        for name in options.editors
        for editor in stages.score_edits(runs, edit_settings(options, runs[0], 0, name))
    ]
    coded = [(editor, texts.code_all_texts(editor.edits.results, worlds)) for editor in editors]
    for editor, of in coded:
        results = editor.edits.results
        means = texts.estimate_flaws(results, of)
        success = {part: editor.summary[subset_named(part)][editor.name][SUCCESS] for part in means}
        found[editor.name] = {
            part: {name: estimate_as_list(x) for name, x in ({SUCCESS: success[part]} | flaws).items()}
            for part, flaws in means.items()
        }
        errors = texts.estimate_judge_errors(results, of)
        judged[editor.name] = {"all": {flaw: estimate_as_list(x) for flaw, x in errors.items()}}
    makers = (texts.flaw_table, texts.judge_table, texts.injection_table, texts.legibility_table)
    return [make(coded) for make in makers], found, judged


def subset_named(part: str) -> str:
    """What the evaluation calls the edits of a property, or all."""
    return part if part == "all" else f"edits of {part}"


if __name__ == "__main__":
    launch_module()
