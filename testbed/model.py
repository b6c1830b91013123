"""A run's trained model, and a sample of the text it was trained on."""

from pathlib import Path
from typing import Literal

import numpy as np

from corpus.errors import InputError
from corpus.store import open_documents
from lm.batches import PackedRows
from lm.checkpoints import best_checkpoint, latest_checkpoint, load_checkpoint
from lm.config import MeshConfig, ModelConfig, TrainConfig
from lm.language_model import LanguageModel
from lm.mesh import make_mesh
from lm.training import abstract
from testbed.runs import Run, digest, recorded
from testbed.world import World

SAMPLE_ROWS = 64


def load_model(run: Run, world: World, which: Literal["last", "best"] = "last") -> tuple[LanguageModel, Path]:
    """A checkpoint of a run, verified: the model, and the checkpoint's folder.

    Raises:
        InputError: no training was finished, or the checkpoint is corrupted or of another configuration.
    """
    settings, inputs = recorded(run, "train")
    if inputs["corpus"] != digest(run.corpus):
        raise InputError(
            f"the model of {run.folder} was trained on another corpus; delete {run.checkpoints.parent}"
        )
    checkpoint = (best_checkpoint if which == "best" else latest_checkpoint)(run.checkpoints)
    if checkpoint is None or not run.finished.exists():
        raise InputError(
            f"{run.folder} has no finished training; run python -m testbed.train --run {run.name}"
        )
    config, recipe = ModelConfig(**settings["model"]), TrainConfig(**settings["train"])
    like = abstract(config, recipe, world.tokenizer.vocabulary, make_mesh(MeshConfig()))
    return LanguageModel(config, load_checkpoint(checkpoint, like).params), checkpoint


def packed_sample(run: Run, seed: int) -> np.ndarray:
    """int32[SAMPLE_ROWS, T]: some packed rows of the training corpus, for editors that want text."""
    recipe = TrainConfig(**recorded(run, "train")[0]["train"])
    rows = PackedRows(open_documents(run.corpus), recipe.row_length, seed, recipe.packing)
    return rows.batch(0, SAMPLE_ROWS)
