"""python -m testbed.edit [tiny|laptop|small|paper] EDITOR...: edit facts in the model, score every edit."""

import shutil
from collections.abc import Sequence
from dataclasses import replace

from corpus.files import digest_of, read_json, write_json
from testbed.console import command, progress, say, table
from testbed.launch import launch
from testbed.presets import EDIT, EditSettings
from testbed.runs import Run, digest, plain, provenance

OF_THE_COMMAND = ("editors", "configs", "tuned", "batch_edits")
"""Settings that concern other editors too, or change no result; an editor's own are in its identity."""


def edit(options: EditSettings) -> None:
    """The same edits by every editor, each scored before and after; a killed command resumes.

    Raises:
        InputError: no trained model, an unknown editor, a corrupted file.
    """
    from testbed.agents import agent_named, standard
    from testbed.bench import Bench
    from testbed.editors import identity, method_named
    from testbed.model import load_model
    from testbed.records import read_outcomes
    from testbed.runtime import prepare_jax
    from testbed.sampling import Sampler
    from testbed.summary import HEADLINES, shown, summarise, write_summary
    from testbed.tuned import tuned
    from testbed.world import load_world

    run = Run(options.runs, options.run)
    world = load_world(run)
    prepare_jax()
    model, checkpoint = load_model(run, world, options.checkpoint)
    if options.tuned:
        options = replace(options, configs=tuned(run, options.editors, options.configs))
    methods = {name: method_named(name, options, world) for name in options.editors}
    shared = {key: value for key, value in plain(options).items() if key not in OF_THE_COMMAND}
    made_from = {
        "world": digest(run.world),
        "corpus": digest(run.corpus),
        "checkpoint": digest(checkpoint),
    }
    traced = {
        name: made_from | {"settings": shared | {"editor": name}, **identity(method)}
        for name, method in methods.items()
    }
    folders = {
        name: run.edits / f"{name.replace(':', '.')}-{digest_of(trace)}" for name, trace in traced.items()
    }
    pending = [name for name, folder in folders.items() if not (folder / "cases.parquet").exists()]
    for name in folders.keys() - set(pending):
        say(f"{folders[name]} has these edits already")
    if pending:
        agent = agent_named(options.agent, world, options.prior_mass, options.evidence_multiplicity)
        cases = list(Sampler(world, agent, options.cases, options.seed))
        described = {
            "standard": standard(options.agent, agent.exactness),
            "exactness": agent.exactness._asdict(),
            "made_with": provenance(),
        }
        bench = Bench(run, world, model, cases, options)
    for name in pending:
        write_json(folders[name] / "config.json", traced[name] | described)
        with progress(name, len(cases)) as advance:
            bench.edit(methods[name], folders[name], advance)
    rows = []
    for name, folder in folders.items():
        shutil.rmtree(folder / "parts", ignore_errors=True)
        summary = summarise(read_outcomes(folder / "cases.parquet"), name)
        judged_by = read_json(folder / "config.json")["standard"]
        write_summary(summary, folder, traced[name], judged_by)
        rows.append([name, *(shown(summary["all"][name][metric]) for metric in HEADLINES)])
    table(f"edits of {run.folder}", ["editor", *HEADLINES], rows)
    say(f"the standard is {judged_by}")
    say(f"python -m testbed.report --run {run.name} shows everything else")


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return command("edit", __doc__ or "", EDIT, edit, args)


if __name__ == "__main__":
    launch(main)
