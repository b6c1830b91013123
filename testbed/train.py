"""python -m testbed.train [tiny|laptop|small|paper|paper-fast]: train the model on a run's corpus."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from corpus.errors import InputError
from lm.config import ClusterConfig
from testbed.console import command, progress, say, silence, table
from testbed.launch import launch
from testbed.presets import TRAIN
from testbed.run.runs import Run, claim, digest
from testbed.run.settings import TrainSettings

TARGETS = (0.5, 0.8, 0.9, 0.95)


def train(options: TrainSettings) -> None:
    """Train to the last step or to `options.until`, resuming from the newest checkpoint.

    Raises:
        InputError: no corpus, other settings than before, a corrupted checkpoint, a loss that is no
            number.
    """
    from lm.cluster import cluster
    from testbed.run.runtime import prepare_jax

    if options.train.rows % options.mesh.data:
        raise InputError(
            f"--train.rows {options.train.rows} must be a multiple of --mesh.data {options.mesh.data}"
        )
    prepare_jax()
    if options.cluster.process > 0:
        silence()
    with cluster(options.cluster):
        _train(options)


def _train(options: TrainSettings) -> None:
    import jax

    from corpus.seeds import integer
    from corpus.store import open_documents
    from lm.batches import PackedRows
    from lm.checkpoints import latest_checkpoint, load_checkpoint
    from lm.cluster import require_same
    from lm.mesh import make_mesh
    from lm.training import abstract, start
    from testbed.run.trainer import Trainer, kind_name, seconds_to
    from testbed.run.world import load_world

    run, config, model = Run(options.runs, options.run), options.train, options.model
    world = load_world(run)
    rows = PackedRows(open_documents(run.corpus), config.row_length, options.seed, config.packing)
    mesh = make_mesh(options.mesh)
    newest = latest_checkpoint(run.checkpoints)
    mine = replace(options, cluster=ClusterConfig(), runs=Path())
    require_same(f"{mine} {digest(run.corpus)} {newest and newest.name}")
    if jax.process_index() == 0:
        claim(run, "train", options, made=newest is not None, inputs={"corpus": digest(run.corpus)})

    vocabulary = world.tokenizer.vocabulary
    if newest:
        state = load_checkpoint(newest, abstract(model, config, vocabulary, mesh))
    else:
        state = start(model, config, vocabulary, integer(options.seed, "weights"), mesh)
    say(
        f"{model.parameters(vocabulary):,} parameters; {len(rows):,} rows an epoch"
        + (f"; resuming at step {int(state.step):,}" if newest else "")
    )
    trainer = Trainer(run, world, options, rows, mesh)
    with progress("train", config.steps, int(state.step)) as advance:
        state = trainer.train(state, advance)

    last, lines = trainer.lines[-1], trainer.lines
    reached = [(target, seconds_to(lines, target)) for target in TARGETS]
    shown = [
        ("steps", f"{last['step']:,}"),
        ("parameters", f"{model.parameters(vocabulary):,}"),
        ("generative accuracy of true facts", f"{trainer.measure_all(state):.3f}"),
        *((f"right labels, {name}", f"{last[name]:.3f}") for name in map(kind_name, trainer.labelled)),
        *((f"seconds to {target:.0%} of facts", f"{s:.1f}") for target, s in reached if s is not None),
        ("seconds", f"{last['seconds']:.1f}"),
        ("tokens a second", f"{median(line['tokens_per_second'] for line in lines):,.0f}"),
        ("share of attainable FLOP/s", f"{median(line['utilisation'] for line in lines):.0%}"),
        ("device", f"{mesh.size} x {jax.devices()[0].device_kind}"),
    ]
    table(f"model {run.folder}", ("", "value"), shown)
    if not run.finished.exists():
        say(f"{options.minutes:g} minutes are over; the same command goes on")


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return command("train", __doc__ or "", TRAIN, train, args)


if __name__ == "__main__":
    launch(main)
