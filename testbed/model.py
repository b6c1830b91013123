"""A run's trained model, and a sample of the text it was trained on."""

from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from corpus.errors import InputError
from corpus.seeds import integer
from corpus.store import open_documents
from lm.batches import PackedRows
from lm.checkpoints import latest_checkpoint, load_checkpoint
from lm.config import ModelConfig, TrainConfig
from lm.model import Params
from lm.training import start
from testbed.runs import Run, digest, recorded
from testbed.world import World

SAMPLE_ROWS = 64


class TrainedModel(NamedTuple):
    """Architecture, parameters and the checkpoint they came from."""

    config: ModelConfig
    params: Params
    checkpoint: Path


def load_model(run: Run, world: World) -> TrainedModel:
    """The newest checkpoint of a run, verified.

    Raises:
        InputError: no training was finished, or the checkpoint is corrupted or of another configuration.
    """
    settings, inputs = recorded(run, "train")
    if inputs["corpus"] != digest(run.corpus):
        raise InputError(
            f"the model of {run.folder} was trained on another corpus; delete {run.checkpoints.parent}"
        )
    config, recipe = ModelConfig(**settings["model"]), TrainConfig(**settings["train"])
    checkpoint = latest_checkpoint(run.checkpoints)
    if checkpoint is None or int(checkpoint.name) < recipe.steps:
        raise InputError(
            f"{run.folder} has no finished training; run python -m testbed.train --run {run.name}"
        )
    seed = integer(settings["seed"], "weights")
    like = jax.eval_shape(lambda: start(config, recipe, world.tokenizer.vocabulary, seed))
    return TrainedModel(config, load_checkpoint(checkpoint, like).params, checkpoint)


def packed_sample(run: Run, seed: int) -> np.ndarray:
    """int32[SAMPLE_ROWS, T]: some packed rows of the training corpus, for editors that want text."""
    recipe = TrainConfig(**recorded(run, "train")[0]["train"])
    rows = PackedRows(open_documents(run.corpus), recipe.row_length, seed, recipe.packing)
    return rows.batch(0, SAMPLE_ROWS)
