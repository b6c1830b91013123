"""A run's trained model, and a sample of the text it was trained on."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import jax
import numpy as np

from corpus.errors import InputError
from corpus.files import CHECKSUMS
from corpus.seeds import generator
from corpus.text.store import open_documents
from lm.batches import PackedRows
from lm.config import MeshConfig, ModelConfig, TrainConfig
from lm.editors.interface import CorpusSample, make_requests, vocabulary_of
from lm.language_model import LanguageModel
from lm.mesh import make_mesh
from lm.training import abstract_state
from testbed.protocol import Case
from testbed.run.runs import NotMadeError, Run, finished_training, folder_digest, recorded_settings
from testbed.run.runtime import prepare_jax
from testbed.run.world import World, load_world

SAMPLE_ROWS = 256
PRACTICE = 256
FEWEST_HELD_OUT = 32


class Trained(NamedTuple):
    """A run with a trained model; `checkpoint` is the model's folder."""

    run: Run
    world: World
    model: LanguageModel
    checkpoint: Path


def load_trained(runs: Path, name: str, which: Literal["last", "best"] = "last") -> Trained:
    """World and model of a run, where JAX is set up for edits and questions.

    Raises:
        InputError: see `load_model`; or there is no such world.
    """
    run = Run(runs, name)
    world = load_world(run)
    prepare_jax()
    return Trained(run, world, *load_model(run, world, which))


def load_model(run: Run, world: World, which: Literal["last", "best"] = "last") -> tuple[LanguageModel, Path]:
    """A checkpoint of a run, verified: the model, and the checkpoint's folder.

    Raises:
        InputError: no training was finished, or the checkpoint is corrupted or of another configuration.
    """
    # Orbax, which it loads, is for those who read a model.
    from lm.checkpoints import load_checkpoint

    checkpoint, (settings, _) = finished_checkpoint(run, which), recorded_settings(run, "train")
    config, recipe = ModelConfig(**settings["model"]), TrainConfig(**settings["train"])
    like = abstract_state(config, recipe, world.tokenizer.vocabulary, make_mesh(MeshConfig()))
    return LanguageModel(shape_to_edit(config), load_checkpoint(checkpoint, like).params), checkpoint


def shape_to_edit(config: ModelConfig) -> ModelConfig:
    """The same shape as edits compile it: on a GPU a layer at a time.

    Edits and questions are many programs, and twelve layers at once take a GPU's compiler 40 s in each.
    """
    return config if jax.default_backend() == "cpu" else replace(config, unroll=1)


def finished_checkpoint(run: Run, which: Literal["last", "best"] = "last") -> Path:
    """The checkpoint that a finished training calls its last or its best, and no other.

    Raises:
        InputError: it was trained on another corpus.
        NotMadeError: no training was finished, or that checkpoint is missing or another one.
    """
    if recorded_settings(run, "train")[1]["corpus"] != folder_digest(run.corpus):
        raise InputError(
            f"the model of {run.folder} was trained on another corpus; train under another --run, or move "
            f"{run.checkpoints.parent} away"
        )
    training = finished_training(run)
    step = training["step" if which == "last" else "best_step"]
    checkpoint = run.checkpoints / f"{step:08d}"
    if (
        not (checkpoint / CHECKSUMS).is_file()
        or folder_digest(checkpoint) != training["checkpoints"][str(step)]
    ):
        raise NotMadeError(
            f"{checkpoint}, the {which} model of the training, is missing or damaged", "train", run
        )
    return checkpoint


def corpus_sample(run: Run, world: World, cases: Sequence[Case], seed: int) -> CorpusSample:
    """What editors may read before they edit: text, and practice requests that no case asks for.

    Half of the practice requests contradict the truth by another object that was said of somebody. A
    world in which nearly every fact is asked about has none to hold out; practice is then drawn from all.
    """
    recipe = TrainConfig(**recorded_settings(run, "train")[0]["train"])
    rows = PackedRows(open_documents(run.corpus), recipe.row_length, seed, recipe.packing)
    rng, graph = generator(seed, "practice"), world.graph
    requested_facts = graph.find(*np.array([part[:2] for c in cases for part in c.request.parts]).T)
    held_out = np.setdiff1d(world.stated_facts, requested_facts)
    if len(held_out) < FEWEST_HELD_OUT:
        held_out = world.stated_facts
    facts = rng.choice(held_out, PRACTICE)
    truth = world.generative.truth
    others = truth[rng.permutation(len(graph))]
    objects = np.where(rng.random(PRACTICE) < 0.5, truth[facts], others[facts])
    triples = [
        (int(graph.subject[f]), int(graph.relation[f]), int(o)) for f, o in zip(facts, objects, strict=True)
    ]
    practice = make_requests(world.tokenizer, triples, np.ones(PRACTICE), np.ones(PRACTICE))
    return CorpusSample(rows.batch(0, min(SAMPLE_ROWS, len(rows))), practice, vocabulary_of(world.tokenizer))
