"""Editors from elsewhere beside ours of the same name: the same cases, and how far apart they are.

Command:
    python -m experiments.guests --path FOLDER --worlds demo second --development dev --beside their-rome=rome

FOLDER has a folder for each run of `--worlds`, and in it one for each guest, called as it is to be called:
what door.py wrote for the cases of `python -m testbed.export --cases --run demo` (docs/pytorch.md).
FOLDER/trials has for each guest a folder for every setting that was tried on `--trial-cases` cases of the
development run. The study chooses among them by the rule of `testbed.tune`, and refuses answers by another
setting. Ours are tuned on the same run by `testbed.tune`, with as many trials and cases.

Why a guest and ours differ is tested by changing one thing: in ours by VARIANTS, in a guest by answers with
another setting, which stand beside the others and are named by `--unchosen`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from corpus.errors import InputError
from corpus.files import read_json, read_record
from corpus.seeds import generator
from experiments.command import launch_module
from experiments.figures import figures_of_frame
from experiments.study import Changes, Edits, StudyOptions, change_settings, record_tables
from testbed.commands.edit import Job, Jobs, edit, plan_jobs
from testbed.commands.score import import_answers
from testbed.commands.tune import choose_setting, measure_headlines
from testbed.engine.results import cluster_levels
from testbed.engine.tuning import tuned_file
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.evaluations.hase.metrics import CONTRADICTS
from testbed.presets import EDIT
from testbed.run.runs import Run, recorded_settings
from testbed.run.runtime import prepare_jax
from testbed.scores.frame import frame_of
from testbed.scores.gather import gather_results
from testbed.scores.metric import metrics_shown_in
from testbed.scores.statistics import compare_metrics
from testbed.scores.summary import ScoredEditor, rows_in_contest, score_editors
from testbed.scores.tables import Cell, Table, better_of
from testbed.settings import DEFAULT_EVALUATION, CaseConfig, EditSettings, ScoreSettings

SEED = 0
TRIALS = "trials"


class Variant(NamedTuple):
    """One of ours with one thing as a guest has it, to test whether that makes them differ."""

    name: str
    editor: str
    changes: Changes


VARIANTS = (
    Variant("ft-constrained, last layer", "ft-constrained", {"ft-constrained.layers": "late"}),
    # Theirs stops where the loss is below .01, on a development world after 1 to 20 of 25 steps.
    Variant("ft-constrained, 15 steps", "ft-constrained", {"ft-constrained.steps": 15}),
    Variant("rome, last layer", "rome", {"rome.depth": 1.0}),
    Variant("rome, moment not shrunk", "rome", {"rome.shrink": 1e-9}),
    Variant("memit, subject's token", "memit", {"memit.token": "subject"}),
)


@dataclass(frozen=True)
class Settings(StudyOptions):
    """Whose answers lie where, and who stands beside them."""

    path: Path = Path("guests")
    """Folder of answers and trials."""
    worlds: tuple[str, ...] = ("demo",)
    """The runs whose cases were answered."""
    edits: Edits = 240
    """Cases of each."""
    development: str = "dev"
    """The run on which settings were chosen."""
    trial_cases: int = 16
    """Cases that each setting was tried on."""
    beside: tuple[str, ...] = ()
    """GUEST=EDITOR for each guest that has one of ours beside it."""
    unchosen: tuple[str, ...] = ()
    """Guests with a setting that no trial chose, to test why they differ."""

    @property
    def guests(self) -> list[str]:
        """Names, in order."""
        return list_folders(self.path / self.worlds[0])

    @property
    def chosen_guests(self) -> list[str]:
        """Those whose setting was chosen by trials."""
        return [guest for guest in self.guests if guest not in self.unchosen]

    @property
    def ours(self) -> dict[str, str]:
        """Our editor by guest."""
        pairs = [word.partition("=") for word in self.beside]
        return {guest: editor for guest, _, editor in pairs}

    @property
    def variants(self) -> list[Variant]:
        """Of those of ours that stand beside a guest."""
        return [variant for variant in VARIANTS if variant.editor in self.ours.values()]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Every guest and ours; then every guest and ours with one thing as the guest has it."""
        chosen = [(guest, editor) for guest, editor in self.ours.items() if guest not in self.unchosen]
        unchosen = [(guest, editor) for guest, editor in self.ours.items() if guest in self.unchosen]
        changed = [(a, one.name) for one in self.variants for a, b in chosen if b == one.editor]
        return [*chosen, *unchosen, *changed]

    def edits_of(self, run: str, cases: int, **options: Any) -> EditSettings:
        """The edits of a run."""
        return replace(EDIT["tiny"], run=run, runs=self.runs, cases=CaseConfig(cases), **options)


def list_folders(folder: Path) -> list[str]:
    """Names of the folders in a folder, in order."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def run_study(options: Settings) -> None:
    """Trials, answers, our edits, and a record of all."""
    check_guests(options)
    prepare_jax()
    searches = {guest: search_trials(options, guest) for guest in options.chosen_guests}
    for guest, lines in searches.items():
        for world in options.worlds:
            check_setting(options, options.path / world / guest, lines)
    scored = {world: score_world(options, world) for world in options.worlds}
    record_study(options, scored, searches)


def check_guests(options: Settings) -> None:
    """Refuse worlds with other guests than the first has, and names that are no guest's.

    Raises:
        InputError: names a folder that is missing.
    """
    named = {*options.guests, *options.ours, *options.unchosen}
    for world in options.worlds:
        missing = named - set(list_folders(options.path / world))
        if missing:
            raise InputError(f"{options.path / world} has no folder {min(missing)}; answer its cases there")


def import_guest(options: Settings, answers: Path, name: str, run: str, cases: int) -> Jobs:
    """What one folder of answers came to, as edits of the run that it answers."""
    shared = options.edits_of(run, cases).settings_of_cases()
    return import_answers(ScoreSettings(**shared, answers=answers, name=name))


def search_trials(options: Settings, guest: str) -> list[dict[str, Any]]:
    """The headlines of each setting that was tried, and the setting as `setting`."""
    lines, run, cases = [], options.development, options.trial_cases
    folder = options.path / TRIALS / guest
    for trial in list_folders(folder):
        name = f"{guest}-trial-{trial}"
        jobs = import_guest(options, folder / trial, name, run, cases)
        evaluation = options.edits_of(run, cases).chosen_evaluation
        headlines = measure_headlines(evaluation, jobs.jobs[0].folder, jobs.columns, name)
        lines.append({"trial": trial, "setting": setting_of(folder / trial)} | headlines)
    return lines


def setting_of(answers: Path) -> dict[str, str]:
    """The public fields of the object that edited."""
    fields: dict[str, str] = read_json(answers / "about.json")["fields"]
    return fields


def check_setting(options: Settings, answers: Path, lines: Sequence[dict[str, Any]]) -> None:
    """Refuse answers by another setting than the one that the trials choose.

    Raises:
        InputError: names both.
    """
    best, used = choose_trial(options, lines), setting_of(answers)
    if best["setting"] != used:
        raise InputError(
            f"{answers} was made with {used}, and its trials choose {best['setting']} (trial "
            f"{best['trial']}); answer the cases with that setting"
        )


def choose_trial(options: Settings, lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The trial that the rule of `testbed.tune` chooses."""
    metrics = options.edits_of(options.worlds[0], options.edits).chosen_evaluation.metrics
    headlines = metrics_shown_in(metrics, "headline")
    return choose_setting(lines, headlines[0], headlines[-1])


def score_world(options: Settings, world: str) -> dict[str, ScoredEditor]:
    """Guests, ours, and variants of ours on the cases of one world, by name for tables."""
    answers = options.path / world
    jobs = {
        guest: import_guest(options, answers / guest, guest, world, options.edits).jobs[0]
        for guest in options.guests
    }
    tuned = partial(options.edits_of, world, options.edits, tuned=options.development)
    for editor in dict.fromkeys(options.ours.values()):
        jobs[editor] = edit_cases(tuned(editors=(editor,)))
    for name, editor, changes in options.variants:
        changed = change_settings(tuned(editors=(editor,)), changes)
        jobs[name] = edit_cases(changed)
    run, evaluation, gathered = Run(options.runs, world), recorded_evaluation_named(DEFAULT_EVALUATION), []
    for name, job in jobs.items():
        (one,) = gather_results([run], evaluation, job_matcher(job))
        gathered.append(one._replace(name=name))
    return {one.name: one for one in score_editors(gathered)}


def edit_cases(settings: EditSettings) -> Job:
    """Make the edits of one of ours, where they are missing."""
    edit(settings)
    return plan_jobs(settings).jobs[0]


def job_matcher(job: Job) -> Callable[[dict], bool]:
    """Whether a config.json is of these edits."""
    wanted = [job.name, job.trace["method"], job.trace["settings"]]
    return lambda config: [config["editor"], config["method"], config["settings"]] == wanted


def record_study(
    options: Settings,
    scored: Mapping[str, Mapping[str, ScoredEditor]],
    searches: Mapping[str, list[dict[str, Any]]],
) -> None:
    """Everyone on every world, the paired differences, and the trials of each guest."""
    runs = {world: Run(options.runs, world) for world in options.worlds}
    tables = [editor_table(world, [*by_name.values()]) for world, by_name in scored.items()]
    tables += [difference_table(options.pairs, scored), search_table(options, searches)]
    development = Run(options.runs, options.development)
    files = [tuned_file(development, DEFAULT_EVALUATION, name) for name in options.ours.values()]
    rows = [
        row
        for world, by_name in scored.items()
        for row in figures_of_frame(frame_of([*by_name.values()]).tag(world=world), [CONTRADICTS])
    ]
    record_tables(
        options,
        runs[options.worlds[0]],
        tables,
        rows=rows,
        tuned={path.stem: read_record(path) for path in files},
        worlds={name: describe_world(run) for name, run in runs.items()},
    )


def describe_world(run: Run) -> dict[str, float]:
    """The seed of a world, and the share of its facts that its model learned."""
    seed = recorded_settings(run, "corpus")[0]["seed"]
    return {"seed": seed, "facts learned": read_json(run.finished_file)["accuracy"]}


def editor_table(world: str, editors: Sequence[ScoredEditor]) -> Table:
    """A row an editor and a reference: requests that contradict the truth."""
    columns, first = metrics_shown_in(editors[0].evaluation.metrics, "compared"), editors[0]
    by_reader = [(one.name, one) for one in editors] + [(name, first) for name in first.reference_names]
    rows: list[list[Cell]] = [
        [reader, *(one.summary[CONTRADICTS][reader].get(metric) for metric in columns)]
        for reader, one in by_reader
    ]
    return Table(
        f"guests-{world}",
        f"Guests and ours in {world}: requests that contradict the truth",
        ["editor", *columns],
        rows,
        "One world and one model: intervals are over its subjects and requested objects.",
        better=better_of(first.evaluation.metrics),
        contest=rows_in_contest(editors),
    )


def difference_table(
    pairs: Sequence[tuple[str, str]], scored: Mapping[str, Mapping[str, ScoredEditor]]
) -> Table:
    """A row a pair and a world, the first less the second on the same cases."""
    rows: list[list[Cell]] = []
    columns: list[str] = []
    for names in pairs:
        for world, by_name in scored.items():
            guest, own = (by_name[name] for name in names)
            columns = metrics_shown_in(guest.evaluation.metrics, "compared")
            results = guest.edits.results
            among = guest.evaluation.subsets(results)[CONTRADICTS]
            levels, rng = cluster_levels(results), generator(SEED, f"guests {guest.name}")
            both = [(guest.values[guest.name][metric], own.values[own.name][metric]) for metric in columns]
            differences = [compare_metrics(*two, levels, among, rng) for two in both]
            rows.append([" less ".join(names), world, *differences])
    title = "One less the other: requests that contradict"
    return Table("differences", title, ["pair", "world", *columns], rows, words=2)


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
