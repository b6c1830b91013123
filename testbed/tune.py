"""python -m testbed.tune [tiny|laptop|small|paper] EDITOR...: choose hyper-parameters on held-out edits."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from corpus.errors import InputError
from corpus.files import read_record, write_record
from testbed.console import command, progress, say, table
from testbed.engine.catalogue import entries, method_named, whose_options
from testbed.engine.tuned import tuned_file
from testbed.evaluations.catalogue import evaluation_named
from testbed.launch import launch
from testbed.presets import EDIT
from testbed.run.lock import only_one
from testbed.run.runs import Run, provenance
from testbed.run.settings import plain
from testbed.settings import EditSettings

if TYPE_CHECKING:
    from lm.editors.entry import Entry
    from testbed.engine.bench import Bench
    from testbed.engine.records import Columns
    from testbed.run.world import World

GOOD = 0.98
"""Of the metric that comes first, so much is asked for before the other counts."""


def tune(options: EditSettings) -> None:
    """Try an editor's hyper-parameters on edits of facts that no test case edits, and record the search.

    Chosen is, among settings with enough of an evaluation's first headline metric (or else the highest), the
    one with the highest last headline metric; Hase's are edit success and coherence skill.
    `testbed.edit --tuned` uses it.

    Raises:
        InputError: no trained model, an editor without hyper-parameters to choose, or nothing held out.
    """
    evaluation_named(options.evaluation)
    wanted = {name: whose_options(name) for name in options.editors}
    for name, entry in wanted.items():
        if not entry.search:
            able = ", ".join(other.name for other in entries().values() if other.search)
            raise InputError(f"{name} has nothing to tune; choose among {able}, or your own with a SEARCH")
    held_out = plan(options)
    with only_one(held_out.run, "tune"):
        for name, entry in wanted.items():
            done = tuned_file(held_out.run, name)
            if done.exists():
                say(f"{done} is there already; move it away to search again")
            else:
                write_record(done, search(held_out, name, entry, options))
    show(held_out.run, dict.fromkeys(entry.name for entry in wanted.values()))


class HeldOut(NamedTuple):
    """What all editors are tried on: edits that no test case asks for."""

    run: Run
    world: "World"
    bench: "Bench"
    columns: "Columns"


def plan(options: EditSettings) -> HeldOut:
    """Load world and model, and draw edits of facts that the test cases leave alone."""
    from testbed.engine.bench import Bench, Grouping
    from testbed.engine.records import Columns
    from testbed.run.agents import agent_named
    from testbed.run.model import load_model
    from testbed.run.runtime import prepare_jax
    from testbed.run.world import load_world

    run = Run(options.runs, options.run)
    world = load_world(run)
    prepare_jax()
    model, _ = load_model(run, world, options.checkpoint)
    agent = agent_named(options.agent, world, options.paper_agent)
    exam, asked = options.examination, options.cases
    tests, others = (
        exam.cases(world, agent, asked.count, asked.credence, seed)
        for seed in (options.seed, options.seed + 1)
    )
    tested = {case.fact[:2] for case in tests}
    cases = [case for case in others if case.fact[:2] not in tested]
    if not cases:
        raise InputError("the test cases edit every fact, so nothing is held out; lower --cases.count")
    columns = Columns(exam.readings, exam.facets)
    return HeldOut(run, world, Bench(run, world, model, cases, columns, Grouping(), options.seed), columns)


def search(held_out: HeldOut, name: str, entry: "Entry", options: EditSettings) -> dict[str, Any]:
    """Edit with every setting; what came of each, and the one that is chosen."""
    from testbed.engine.results import read_results
    from testbed.scores.metric import shown_in

    run, world, bench, columns = held_out
    exam, cases = options.examination, len(bench.questions.cases)
    shown = shown_in(exam.metrics, "headline")
    settings = list(_settings(options.configs.get(entry.options, entry.config), entry.search))
    alone = replace(options, sequential=1, batch=1, cases=replace(options.cases, count=cases))
    folder = run.folder / "tuned" / f".{name.replace(':', '.')}"
    found = []
    with progress(f"tune {name}", len(settings) * bench.edits) as advance:
        for setting in settings:
            configs = options.configs | {entry.options: setting}
            shutil.rmtree(folder, ignore_errors=True)
            bench.edit(method_named(name, replace(alone, configs=configs), world), folder, advance)
            results = read_results(folder, columns)
            measured = exam.measure(results, exam.readers(results, name)[name])
            tried = {key: getattr(setting, key) for key in entry.search}
            found.append(tried | {key: measured[key].value() for key in shown})
    shutil.rmtree(folder, ignore_errors=True)
    chosen = choose(found, shown[0], shown[-1])
    return {
        "chosen": {key: chosen[key] for key in entry.search},
        "by": [shown[0], shown[-1]],
        "search": found,
        "cases": cases,
        "settings": alone.told() | {"editor": plain(options.configs.get(entry.options, entry.config))},
        "made_with": provenance(),
    }


def show(run: Run, names: Sequence[str] | Mapping[str, None]) -> None:
    """Print every search, with a mark at what was chosen."""
    for name in names:
        record = read_record(tuned_file(run, name))
        header, chosen = list(record["search"][0]), choose(record["search"], *record["by"])
        lines = [
            [*(f"{line[key]:.3g}" for key in header), "*" if line == chosen else ""]
            for line in record["search"]
        ]
        table(f"{name} on {record['cases']} held-out edits", [*header, "chosen"], lines)


def choose(found: Sequence[dict[str, float]], first: str, then: str) -> dict[str, float]:
    """The setting with the highest `then` among those with enough of `first`.

    Where none has enough, those within two hundredths of the highest compete.
    """
    best = max(line[first] for line in found)
    enough = [line for line in found if line[first] >= min(GOOD, best - (1 - GOOD))]
    return max(enough, key=lambda line: line[then])


def _settings(config: Any, factors: Mapping[str, tuple[float, ...]]) -> list[Any]:
    """The configuration with every combination of factors on its fields; whole numbers stay whole."""
    tried = [config]
    for key, values in factors.items():
        value = getattr(config, key)
        scaled = [max(1, round(value * f)) if isinstance(value, int) else value * f for f in values]
        tried = [replace(one, **{key: x}) for one in tried for x in dict.fromkeys(scaled)]
    return tried


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return command("tune", __doc__ or "", EDIT, tune, args)


if __name__ == "__main__":
    launch(main)
