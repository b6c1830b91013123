"""Editors from elsewhere beside ours of the same name: the same cases, and how far apart they are.

Command:
    python -m experiments.guests --path FOLDER --run demo --development dev --beside their-rome=rome

FOLDER/answers has a folder for each guest, called as it is to be called: what door.py wrote for the cases of
`python -m testbed.export --cases --run demo` (docs/pytorch.md). FOLDER/trials has for each guest a folder for
every setting that was tried on the cases of the development run, `--trial-cases` of them. The study chooses
among them by the rule of `testbed.tune`, and refuses answers that were made with another setting. Ours are
tuned on the same run by `testbed.tune`, with as many trials and cases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corpus.errors import InputError
from corpus.files import read_json, read_record
from corpus.seeds import generator
from experiments import stages
from experiments.command import launch_module
from experiments.record import BY_EDITOR, figures_by_editor
from experiments.settings import StudySettings
from testbed.console import say
from testbed.edit import Jobs, plan_jobs
from testbed.engine.results import cluster_levels
from testbed.engine.tuning import tuned_file
from testbed.evaluations.hase.metrics import CONTRADICTS
from testbed.presets import EDIT
from testbed.run.runs import Run
from testbed.score import import_answers
from testbed.scores.metric import metrics_shown_in
from testbed.scores.statistics import compare_metrics
from testbed.scores.summary import ScoredEditor, rows_in_contest
from testbed.scores.tables import Cell, Table, better_of
from testbed.settings import DEFAULT_EVALUATION, CaseConfig, EditSettings, ScoreSettings
from testbed.tune import choose_setting, measure_headlines

SEED = 0


@dataclass(frozen=True)
class Settings(StudySettings):
    """Whose answers lie where, and who stands beside them."""

    path: Path = Path("guests")
    """Folder of answers and trials."""
    run: str = "demo"
    """The run whose cases were answered."""
    cases: int = 240
    """How many."""
    development: str = "dev"
    """The run on which settings were chosen."""
    trial_cases: int = 16
    """Cases that each setting was tried on."""
    beside: tuple[str, ...] = ()
    """GUEST=EDITOR for each guest that has one of ours beside it."""

    @property
    def guests(self) -> list[str]:
        """Names, in order."""
        return sorted(path.name for path in (self.path / "answers").iterdir() if path.is_dir())

    @property
    def ours(self) -> dict[str, str]:
        """Our editor by guest."""
        pairs = [word.partition("=") for word in self.beside]
        return {guest: editor for guest, _, editor in pairs}

    def edits(self, run: str, cases: int, **options: Any) -> EditSettings:
        """The edits of a run."""
        return replace(EDIT["tiny"], run=run, runs=self.runs, cases=CaseConfig(cases), **options)


def run_study(options: Settings) -> None:
    """Trials, answers, our edits, and a record of all."""
    unknown = options.ours.keys() - set(options.guests)
    if unknown:
        raise InputError(f"{options.path / 'answers'} has no folder {min(unknown)}, which --beside names")
    stages.prepare_jax()
    searches = {guest: search_trials(options, guest) for guest in options.guests}
    for guest, lines in searches.items():
        check_setting(options, guest, lines)
    jobs = [import_guest(options, options.path / "answers" / guest, guest) for guest in options.guests]
    ours = tuple(dict.fromkeys(options.ours.values()))
    own = options.edits(options.run, options.cases, editors=ours, tuned=options.development)
    if ours:
        stages.edit(own)
        jobs.append(plan_jobs(own))
    say(f"record: {record_study(options, jobs, searches)}")


def import_guest(options: Settings, answers: Path, name: str, trial: bool = False) -> Jobs:
    """What one folder of answers came to, as edits of the run that it answers."""
    run, cases = (options.development, options.trial_cases) if trial else (options.run, options.cases)
    shared = vars(options.edits(run, cases)) | {"configs": {}}
    return import_answers(ScoreSettings(**shared, answers=answers, name=name))


def search_trials(options: Settings, guest: str) -> list[dict[str, Any]]:
    """The headlines of each setting that was tried, and the setting as `setting`."""
    lines = []
    folder = options.path / "trials" / guest
    for answers in sorted(path for path in folder.iterdir() if path.is_dir()):
        name = f"{guest}-trial-{answers.name}"
        jobs = import_guest(options, answers, name, trial=True)
        evaluation = options.edits(options.development, options.trial_cases).chosen_evaluation
        headlines = measure_headlines(evaluation, jobs.jobs[0].folder, jobs.columns, name)
        lines.append({"trial": answers.name, "setting": setting_of(answers)} | headlines)
    return lines


def setting_of(answers: Path) -> dict[str, str]:
    """The public fields of the object that edited."""
    fields: dict[str, str] = read_json(answers / "about.json")["fields"]
    return fields


def check_setting(options: Settings, guest: str, lines: Sequence[dict[str, Any]]) -> None:
    """Refuse answers by another setting than the one that the trials choose.

    Raises:
        InputError: names both.
    """
    best, used = choose_trial(options, lines), setting_of(options.path / "answers" / guest)
    if best["setting"] != used:
        raise InputError(
            f"the answers of {guest} were made with {used}, and its trials choose {best['setting']} (trial "
            f"{best['trial']}); answer the cases with that setting"
        )


def choose_trial(options: Settings, lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The trial that the rule of `testbed.tune` chooses."""
    metrics = options.edits(options.run, options.cases).chosen_evaluation.metrics
    headlines = metrics_shown_in(metrics, "headline")
    return choose_setting(lines, headlines[0], headlines[-1])


def record_study(
    options: Settings, jobs: Sequence[Jobs], searches: Mapping[str, list[dict[str, Any]]]
) -> Path:
    """The guests beside ours, the paired differences, and the trials of each."""
    methods = {job.name: job.trace["method"] for of_one in jobs for job in of_one.jobs}
    bound = jobs[0].jobs[0].trace["settings"]

    def is_wanted(config: dict[str, Any]) -> bool:
        return config["settings"] == bound and methods.get(config["editor"]) == config["method"]

    run = Run(options.runs, options.run)
    scored = {one.edits.editor: one for one in stages.score_runs([run], DEFAULT_EVALUATION, is_wanted)}
    order = [name for guest in options.guests for name in (guest, options.ours.get(guest)) if name]
    order = list(dict.fromkeys(order))
    pages = {
        "guests.md": stages.show_tables(
            [
                editor_table([scored[name] for name in order]),
                difference_table([(scored[a], scored[b]) for a, b in options.ours.items()]),
                search_table(options, searches),
            ]
        )
    }
    development = Run(options.runs, options.development)
    files = [tuned_file(development, DEFAULT_EVALUATION, name) for name in options.ours.values()]
    return options.record(
        run,
        pages,
        BY_EDITOR,
        tuned={path.stem: read_record(path) for path in files},
        found=figures_by_editor([scored[name] for name in order], (CONTRADICTS, "all")),
    )


def editor_table(editors: Sequence[ScoredEditor]) -> Table:
    """A row an editor and a reference: requests that contradict the truth."""
    columns, first = metrics_shown_in(editors[0].evaluation.metrics, "compared"), editors[0]
    by_reader = [(one.name, one) for one in editors] + [(name, first) for name in first.reference_names]
    rows: list[list[Cell]] = [
        [reader, *(one.summary[CONTRADICTS][reader].get(metric) for metric in columns)]
        for reader, one in by_reader
    ]
    return Table(
        "guests",
        "Guests and ours: requests that contradict the truth",
        ["editor", *columns],
        rows,
        "One world and one model: intervals are over its subjects and requested objects.",
        better=better_of(first.evaluation.metrics),
        contest=rows_in_contest(editors),
    )


def difference_table(pairs: Sequence[tuple[ScoredEditor, ScoredEditor]]) -> Table:
    """A row a pair, guest less ours on the same cases."""
    columns = metrics_shown_in(pairs[0][0].evaluation.metrics, "compared") if pairs else []
    rows: list[list[Cell]] = []
    for guest, own in pairs:
        results = guest.edits.results
        among = guest.evaluation.subsets(results)[CONTRADICTS]
        levels, rng = cluster_levels(results), generator(SEED, f"guests {guest.name}")
        both = [(guest.values[guest.name][metric], own.values[own.name][metric]) for metric in columns]
        rows.append(
            [f"{guest.name} less {own.name}", *(compare_metrics(*two, levels, among, rng) for two in both)]
        )
    return Table("differences", "Guests less ours: requests that contradict", ["pair", *columns], rows)


def search_table(options: Settings, searches: Mapping[str, list[dict[str, Any]]]) -> Table:
    """A row a trial, the chosen ones with a star."""
    header = [key for key in next(iter(searches.values()))[0] if key not in ("trial", "setting")]
    rows: list[list[Cell]] = []
    for guest, lines in searches.items():
        best = choose_trial(options, lines)
        for line in lines:
            star = "*" if line is best else ""
            setting = ", ".join(f"{key} {value}" for key, value in line["setting"].items())
            rows.append([guest, f"{setting} {star}".strip(), *(f"{line[key]:.3f}" for key in header)])
    title = f"Settings tried on {options.trial_cases} cases of {options.development}; * was chosen"
    return Table("trials", title, ["guest", "setting", *header], rows, words=2)


if __name__ == "__main__":
    launch_module()
