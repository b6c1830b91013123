"""retrain: what the model would be had the evidence stood in its corpus, the ceiling of every editor.

W + dW = argmin_W of -log p_W(D) - n' c log p_W(o* | s, r), found as W was: from its own first weights, on its
own batches of the corpus D, with the request's sentence in them as often as the evidence says: n' further
samples, each c times, spread evenly. It takes as long as training does, so it is for small worlds.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import optax

from corpus.errors import InputError
from corpus.seeds import integer
from corpus.text.store import open_documents
from corpus.text.tokenizer import PAD
from lm.batches import PackedRows
from lm.config import TrainConfig
from lm.delta import Delta
from lm.editors.fitting import request_inputs, request_loss
from lm.editors.interface import CorpusSample, Editor, Info, Request
from lm.language_model import LanguageModel
from lm.loss import LOSS_PIECE, next_token_loss
from lm.model import init_params
from lm.training import make_optimizer
from testbed.engine.controls import RetrainConfig
from testbed.engine.methods import Belief, Method
from testbed.run.runs import Run, finished_training, recorded_settings

if TYPE_CHECKING:
    from testbed.run.world import World
    from testbed.settings import EditSettings

HEAVIEST = 1000.0


@dataclass(frozen=True)
class Retrain(Editor):
    """Training from scratch, as an editor.

    Args:
        run: whose training is repeated; where that lies says nothing about a result.
        copies_per_weight: sentences in the corpus for each unit of the agent's evidence.
    """

    config: RetrainConfig
    run: Run = field(metadata={"result": False})
    copies_per_weight: float

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> dict:
        """All batches of the training, and how many tokens of text they hold."""
        settings = recorded_settings(self.run, "train")[0]
        recipe, seed = TrainConfig(**settings["train"]), settings["seed"]
        documents = open_documents(self.run.corpus)
        rows = PackedRows(documents, recipe.row_length, seed, recipe.packing)
        steps = finished_training(self.run)["step"]
        batches = np.stack([rows.batch(step, recipe.rows) for step in range(steps)])
        tokens = (batches != PAD).sum()
        return {
            "batches": jnp.asarray(batches),
            "tokens": jnp.asarray(tokens, jnp.float32),
            "epochs": jnp.asarray(tokens / len(documents.tokens), jnp.float32),
            "start": init_params(model.config, model.vocabulary, integer(seed, "weights")),
        }

    def edit(self, model: LanguageModel, state: dict, request: Request, key: jax.Array) -> tuple[Delta, Info]:
        """The difference between the weights of the new training and those of the old one."""
        recipe = TrainConfig(**recorded_settings(self.run, "train")[0]["train"])
        rule, steps = make_optimizer(recipe), len(state["batches"])
        # What is certain has no weight; it is repeated as often as the paper's heaviest evidence.
        weight = jnp.minimum(request.weight.mean(), HEAVIEST)
        copies = self.config.copies * self.copies_per_weight * weight * state["epochs"]
        share = copies * (request.answer != PAD).sum() / state["tokens"]

        def loss_of(params: dict, rows: jax.Array) -> jax.Array:
            candidate = LanguageModel(model.config, params)
            text = next_token_loss(model.config, params, rows, LOSS_PIECE)
            return (text + share * request_loss(candidate, request)) / (1 + share)

        def step(carry: tuple, rows: jax.Array) -> tuple[tuple, jax.Array]:
            params, moments = carry
            loss, gradient = jax.value_and_grad(loss_of)(params, rows)
            update, moments = rule.update(gradient, moments, params)
            return (optax.apply_updates(params, update), moments), loss

        start = (state["start"], rule.init(state["start"]))
        (params, _), losses = jax.lax.scan(step, start, state["batches"])
        change = jax.tree.map(jnp.subtract, params, model.params)
        request_tokens = (request_inputs(request) != PAD).sum().astype(jnp.int32)
        tokens_read = state["tokens"].astype(jnp.int32) + steps * request_tokens
        return {"weights": change}, Info(losses, jnp.int32(steps), tokens_read, tokens_read)


def retrain(config: RetrainConfig, settings: "EditSettings", world: "World") -> Method:
    """The method; of few edits side by side, since each is a training.

    Raises:
        InputError: edits on top of each other.
    """
    if settings.sequence > settings.batch:
        raise InputError("retrain learns everything anew and builds on no earlier edit; use --batch")
    run = Run(settings.runs, settings.run)
    counted = settings.paper_agent.evidence_multiplicity if settings.agent == "paper" else 1.0
    per_weight = world.reshuffles / (counted or world.reshuffles)
    return Method(
        Retrain(config, run, per_weight),
        lambda case: [Belief(part[:3], case.credence, part.weight) for part in case.request.parts],
        most=4,
    )
