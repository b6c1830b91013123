"""Choose hyper-parameters in their own world."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from corpus.errors import InputError
from corpus.files import read_record, write_record
from lm.editors.entry import Choices, Entry
from testbed.cells import show_number
from testbed.console import print_table, say, show_progress
from testbed.engine.catalogue import editor_entries, whose_options
from testbed.engine.records import Columns
from testbed.engine.results import halves_of, read_results
from testbed.engine.sweep import Sweep
from testbed.engine.tuning import method_named, tuned_file, tuning_context
from testbed.evaluations.catalogue import evaluation_named
from testbed.examination import draw_cases
from testbed.run.agents import agent_named
from testbed.run.lock import only_one
from testbed.run.model import load_trained
from testbed.run.runs import Run, folder_digest, provenance
from testbed.run.settings import as_plain_data
from testbed.run.world import World
from testbed.scores.metric import metrics_shown_in
from testbed.scores.readers import columns_of
from testbed.scores.summary import measure_reader
from testbed.settings import TuneSettings
from testbed.waiting import doing

PRIMES = (2, 3, 5, 7, 11, 13)
"""One for each hyper-parameter that is searched."""
GOOD = 0.98
"""Of the metric that comes first, so much is asked for before the other config."""


def tune(options: TuneSettings) -> None:
    """Try an editor's hyper-parameters on a development world, and record the search.

    Every editor gets the same budget: trials, cases, and this one world, which no report may share. Chosen
    is, among settings with enough of an evaluation's first headline metric (or else the highest), the one
    with the highest last headline metric; Hase's are edit success and recalibrated skill.
    `testbed.edit --tuned RUN` uses it on other runs.

    Raises:
        InputError: no trained model, or an editor without hyper-parameters to choose.
    """
    evaluation_named(options.evaluation)
    entries = {name: whose_options(name) for name in options.editors}
    for name, entry in entries.items():
        if not entry.search:
            able = ", ".join(other.name for other in editor_entries().values() if other.search)
            raise InputError(f"{name} has nothing to tune; choose among {able}, or your own with a SEARCH")
    doing("loading world and model, fitting the agent and drawing cases")
    run, world, model, _ = load_trained(options.runs, options.run, options.checkpoint)
    agent = agent_named(options.agent, world, options.paper_agent)
    cases, columns = draw_cases(world, agent, options), columns_of(options.chosen_evaluation)
    alone = replace(options, sequential=1, batch=1, batch_edits="auto")
    sweep = Sweep(run, world, model, cases, columns, alone)
    development = Development(run, world, sweep, columns)
    with only_one(development.run, "tune"):
        for name, entry in entries.items():
            path = tuned_file(development.run, options.evaluation, name)
            if path.exists():
                say(f"{path} has a choice already; move it away to search again")
            else:
                write_record(path, search_settings(development, name, entry, options))
    names = dict.fromkeys(entry.name for entry in entries.values())
    print_searches([tuned_file(development.run, options.evaluation, name) for name in names])


class Development(NamedTuple):
    """What all editors are tried on."""

    run: Run
    world: World
    sweep: Sweep
    columns: Columns


def search_settings(
    development: Development, name: str, entry: Entry, options: TuneSettings
) -> dict[str, Any]:
    """Edit with every setting; what came of each, and the one that is chosen."""
    run, world, sweep, columns = development
    evaluation = options.chosen_evaluation
    headlines = metrics_shown_in(evaluation.metrics, "headline")
    settings = settings_to_try(options.configs.get(entry.options, entry.config), entry.search, options.trials)
    alone = replace(options, sequential=1, batch=1)
    folder = run.folder / "tuned" / f".{name.replace(':', '.')}"
    lines = []
    with show_progress(f"tune {name}", len(settings) * sweep.edit_count) as advance:
        for setting in settings:
            configs = options.configs | {entry.options: setting}
            shutil.rmtree(folder, ignore_errors=True)
            sweep.edit_cases(method_named(name, replace(alone, configs=configs), world), folder, advance)
            searched_values = {key: getattr(setting, key) for key in entry.search}
            results, _ = halves_of(read_results(folder, columns))
            measured = measure_reader(evaluation, results, evaluation.readers(results, name)[name])
            lines.append(
                searched_values
                | {key: measured[key].value() for key in metrics_shown_in(evaluation.metrics, "headline")}
            )
    shutil.rmtree(folder, ignore_errors=True)
    best = choose_setting(lines, headlines[0], headlines[-1])
    return {
        "chosen": {key: best[key] for key in entry.search},
        "by": [headlines[0], headlines[-1]],
        "search": lines,
        "budget": {"trials": options.trials, "cases": options.cases.count, "worlds": 1},
        "world": folder_digest(run.world),
        "bound": tuning_context(run, options),
        "settings": alone.settings_as_data()
        | {"editor": as_plain_data(options.configs.get(entry.options, entry.config))},
        "made_with": provenance(),
    }


def print_searches(files: Sequence[Path]) -> None:
    """Print every search, with a mark at what was chosen."""
    for path in files:
        record = read_record(path)
        header, best = list(record["search"][0]), choose_setting(record["search"], *record["by"])
        lines = [
            [
                *(x if isinstance(x := line[key], str) else show_number(x, ".3g") for key in header),
                "*" if line == best else "",
            ]
            for line in record["search"]
        ]
        print_table(f"{path.stem} on {record['budget']['cases']} edits", [*header, "chosen"], lines)


def choose_setting(lines: Sequence[dict[str, Any]], first: str, then: str) -> dict[str, Any]:
    """The setting with the highest `then` among those with enough of `first`.

    Where none has enough, those within two hundredths of the highest compete.
    """
    best = max(line[first] for line in lines)
    least = GOOD if best >= GOOD else best - (1 - GOOD)
    enough = [line for line in lines if line[first] >= least]
    return max(enough, key=lambda line: line[then])


def settings_to_try(config: Any, ranges: Mapping[str, Choices], trials: int) -> list[Any]:
    """The configuration as it is, and others with its fields multiplied by factors; `trials` in all.

    Factors are log-uniform between the least and the greatest of each field, at the points of a Halton
    sequence (1960), so that every editor has as many trials, whatever it has to choose. Whole numbers stay
    whole; what is not a number becomes the choice at the point; what comes out twice is tried once.
    """
    settings = [config]
    # From the second point of the sequence on: the first is the middle, which often is the setting as it is.
    for point in range(2, trials + 1):
        changes = {}
        for base, (key, choices) in zip(PRIMES, ranges.items(), strict=False):
            changes[key] = _value_at(halton_point(point, base), getattr(config, key), choices)
        settings.append(replace(config, **changes))
    return list(dict.fromkeys(settings))


def _value_at(place: float, value: Any, choices: Choices) -> Any:
    """What a hyper-parameter becomes at a place in (0, 1)."""
    if isinstance(value, str | bool):
        return choices[int(place * len(choices))]
    least, most = float(min(choices)), float(max(choices))
    factor = least * (most / least) ** place
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def halton_point(index: int, base: int) -> float:
    """The digits of a number behind the point instead of before it, in (0, 1)."""
    value, place = 0.0, 1.0
    while index:
        place /= base
        index, digit = divmod(index, base)
        value += digit * place
    return value
