"""python -m testbed.edit [tiny|laptop|small|paper]: edit facts in the model and score every edit."""

import shutil
from collections.abc import Sequence

from corpus.files import digest_of, read_json, write_json
from testbed.console import command, progress, say, table
from testbed.launch import launch
from testbed.presets import EDIT, EditSettings
from testbed.runs import Run, digest, plain, provenance


def edit(options: EditSettings) -> None:
    """Independent edits in batches, each scored before and after; a killed sweep resumes where it was.

    Raises:
        InputError: no trained model, an unknown editor, a corrupted file.
    """
    from testbed.agents import agent_named, standard
    from testbed.editors import editor_named, identity
    from testbed.model import load_model, packed_sample
    from testbed.records import read_outcomes
    from testbed.runtime import prepare_jax
    from testbed.sampling import Sampler
    from testbed.summary import summarise, summary_rows, write_summary
    from testbed.sweep import Sweep
    from testbed.world import load_world

    run = Run(options.runs, options.run)
    editor = editor_named(options)
    world = load_world(run)
    prepare_jax()
    model, checkpoint = load_model(run, world, options.checkpoint)
    traced = {
        "world": digest(run.world),
        "corpus": digest(run.corpus),
        "checkpoint": digest(checkpoint),
        "settings": plain(options),
        **identity(editor),
    }
    name = options.editor.replace(":", ".")
    folder = run.edits / f"{name}-{digest_of(traced)}"
    if (folder / "cases.parquet").exists():
        say(f"{folder} has these edits already")
    else:
        agent = agent_named(options.agent, world, options.prior_mass, options.evidence_multiplicity)
        cases = list(Sampler(world, agent, options.cases, options.seed))
        state = editor.prepare(model, packed_sample(run, options.seed))
        described = standard(options.agent, agent.exactness)
        write_json(
            folder / "config.json",
            traced
            | {"standard": described, "exactness": agent.exactness._asdict(), "made_with": provenance()},
        )
        sweep = Sweep(world, model, cases, options.batch_edits, folder)
        with progress("edit", len(cases), sweep.done) as advance:
            seconds = sweep.run(editor, state, options.seed, advance)
        say(f"{seconds:.1f} s went into the edits themselves, compilation included")
    shutil.rmtree(folder / "parts", ignore_errors=True)
    summary = summarise(read_outcomes(folder / "cases.parquet"), name, options.seed)
    judged_by = read_json(folder / "config.json")["standard"]
    write_summary(summary, folder, traced, judged_by)
    table(f"edits {folder.name}", *summary_rows(summary))
    say(f"the standard is {judged_by}")


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return command("edit", __doc__ or "", EDIT, edit, args)


if __name__ == "__main__":
    launch(main)
