"""Train the model on a run's corpus."""

import os
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from statistics import median

import jax

from corpus.errors import InputError
from corpus.seeds import integer
from corpus.text.tokenizer import Tokenizer
from lm.checkpoint_files import latest_checkpoint
from lm.checkpoints import load_checkpoint
from lm.cluster import broadcast_value, join_cluster, require_same
from lm.config import PRECISIONS, ClusterConfig, ModelConfig
from lm.flops import attainable_flops
from lm.huggingface import read_architecture
from lm.language_model import LanguageModel
from lm.mesh import make_mesh
from lm.training import OwnTexts, abstract_state, go_on_training, start_training
from testbed.cells import Shown, show_number
from testbed.console import print_table, say, show_progress
from testbed.engine.versions import STAGES, describe_other_versions
from testbed.run.earlier import ask_after_reading, ask_before_reading, write_own_texts
from testbed.run.lock import only_one
from testbed.run.pretrained import inputs_of_training, load_pretrained, require_same_tokenizer
from testbed.run.reading import open_rows
from testbed.run.runs import Run, claim_stage, folder_digest, recorded_settings
from testbed.run.runtime import keep_freed_memory, prepare_jax
from testbed.run.settings import TrainSettings
from testbed.run.trainer import Trainer, kind_name, seconds_to
from testbed.run.world import World, load_world
from testbed.waiting import doing

COPIES = 3
"""Of every parameter in float32, at the least: itself, its gradient, and one moment. Of every token of a step
there is a vector for each layer."""
TARGETS = (0.5, 0.8, 0.9, 0.95)


def train(options: TrainSettings) -> None:
    """Train to the last step or to `options.until`, resuming from the newest checkpoint.

    Raises:
        InputError: no corpus, other settings than before, a corrupted checkpoint, a loss that is no
            number.
    """
    keep_freed_memory()
    began = time.perf_counter()
    if options.train.rows % options.mesh.data:
        raise InputError(
            f"--train.rows {options.train.rows} must be a multiple of --mesh.data {options.mesh.data}"
        )
    prepare_jax()
    run = Run(options.runs, options.run)
    if options.cluster.process > 0:
        # Nothing more on standard output, not even from libraries; errors still appear.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with join_cluster(options.cluster):
        doing("loading the corpus and compiling a step")
        world = load_world(run)
        # Of a cluster's processes the first one writes.
        with only_one(run, "train") if jax.process_index() == 0 else nullcontext():
            _train_alone(run, world, options, began)


def _train_alone(run: Run, world: World, options: TrainSettings, began: float) -> None:
    newest = latest_checkpoint(run.checkpoints)
    if options.model_from:
        options = replace(options, model=_shape_of(options, world.tokenizer))
    options = _settle_precision(run, options, newest is not None)
    config, model = options.train, options.model
    rows = open_rows(run, world, options)
    mesh = make_mesh(options.mesh)
    mine = replace(options, cluster=ClusterConfig(), runs=Path())
    require_same(f"{mine} {folder_digest(run.corpus)} {newest and newest.name}")
    if jax.process_index() == 0:
        inputs = inputs_of_training(run, options)
        claim_stage(run, "train", options, newest is not None, inputs, STAGES["train"])
        for sentence in describe_other_versions(run):
            say(sentence)

    vocabulary = world.tokenizer.vocabulary
    activations = config.rows * config.row_length * model.hidden * model.layers
    _require_memory(4 * (COPIES * model.parameters(vocabulary) + activations) / mesh.size)
    if newest:
        state = load_checkpoint(newest, abstract_state(model, config, vocabulary, mesh))
    elif options.model_from:
        begun = load_pretrained(Path(options.model_from), world.tokenizer)
        if jax.process_index() == 0:
            doing("asking the model before it reads")
            ask_before_reading(run, world, begun)
        state = go_on_training(model, config, vocabulary, begun.params, mesh)
    else:
        state = start_training(model, config, vocabulary, integer(options.seed, "weights"), mesh)
    say(
        f"{model.parameters(vocabulary):,} parameters; {len(rows):,} rows an epoch"
        + (f"; resuming at step {int(state.step):,}" if newest else "")
    )
    own = _own_texts(run, world, options) if config.own_rows else None
    trainer = Trainer(run, world, options, rows, mesh, began, own)
    first = int(state.step)
    with show_progress("train", config.steps, first) as advance:
        state = trainer.train(state, advance)
    facts, accuracy = trainer.facts, trainer.lines[-1]["accuracy"]
    if int(state.step) > first:
        facts = trainer.all_facts
        with show_progress("facts looked at", len(facts)) as advance:
            accuracy = trainer.measure_all(state, advance)

    knew = _ask_again(run, world, options, trainer.whole_model(state)) if jax.process_index() == 0 else []
    last, lines = trainer.lines[-1], trainer.lines
    reached = [(target, seconds_to(lines, target)) for target in TARGETS]
    kinds = map(kind_name, trainer.labelled)
    figures = [
        ("steps", last["step"]),
        ("parameters", model.parameters(vocabulary)),
        (f"generative accuracy of {len(facts):,} true facts", show_number(accuracy, ".3f")),
        *((f"right labels, {kind}", show_number(last[kind], ".3f")) for kind in kinds),
        *((f"seconds to {t:.0%} of facts", show_number(s, ".1f")) for t, s in reached if s is not None),
        *knew,
        ("seconds", show_number(last["seconds"], ".1f")),
        ("tokens a second", show_number(median(line["tokens_per_second"] for line in lines), ",.0f")),
        ("share of attainable FLOP/s", show_number(median(line["utilisation"] for line in lines), ".0%")),
        ("device", f"{mesh.size} x {jax.devices()[0].device_kind}"),
    ]
    print_table(f"model {run.folder}", ("", "value"), figures)
    if options.minutes is not None and not run.finished_file.exists():
        say(f"{options.minutes:g} minutes are over; the same command goes on")


def _shape_of(options: TrainSettings, tokenizer: Tokenizer) -> ModelConfig:
    """The shape of the model that a training goes on from, computed as its options say.

    Raises:
        InputError: as `load_pretrained`.
    """
    folder = Path(options.model_from)
    require_same_tokenizer(folder, tokenizer)
    asked = options.model
    return replace(
        read_architecture(folder).config, precision=asked.precision, remat=asked.remat, unroll=asked.unroll
    )


def _own_texts(run: Run, world: World, options: TrainSettings) -> OwnTexts:
    doing("writing texts of the model's own")
    before = load_pretrained(Path(options.model_from), world.tokenizer)
    writer = replace(before, config=options.model)
    return OwnTexts(write_own_texts(run, writer, options.seed), before.params)


def _ask_again(
    run: Run, world: World, options: TrainSettings, model: LanguageModel
) -> list[tuple[str, Shown]]:
    """What a pretrained model knew before, and still says, as rows; nothing of a model from scratch."""
    if not options.model_from:
        return []
    doing("asking the model what it said before it read")
    names = ask_before_reading(run, world, load_pretrained(Path(options.model_from), world.tokenizer))
    read = ask_after_reading(run, model)
    return [
        ("nats of a truth before reading", show_number(names.model, ".3f")),
        ("where all objects are as likely", show_number(names.uniform, ".3f")),
        ("by how often others have each", show_number(names.marginal, ".3f")),
        ("truths likeliest before reading", show_number(names.right, ".3f")),
        ("by chance", show_number(names.chance, ".3f")),
        ("written before and still", show_number(read.same, ".3f")),
        ("nats from what it wrote before", show_number(read.nats, ".3f")),
    ]


def _settle_precision(run: Run, options: TrainSettings, has_begun: bool) -> TrainSettings:
    """For the fastest precision the one in which the training has begun, or else the faster one here."""
    if options.model.precision != "fastest":
        return options
    models = [replace(options.model, precision=precision) for precision in PRECISIONS]
    if has_begun:
        recorded = recorded_settings(run, "train")[0]["model"].get("precision")
        # A record that has none of them is refused like any other that differs.
        model = next((model for model in models if model.precision == recorded), models[0])
    else:
        # The first process chooses, as others of a cluster may measure otherwise.
        speeds = [broadcast_value(attainable_flops(model)) for model in models]
        model = models[speeds.index(max(speeds))]
        listing = ", ".join(
            f"{model.precision} {speed / 1e9:,.0f}" for model, speed in zip(models, speeds, strict=True)
        )
        say(f"computing in {model.precision}; GFLOP/s of one product: {listing}")
    return replace(options, model=model)


def _require_memory(least: float) -> None:
    """Refuse a model that is too large for this machine before anything is compiled."""
    stats = jax.local_devices()[0].memory_stats()
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    memory = stats["bytes_limit"] if stats and "bytes_limit" in stats else physical
    if least > memory:
        raise InputError(
            f"this model takes at least {least / 1e9:,.1f} GB to train and there are {memory / 1e9:,.1f} GB; "
            "choose smaller --model sizes or fewer --train.rows, or cut it over devices by --mesh"
        )
