"""grace: a codebook beside one MLP (Hartvigsen et al. 2023); what is looked up propagates nowhere.

h(x) becomes v_i for the nearest key k_i with |x - k_i| <= eps_i, and stays h(x) where there is none; v_i is
fitted to -log p(o* | s, r) from h(k_i), and k_i is what the MLP reads where token i of o* is predicted.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax

from corpus.text.tokenizer import PAD
from lm.delta import Codebook, Delta
from lm.editors.fitting import as_float32, layer_at, learn_request, request_activations, request_inputs
from lm.editors.grace import GraceConfig
from lm.editors.interface import CorpusSample, Editor, Info, Request
from lm.language_model import LanguageModel


@dataclass(frozen=True)
class Grace(Editor):
    """Stores, for every token of the answer, what the MLP should return where it is predicted."""

    config: GraceConfig

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> dict:
        """How far apart prompts are, and how large the MLP's outputs."""
        layer = layer_at(self.config.depth, model.config.layers)
        practice = Request(*(jnp.asarray(x)[:, 0] for x in corpus_sample.practice))
        activations = request_activations(model, practice)
        end = practice.prompt.shape[1] - 1
        keys = as_float32(activations.mlp_inputs[layer][:, end])
        apart = jnp.linalg.norm(keys[:, None] - keys[None], axis=-1)
        nearest = jnp.where(apart > 0, apart, jnp.inf).min(axis=1)
        return {
            "radius": self.config.radius * jnp.median(nearest),
            "typical": jnp.sqrt(jnp.mean(as_float32(activations.mlp_outputs[layer][:, end]) ** 2)),
        }

    def edit(self, model: LanguageModel, state: dict, request: Request, key: jax.Array) -> tuple[Delta, Info]:
        """A codebook of M * A entries."""
        layer, first = layer_at(self.config.depth, model.config.layers), request.prompt.shape[1] - 1
        activations = request_activations(model, request)

        def answer_entries(values: jax.Array) -> jax.Array:
            return as_float32(values[:, first:].reshape(-1, values.shape[-1]))

        keys = answer_entries(activations.mlp_inputs[layer])
        start = answer_entries(activations.mlp_outputs[layer])
        only = jnp.arange(model.config.layers) == layer
        used = only[:, None] & (request.answer != PAD).ravel()
        radius = jnp.where(used, state["radius"], -1.0)

        def delta_of(move: jax.Array) -> Delta:
            values = start + move * state["typical"]
            in_layer = only[:, None, None]
            book = Codebook(jnp.where(in_layer, keys, 0.0), jnp.where(in_layer, values, 0.0), radius)
            return {"codebook": book}

        rule, read = optax.adam(self.config.rate), (request_inputs(request) != PAD).sum()
        still = jnp.zeros_like(start)
        return learn_request(model, request, delta_of, still, rule, self.config.steps, more=read)
