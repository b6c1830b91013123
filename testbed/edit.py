"""python -m testbed.edit [tiny|small|paper]: edit facts in the model and score every edit."""

import shutil
import time
from collections.abc import Sequence

from corpus.files import write_json
from testbed.console import command, progress, say, table
from testbed.launch import launch
from testbed.presets import EDIT, EditSettings
from testbed.runs import Run, digest, digest_of, plain, provenance


def edit(options: EditSettings) -> None:
    """Independent edits in batches, each scored before and after; a killed sweep resumes where it was.

    Raises:
        InputError: no trained model, an unknown editor, a corrupted file.
    """
    import jax
    import numpy as np

    from corpus.seeds import integer
    from lm.editors.interface import edit_batch, requests
    from testbed.accuracy import Answers
    from testbed.cases import Sampler
    from testbed.editors import editor_named, identity
    from testbed.model import load_model, packed_sample
    from testbed.probes import build_probes, probe_shape, read, truth_words
    from testbed.records import case_rows, merge_parts, read_outcomes, write_rows
    from testbed.runtime import prepare_jax
    from testbed.summary import summarise, summary_rows, write_summary
    from testbed.world import agent_of, load_world

    run = Run(options.runs, options.run)
    editor = editor_named(options)
    world = load_world(run)
    prepare_jax()
    model = load_model(run, world)
    traced = {
        "world": digest(run.world),
        "corpus": digest(run.corpus),
        "checkpoint": digest(model.checkpoint),
        "settings": plain(options),
        **identity(editor),
    }
    name = options.editor.replace(":", ".")
    folder = run.edits / f"{name}-{digest_of(traced)}"
    if not (folder / "cases.parquet").exists():
        agent = agent_of(world, options.prior_mass, options.evidence_multiplicity)
        cases = list(Sampler(world, agent, options.cases, options.seed))
        shape = probe_shape(world.tokenizer, cases)
        asked = requests(
            world.tokenizer,
            [(c.subject, c.relation, c.object) for c in cases],
            [c.weight for c in cases],
            [c.credence for c in cases],
        )
        keys = jax.random.split(jax.random.key(integer(options.seed, "editor")), len(cases))
        words, answers = truth_words(world.tokenizer), Answers(world.tokenizer, world.graph.objects)
        write_json(folder / "config.json", traced | {"made_with": provenance()})

        state = editor.prepare(model.config, model.params, packed_sample(run, options.seed))
        size = min(options.batch_edits, len(cases))
        parts = [folder / "parts" / f"{low:06d}.parquet" for low in range(0, len(cases), size)]
        pending = [i for i, part in enumerate(parts) if not part.exists()]
        seconds = 0.0
        with progress("edit", len(cases), (len(parts) - len(pending)) * size) as advance:
            for i in pending:
                # The last batch repeats its last case, so that every batch has one shape.
                here = np.minimum(np.arange(i * size, (i + 1) * size), len(cases) - 1)
                batch = jax.tree.map(lambda x: x[here], asked)  # noqa: B023 -- called at once
                probes = build_probes(world.tokenizer, [cases[k] for k in here], shape)
                began = time.perf_counter()
                deltas, info = edit_batch(editor, model.config, state, model.params, batch, keys[here])
                jax.block_until_ready(deltas)
                seconds += time.perf_counter() - began
                nothing = jax.tree.map(np.zeros_like, deltas)
                before, after = (
                    read(model.config, model.params, d, probes, words, answers.longest)
                    for d in (nothing, deltas)
                )
                whole = cases[i * size : (i + 1) * size]
                write_rows(case_rows(i * size, whole, before, after, info, answers), parts[i])
                advance(len(whole))
        merge_parts(parts, folder / "cases.parquet")
        say(f"{seconds:.1f} s went into the edits themselves, compilation included")
    else:
        say(f"{folder} has these edits already")
    shutil.rmtree(folder / "parts", ignore_errors=True)
    summary = summarise(read_outcomes(folder / "cases.parquet"), name, options.seed)
    write_summary(summary, folder, traced)
    table(f"edits {folder.name}", *summary_rows(summary))


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return command("edit", __doc__ or "", EDIT, edit, args)


if __name__ == "__main__":
    launch(main)
