"""python -m testbed.tune [tiny|laptop|small|paper] EDITOR...: choose hyper-parameters on held-out edits."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from corpus.errors import InputError
from corpus.files import read_json, write_json
from testbed.console import command, progress, say, table
from testbed.launch import launch
from testbed.presets import EDIT, EditSettings
from testbed.run.runs import Run, plain, provenance
from testbed.run.tuned import field_of, tuned_file

GOOD = 0.98
"""Edit success that is asked for before anything else counts."""
TENFOLD = (0.1, 0.3, 1.0, 3.0, 10.0)
SEARCH: dict[str, dict[str, tuple[float, ...]]] = {
    "lora_down": {"learning_rate": TENFOLD},
    "lora_all": {"learning_rate": TENFOLD},
    "embeddings": {"learning_rate": (1.0, 3.0, 10.0, 30.0, 100.0)},
    "full": {"learning_rate": TENFOLD},
    "full_early": {"learning_rate": TENFOLD},
    "full_late": {"learning_rate": TENFOLD},
    "ft_constrained": {"radius": (0.3, 1.0, 3.0, 10.0, 30.0)},
    "rome": {"rate": (1.0, 3.0), "farthest": (1.0, 2.0, 4.0)},
    "memit": {"rate": (1.0, 3.0), "farthest": (1.0, 2.0, 4.0)},
    "mend": {"locality": (0.01, 0.1, 1.0, 10.0)},
    "in_context": {"copies": (0.25, 0.5, 1.0, 2.0, 4.0)},
    "grace": {"radius": (0.1, 0.3, 1.0, 3.0)},
}
"""What is tried: factors on hyper-parameters as they are set, every one with every other."""


def tune(options: EditSettings) -> None:
    """Try an editor's hyper-parameters on edits of facts that no test case edits, and record the search.

    Chosen is, among settings with enough edit success (or else the highest), the one that brings the
    model closest to the agent everywhere else: the highest coherence skill. `testbed.edit --tuned` uses it.

    Raises:
        InputError: no trained model, an editor without hyper-parameters to choose, or nothing held out.
    """
    from testbed.engine.bench import Bench
    from testbed.engine.methods import method_named
    from testbed.engine.records import read_outcomes
    from testbed.evaluations.hase.metrics import measure, readers
    from testbed.evaluations.hase.sampling import Sampler
    from testbed.run.agents import agent_named
    from testbed.run.model import load_model
    from testbed.run.runtime import prepare_jax
    from testbed.run.world import load_world

    fields = {name: field_of(name) for name in options.editors}
    for name, field in fields.items():
        if field not in SEARCH:
            raise InputError(f"{name} has nothing to tune; choose among {', '.join(map(_named, SEARCH))}")
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
    for name, field in fields.items():
        done = tuned_file(run, field)
        if done.exists():
            say(f"{done} is there already; delete it to search again")
            continue
        found = []
        settings = list(_settings(getattr(options.configs, field), SEARCH[field]))
        with progress(f"tune {name}", len(settings) * len(cases)) as advance:
            for setting in settings:
                configs = replace(options.configs, **{field: setting})
                folder = run.folder / "tuned" / f".{name}"
                shutil.rmtree(folder, ignore_errors=True)
                bench.edit(method_named(name, replace(options, configs=configs), world), folder, advance)
                outcomes = read_outcomes(folder / "cases.parquet")
                measured = measure(outcomes, readers(outcomes, name)[name])
                tried = {key: getattr(setting, key) for key in SEARCH[field]}
                found.append(
                    tried
                    | {key: measured[key].value() for key in ("edit success", "coherence skill", "spill")}
                )
        shutil.rmtree(folder, ignore_errors=True)
        chosen = choose(found)
        write_json(
            done,
            {
                "chosen": {key: chosen[key] for key in SEARCH[field]},
                "search": found,
                "cases": len(cases),
                "settings": plain(alone),
                "made_with": provenance(),
            },
        )
    for field in dict.fromkeys(fields.values()):
        record = read_json(tuned_file(run, field))
        header = list(record["search"][0])
        lines = [[f"{line[key]:.3g}" for key in header] for line in record["search"]]
        marks = ["*" if choose(record["search"]) == line else "" for line in record["search"]]
        lines = [[*line, mark] for line, mark in zip(lines, marks, strict=True)]
        table(f"{_named(field)} on {record['cases']} held-out edits", [*header, "chosen"], lines)


def choose(found: Sequence[dict[str, float]]) -> dict[str, float]:
    """The setting with the highest coherence skill among those with enough edit success.

    Where none has enough, those within two hundredths of the highest success compete.
    """
    best = max(line["edit success"] for line in found)
    enough = [line for line in found if line["edit success"] >= min(GOOD, best - (1 - GOOD))]
    return max(enough, key=lambda line: line["coherence skill"])


def _settings(config: Any, factors: dict[str, tuple[float, ...]]) -> list[Any]:
    """The configuration with every combination of factors on its fields; whole numbers stay whole."""
    tried = [config]
    for key, values in factors.items():
        value = getattr(config, key)
        scaled = [max(1, round(value * f)) if isinstance(value, int) else value * f for f in values]
        tried = [replace(one, **{key: x}) for one in tried for x in dict.fromkeys(scaled)]
    return tried


def _named(field: str) -> str:
    return field.replace("_", "-")


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return command("tune", __doc__ or "", EDIT, tune, args)


if __name__ == "__main__":
    launch(main)
