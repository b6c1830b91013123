"""python -m testbed.train [tiny|small|paper]: train the language model on a run's corpus."""

import json
import math
import time
from collections.abc import Sequence
from functools import partial

from corpus.errors import InputError
from corpus.files import staged_file
from testbed.console import command, progress, say, table
from testbed.launch import launch
from testbed.presets import TRAIN, TrainSettings
from testbed.runs import Run, claim, digest, read_metrics

FACTS_ON_THE_WAY = 1000


def train(options: TrainSettings) -> None:
    """Train to the last step, resuming from the newest checkpoint; does nothing where that is reached.

    Raises:
        InputError: no corpus, other settings than before, a corrupted checkpoint, a loss that is no
            number.
    """
    import jax

    from corpus.seeds import generator, integer
    from corpus.store import open_documents
    from lm.batches import PackedRows
    from lm.checkpoints import latest_checkpoint, load_checkpoint, save_checkpoint
    from lm.training import start, train_step
    from testbed.accuracy import generative_accuracy
    from testbed.runtime import prepare_jax
    from testbed.world import load_world

    run, config, model = Run(options.runs, options.run), options.train, options.model
    world = load_world(run)
    rows = PackedRows(open_documents(run.corpus), config.row_length, options.seed, config.packing)
    newest = latest_checkpoint(run.checkpoints)
    claim(run, "train", options, made=newest is not None, inputs={"corpus": digest(run.corpus)})
    prepare_jax()

    vocabulary = world.tokenizer.vocabulary
    begin = partial(start, model, config, vocabulary, integer(options.seed, "weights"))
    state = load_checkpoint(newest, jax.eval_shape(begin)) if newest else begin()
    done = int(state.step)
    facts = world.stated_facts
    sample = generator(options.seed, "accuracy").permutation(facts)[:FACTS_ON_THE_WAY]
    say(
        f"{model.parameters(vocabulary):,} parameters; {len(rows):,} rows an epoch"
        + (f"; resuming at step {done:,}" if done else "")
    )

    if run.metrics.exists():
        # Metrics beyond the checkpoint belong to steps that will be taken again.
        kept = [json.dumps(line) + "\n" for line in read_metrics(run) if line["step"] <= done]
        with staged_file(run.metrics) as aside:
            aside.write_text("".join(kept), encoding="utf-8")
    began, loss = time.perf_counter(), math.nan
    with progress("train", config.steps, done) as advance:
        for step in range(done, config.steps):
            state, loss_array = train_step(model, config, state, rows.batch(step, config.rows))
            finished = step + 1
            last = finished == config.steps
            evaluates = last or finished % config.evaluate_every == 0
            saves = last or finished % config.checkpoint_every == 0
            note = ""
            if evaluates or saves:
                loss = float(loss_array)
                if not math.isfinite(loss):
                    raise InputError(
                        f"the loss is {loss} at step {finished}; the last good checkpoint is "
                        f"{latest_checkpoint(run.checkpoints)}; lower --train.learning-rate"
                    )
            if evaluates:
                accuracy = generative_accuracy(model, state.params, world, sample)
                seconds = time.perf_counter() - began
                run.metrics.parent.mkdir(parents=True, exist_ok=True)
                with run.metrics.open("a", encoding="utf-8") as file:
                    record = {"step": finished, "loss": loss, "accuracy": accuracy, "seconds": seconds}
                    file.write(json.dumps(record) + "\n")
                speed = (finished - done) * config.rows * config.row_length / seconds
                note = f"loss {loss:.3f}  accuracy {accuracy:.1%}  {speed:,.0f} tokens/s"
            if saves:
                save_checkpoint(run.checkpoints, state)
            advance(1, note)

    accuracy = generative_accuracy(model, state.params, world, facts)
    rows_out = [
        ("steps", f"{config.steps:,}"),
        ("parameters", f"{model.parameters(vocabulary):,}"),
        ("generative accuracy of true facts", f"{accuracy:.3f}"),
        ("seconds, this session", f"{time.perf_counter() - began:.1f}"),
        ("device", jax.devices()[0].device_kind),
    ]
    table(f"model {run.folder}", ("", "value"), rows_out)


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return command("train", __doc__ or "", TRAIN, train, args)


if __name__ == "__main__":
    launch(main)
