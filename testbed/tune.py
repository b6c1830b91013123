"""python -m testbed.tune [tiny|laptop|small|paper] EDITOR...: choose hyper-parameters on held-out edits."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from corpus.errors import InputError
from corpus.files import read_json, write_json
from testbed.console import command, progress, say, table
from testbed.engine.catalogue import entries, method_named, whose_options
from testbed.launch import launch
from testbed.presets import EDIT, EditSettings
from testbed.run.runs import Run, plain, provenance
from testbed.run.tuned import tuned_file

GOOD = 0.98
"""Edit success that is asked for before anything else counts."""


def tune(options: EditSettings) -> None:
    """Try an editor's hyper-parameters on edits of facts that no test case edits, and record the search.

    Chosen is, among settings with enough edit success (or else the highest), the one that brings the
    model closest to the agent everywhere else: the highest coherence skill. `testbed.edit --tuned` uses it.

    Raises:
        InputError: no trained model, an editor without hyper-parameters to choose, or nothing held out.
    """
    from testbed.engine.bench import Bench
    from testbed.engine.records import read_outcomes
    from testbed.evaluations.hase.metrics import measure, readers
    from testbed.evaluations.hase.sampling import Sampler
    from testbed.run.agents import agent_named
    from testbed.run.model import load_model
    from testbed.run.runtime import prepare_jax
    from testbed.run.world import load_world

    tuned = {name: whose_options(name) for name in options.editors}
    for name, entry in tuned.items():
        if not entry.search:
            able = ", ".join(other.name for other in entries().values() if other.search)
            raise InputError(f"{name} has nothing to tune; choose among {able}, or your own with a SEARCH")
    run = Run(options.runs, options.run)
    world = load_world(run)
    prepare_jax()
    model, _ = load_model(run, world, options.checkpoint)
    agent = agent_named(options.agent, world, options.prior_mass, options.evidence_multiplicity)
    tests = {(c.subject, c.relation) for c in Sampler(world, agent, options.cases, options.seed)}
    others = Sampler(world, agent, options.cases, options.seed + 1)
    cases = [c for c in others if (c.subject, c.relation) not in tests]
    if not cases:
        raise InputError("the test cases edit every fact, so nothing is held out; lower --cases.count")
    alone = replace(options, sequential=1, batch=1, cases=replace(options.cases, count=len(cases)))
    bench = Bench(run, world, model, cases, alone)
    for name, entry in tuned.items():
        done = tuned_file(run, name)
        if done.exists():
            say(f"{done} is there already; delete it to search again")
            continue
        found = []
        settings = list(_settings(options.configs.get(entry.options, entry.config), entry.search))
        with progress(f"tune {name}", len(settings) * len(cases)) as advance:
            for setting in settings:
                configs = options.configs | {entry.options: setting}
                folder = run.folder / "tuned" / f".{name.replace(':', '.')}"
                shutil.rmtree(folder, ignore_errors=True)
                bench.edit(method_named(name, replace(options, configs=configs), world), folder, advance)
                outcomes = read_outcomes(folder / "cases.parquet")
                measured = measure(outcomes, readers(outcomes, name)[name])
                tried = {key: getattr(setting, key) for key in entry.search}
                found.append(
                    tried
                    | {key: measured[key].value() for key in ("edit success", "coherence skill", "spill")}
                )
        shutil.rmtree(folder, ignore_errors=True)
        chosen = choose(found)
        write_json(
            done,
            {
                "chosen": {key: chosen[key] for key in entry.search},
                "search": found,
                "cases": len(cases),
                "settings": plain(alone),
                "made_with": provenance(),
            },
        )
    for name in dict.fromkeys(entry.name for entry in tuned.values()):
        record = read_json(tuned_file(run, name))
        header = list(record["search"][0])
        lines = [[f"{line[key]:.3g}" for key in header] for line in record["search"]]
        marks = ["*" if choose(record["search"]) == line else "" for line in record["search"]]
        lines = [[*line, mark] for line, mark in zip(lines, marks, strict=True)]
        table(f"{name} on {record['cases']} held-out edits", [*header, "chosen"], lines)


def choose(found: Sequence[dict[str, float]]) -> dict[str, float]:
    """The setting with the highest coherence skill among those with enough edit success.

    Where none has enough, those within two hundredths of the highest success compete.
    """
    best = max(line["edit success"] for line in found)
    enough = [line for line in found if line["edit success"] >= min(GOOD, best - (1 - GOOD))]
    return max(enough, key=lambda line: line["coherence skill"])


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
