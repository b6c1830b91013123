"""Edit facts in the model, score every edit."""

import errno
import math
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bayes.interface import Agent
from corpus.errors import InputError
from corpus.files import verify_folder, write_json, write_json_once, write_record
from lm.language_model import LanguageModel
from testbed.console import print_table, say, show_progress
from testbed.engine.catalogue import entry_named
from testbed.engine.methods import Method
from testbed.engine.plan import PLAN
from testbed.engine.records import SUMMARY, Columns, control_stem, is_complete
from testbed.engine.results import NoNumbersError, halves_of, read_results
from testbed.engine.sweep import Sweep, finish_sweep
from testbed.engine.trace import (
    CONFIG,
    folder_of,
    inputs_of,
    read_config,
    read_notes,
    version_in_world,
    why_misplaced,
)
from testbed.engine.tuning import method_named, with_tuned_settings
from testbed.engine.versions import identify_method, versions_of_cases
from testbed.evaluations.catalogue import evaluation_named, version_of_cases
from testbed.examination import draw_cases, recalibrate
from testbed.grid import show_cells
from testbed.own import plain_name
from testbed.protocol import Case
from testbed.run.agents import agent_named, describe_standard
from testbed.run.lock import BusyError, one_of_several, only_one
from testbed.run.model import finished_checkpoint, load_model
from testbed.run.runs import Run, folder_digest
from testbed.run.runtime import circumstances, numeric_flags, prepare_jax
from testbed.run.world import World, load_world
from testbed.scores.frame import Frame
from testbed.scores.gather import FITTED_HALF, describe_circumstances, describe_missing_numbers
from testbed.scores.headlines import describe_subset, headline_labels, headline_rows
from testbed.scores.readers import columns_of
from testbed.scores.recalibration import recalibrate_results, temperatures_file
from testbed.scores.statistics import Estimate
from testbed.scores.summary import control_reader, summarise_results
from testbed.settings import CaseSettings, EditSettings
from testbed.waiting import doing

JudgedCases = tuple[Agent, list[Case]]
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


class Job(NamedTuple):
    """One editor's part: what it is (None: at work elsewhere), what its results depend on, where they go."""

    name: str
    method: Method | None
    trace: dict[str, Any]
    folder: Path


class Jobs(NamedTuple):
    """What all editors share, and the part of each.

    Attributes:
        read_model: loads the unedited model, once; None where it is elsewhere.
        columns: of the tables of results.
        origin: where settings were tuned, and by which versions edits are made; results do not depend on it.
        temperatures: the file of those that recalibrate the unedited model.
    """

    run: Run
    world: World
    read_model: Callable[[], LanguageModel] | None
    columns: Columns
    jobs: list[Job]
    origin: dict[str, Any]
    temperatures: Path


def edit(options: EditSettings) -> None:
    """The same edits by every editor, each scored before and after; a killed command resumes.

    Raises:
        InputError: no trained model, an unknown editor or evaluation, a corrupted file.
    """
    evaluation_named(options.evaluation)
    for name in options.editors:
        entry_named(name)
    jobs = plan_jobs(options)
    if options.shard:
        edit_shard(jobs, options)
        return
    with only_one(jobs.run, "edit"):
        for job in jobs.jobs:
            if is_complete(job.folder):
                say(f"{job.folder} has these edits already")
            tell_other_circumstances(jobs, job)
        judged = make_missing_edits(jobs, options)
        recalibrate_model(jobs, options, judged)
        print_headlines(jobs, options)


def tell_other_circumstances(jobs: Jobs, job: Job) -> None:
    """Say where edits were made, or begun, with other versions or on another device than here."""
    if (job.folder / CONFIG).exists():
        config = read_config(job.folder)
        then, now = (
            describe_circumstances(c) for c in (config, jobs.origin | {"flags": config.get("flags", {})})
        )
        if then != now:
            say(f"{job.folder} was made with {then}, but here is {now}: numbers may differ")


def edit_shard(jobs: Jobs, options: EditSettings) -> None:
    """A part of the edits, beside other processes; whoever ends last puts the parts together."""
    with one_of_several(jobs.run, "edit", options.shard):
        for job in jobs.jobs:
            if not is_complete(job.folder):
                tell_other_circumstances(jobs, job)
        make_missing_edits(jobs, options)
    missing_shards = set()
    try:
        with only_one(jobs.run, "edit"):
            for job in jobs.jobs:
                if not is_complete(job.folder):
                    controls = read_config(job.folder)["controls"]
                    missing_shards |= {*finish_sweep(job.folder, jobs.columns, controls)}
            if not missing_shards:
                recalibrate_model(jobs, options)
                print_headlines(jobs, options)
    except BusyError:
        say(f"shard {options.shard} is done; the others are still at work, and the last one joins the parts")
    if missing_shards:
        shards = ", ".join(map(str, sorted(missing_shards)))
        say(f"shard {options.shard} is done; missing are {shards}: run the same command with each of them")


def plan_jobs(options: EditSettings) -> Jobs:
    """Load the world, and find what every editor's results depend on and where they lie."""
    doing("loading the world")
    run = Run(options.runs, options.run)
    world, checkpoint = load_world(run), finished_checkpoint(run, options.checkpoint)
    prepare_jax()
    if options.tuned:
        options = replace(options, configs=with_tuned_settings(run, options.editors, options))
    shared = trace_cases(run, checkpoint, options)
    jobs = []
    for name in options.editors:
        method = method_named(name, options, world)
        trace = shared | {"editor": name, "method": identify_method(name, method)}
        folder = folder_of(run, options.evaluation, name, trace)
        jobs.append(Job(name, method, trace, folder))
    if all(is_complete(job.folder) for job in jobs):
        # Nobody reads the model, which would verify it.
        verify_folder(checkpoint)
    origin: dict[str, Any] = {"tuned": None, "made_with": circumstances()}
    if options.tuned:
        world_tuned = folder_digest(Run(options.runs, options.tuned).world)
        origin["tuned"] = {"run": options.tuned, "world": world_tuned}
    temperatures = temperatures_file(run.folder, plain_name(options.evaluation), shared)
    read_model = cache(lambda: load_model(run, world, options.checkpoint)[0])
    return Jobs(run, world, read_model, columns_of(options.chosen_evaluation), jobs, origin, temperatures)


def trace_cases(run: Run, checkpoint: Path | None, options: CaseSettings) -> dict[str, Any]:
    """What all edits of the same cases depend on: hashes of what they are of, settings, versions, flags."""
    return {
        "inputs": inputs_of(run, checkpoint),
        "settings": options.settings_as_data(),
        "versions": versions_of_cases(
            version_in_world(run, version_of_cases(options.evaluation)), options.agent
        ),
        "flags": numeric_flags(),
    }


def draw_with_agent(world: World, options: CaseSettings) -> JudgedCases:
    """The agent of some edits, and their cases."""
    doing("fitting the agent and drawing cases")
    agent = agent_named(options.agent, world, options.paper_agent)
    return agent, draw_cases(world, agent, options)


def make_missing_edits(
    jobs: Jobs, options: EditSettings, judged: JudgedCases | None = None
) -> JudgedCases | None:
    """Draw the cases, and make the edits that are not there yet, of each editor in turn.

    Args:
        judged: agent and cases, where they were drawn already.

    Returns:
        The agent and all that was drawn; None where nobody drew anything.
    """
    pending = [job for job in jobs.jobs if not is_complete(job.folder)]
    if not pending:
        return judged
    assert jobs.read_model is not None, "only testbed.score takes edits of a model that is elsewhere"
    model = jobs.read_model()
    agent, drawn_cases = judged or draw_with_agent(jobs.world, options)
    cases = take_whole_sequences(drawn_cases, options)
    sweep = Sweep(jobs.run, jobs.world, model, cases, jobs.columns, options)
    standard = {"agent": options.agent, "exactness": agent.exactness._asdict()}
    write = write_json_once if options.shard else write_json
    for job in pending:
        untraced = {"standard": standard, "controls": sweep.controls} | jobs.origin
        untraced["made_with"] = with_beginning(job.folder, jobs.origin["made_with"])
        write(job.folder / CONFIG, job.trace | untraced)
        assert job.method is not None, "only testbed.score has results without a method"
        try:
            with show_progress(job.name, sweep.edit_count) as advance:
                sweep.edit_cases(job.method, job.folder, advance)
        except InputError:
            forget_refused(job.folder)
            raise
    return agent, drawn_cases


def with_beginning(folder: Path, made_with: dict[str, Any]) -> dict[str, Any]:
    """What edits are made with; where something else began them, that too."""
    earlier = read_config(folder).get("made_with") if (folder / CONFIG).exists() else None
    before, now = (describe_circumstances({"made_with": one or {}}) for one in (earlier, made_with))
    return made_with if not earlier or before == now else made_with | {"begun": earlier.get("begun", earlier)}


def forget_refused(folder: Path) -> None:
    """Remove what says how edits are made, where none was begun."""
    if not (folder / PLAN).exists():
        (folder / CONFIG).unlink(missing_ok=True)
        with suppress(OSError):
            for path in (folder, folder.parent):
                path.rmdir()


def take_whole_sequences(cases: list[Case], options: CaseSettings) -> list[Case]:
    """The cases in whole sequences, if there are fewer cases than requested."""
    if len(cases) < options.cases.count:
        cases = cases[: len(cases) // options.sequence * options.sequence]
        whole = " that fill whole sequences" if options.sequence > 1 else ""
        say(f"only {len(cases)} cases: there are no more{whole}")
    return cases


def recalibrate_model(jobs: Jobs, options: CaseSettings, judged: JudgedCases | None = None) -> None:
    """Fit the unedited model's temperatures on facts that no case asks, once for the cases of a model.

    Args:
        judged: agent and cases, where they were drawn already.
    """
    if jobs.read_model is not None and not jobs.temperatures.exists():
        agent, cases = judged or draw_with_agent(jobs.world, options)
        doing("fitting temperatures of the unedited model")
        recalibrate(jobs.world, jobs.read_model(), agent, cases, options.seed, jobs.temperatures)


def print_headlines(jobs: Jobs, options: CaseSettings) -> None:
    """Summarise what came of every editor's edits, and print the headlines."""
    evaluation, columns, rows, judged_by, only = options.chosen_evaluation, jobs.columns, [], "", ""
    for job in jobs.jobs:
        doing(f"measuring {job.name}")
        shutil.rmtree(job.folder / "parts", ignore_errors=True)
        verify_folder(job.folder)
        config = read_config(job.folder)
        if why := why_misplaced(job.folder, config):
            raise InputError(f"{job.folder} {why}")
        judged_by = describe_standard(config["standard"]["agent"], config["standard"]["exactness"])
        try:
            every = recalibrate_results(read_results(job.folder, columns), jobs.temperatures)
            results, fitted_half = halves_of(every)
            controls = {
                name: read_results(job.folder, columns, control_stem(name)) for name in config["controls"]
            }
            controls |= {} if fitted_half is None else {FITTED_HALF: fitted_half}
        except NoNumbersError as error:
            say(f"{job.name}: {error}")
            continue
        for note in (*read_notes(job.folder), describe_missing_numbers(job.name, results)):
            if note:
                say(note)
        summary = summarise_results(evaluation, results, job.name, controls)
        try:
            _write_summary(summary, job.folder, judged_by, results.lost_edits)
        except OSError as error:
            if error.errno not in READ_ONLY:
                raise
            say(f"{job.folder} is read-only, so no summary is written there")
        readers = [job.name, control_reader(job.name, FITTED_HALF)]
        known = summary.values("reader")
        rows += headline_rows(evaluation, summary, [name for name in readers if name in known])
        only = describe_subset(evaluation, summary)
    if not rows:
        raise InputError("every edit left a model whose answers are not numbers; the fault is in the editors")
    print_table(
        f"edits of {jobs.run.folder}{only}, over this world only",
        ["editor", *headline_labels(evaluation).values()],
        show_cells(rows),
    )
    say(f"the standard is {judged_by}")
    say(f"python -m testbed.report {jobs.run.options} shows everything else")


def _write_summary(frame: Frame, folder: Path, standard: str, lost: int = 0) -> None:
    """summary.json: the estimates, who is the standard, and how many edits gave no numbers."""

    def estimate_as_data(e: Estimate) -> dict:
        known = e._asdict() | {"few": [few._asdict() for few in e.few]}
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in known.items() if v != []}

    tables: dict[str, dict[str, dict[str, Any]]] = {}
    for of, cell in frame.rows():
        metrics = tables.setdefault(of["subset"], {}).setdefault(of["reader"], {})
        if isinstance(cell, Estimate):
            metrics[of["metric"]] = estimate_as_data(cell)
    write_record(folder / SUMMARY, {"standard": standard, "without numbers": lost, "subsets": tables})
