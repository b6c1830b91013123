"""mend: a hyper-network turns the gradient of one request into an edit (Mitchell et al. 2022).

The gradient of a down-projection is a sum over tokens of (input) x (gradient of output). The network
transforms both factors of every token, and their products are the edit: a low-rank change with one rank a
token. It is trained on practice edits, never on those it is judged by; one ordinary gradient through the
edited model is all that takes, since the factors themselves do not depend on the network.

W becomes W - alpha sum_t u'_t x d'_t with (u', d')_t = g(u_t, d_t): u_t and d_t are the input and the output
gradient of token t, g the network, alpha a learned rate for each layer.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax

from corpus.text.tokenizer import BOS, PAD
from lm.attention import packed_layout
from lm.delta import Delta, LowRank
from lm.editors.fitting import (
    as_float32,
    clip_gradient,
    gradient_info,
    layer_mask,
    request_activations,
    request_inputs,
    request_loss,
)
from lm.editors.interface import CorpusSample, Editor, Info, Request
from lm.editors.mend import MendConfig
from lm.language_model import LanguageModel

TEXT_TOKENS = 64
"""Tokens of unrelated text beside each practice edit."""
FIRST_STEP = 0.01
"""What an untrained network adds to a weight, in typical sizes of that weight."""


@dataclass(frozen=True)
class Mend(Editor):
    """The hyper-network; its parameters are the state that `prepare` returns."""

    config: MendConfig

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> dict:
        """Train the network on practice edits."""
        practice = jax.tree.map(jnp.asarray, corpus_sample.practice)
        count = len(practice.prompt)
        texts = jnp.asarray(corpus_sample.rows)[:, :TEXT_TOKENS]
        inputs_, gradients, _ = jax.jit(jax.vmap(_gradient_factors, in_axes=(None, 0)))(model, practice)
        state = {"scale": {"input": _root_mean_square(inputs_), "gradient": _root_mean_square(gradients)}}
        optimizer = clip_gradient(optax.adam(self.config.learning_rate))

        def loss_of(network: dict, model: LanguageModel, key: jax.Array) -> jax.Array:
            pick, text = jax.random.split(key)
            chosen = jax.random.choice(pick, count, (self.config.batch,))
            rows = texts[jax.random.choice(text, len(texts), (self.config.batch,))]
            batch = jax.tree.map(lambda x: x[chosen], practice)
            whole = state | {"network": network}
            return jax.vmap(lambda r, t: self._practice_loss(model, whole, r, t))(batch, rows).mean()

        @jax.jit
        def train_network(network: dict, model: LanguageModel, keys: jax.Array) -> dict:
            def step(carry: tuple, key: jax.Array) -> tuple[tuple, None]:
                network, moments = carry
                update, moments = optimizer.update(jax.grad(loss_of)(network, model, key), moments, network)
                return (optax.apply_updates(network, update), moments), None

            return jax.lax.scan(step, (network, optimizer.init(network)), keys)[0][0]

        start, *keys = jax.random.split(jax.random.key(0), self.config.steps + 1)
        return state | {"network": train_network(self._init_network(model, start), model, jnp.stack(keys))}

    def edit(self, model: LanguageModel, state: dict, request: Request, key: jax.Array) -> tuple[Delta, Info]:
        """Two passes and one gradient, transformed."""
        return self._edit_delta(model, state, request)

    def _edit_delta(self, model: LanguageModel, state: dict, request: Request) -> tuple[Delta, Info]:
        keys, gradients, loss = _gradient_factors(model, request)
        network, scale = state["network"], state["scale"]
        # Tokens that the loss does not depend on have nothing to say.
        real = (jnp.abs(gradients).sum(-1, keepdims=True) > 0).astype(jnp.float32)
        width = keys.shape[-1]
        both = jnp.concatenate([keys / scale["input"], gradients / scale["gradient"]], axis=-1)
        inner = jax.nn.relu(jnp.einsum("ltx,lxr->ltr", both, network["into"]) + network["bias"][:, None])
        both = (both + jnp.einsum("ltr,lrx->ltx", inner, network["out"])) * real
        weight = model.params["layers"]["mlp"]["down"]["kernel"]
        typical = jnp.sqrt(jnp.mean(weight**2, axis=(1, 2)))
        chosen = layer_mask(self.config.layers, model.config.layers)
        rate = FIRST_STEP * jnp.exp(network["rate"]) * typical * chosen
        a, b = both[..., :width], -both[..., width:] * rate[:, None, None]
        read = (request_inputs(request) != PAD).sum()
        return {"down": LowRank(a.swapaxes(1, 2), b)}, gradient_info(loss[None], request, read)

    def _practice_loss(
        self, model: LanguageModel, state: dict, request: Request, text: jax.Array
    ) -> jax.Array:
        """Loss of the edit on its own request, and how far it moves unrelated text."""
        edited = model.with_delta(self._edit_delta(model, state, request)[0])
        layout = packed_layout(text[None], BOS)
        before, after = (jax.nn.log_softmax(m.logits(text[None], layout)) for m in (model, edited))
        moved = jnp.sum(jnp.exp(before) * (before - after), axis=-1)
        local = jnp.mean(moved, where=text[None] != PAD)
        return request_loss(edited, request) + self.config.locality * local

    def _init_network(self, model: LanguageModel, key: jax.Array) -> dict:
        layers, rank = model.config.layers, self.config.rank
        width = model.config.mlp + model.config.hidden
        return {
            "into": jax.random.normal(key, (layers, width, rank)) * width**-0.5,
            "bias": jnp.zeros((layers, rank)),
            "out": jnp.zeros((layers, rank, width)),
            "rate": jnp.zeros(layers),
        }


def _gradient_factors(model: LanguageModel, request: Request) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Inputs [L, M * T, F] and output gradients [L, M * T, D] of every down-projection; the loss."""
    tokens = request_inputs(request)
    layers, hidden = model.config.layers, model.config.hidden

    def loss_of(shift: jax.Array) -> jax.Array:
        return request_loss(model.with_delta({"shift": shift}), request)

    loss, gradient = jax.value_and_grad(loss_of)(jnp.zeros((layers, *tokens.shape, hidden)))
    keys = as_float32(request_activations(model, request).inner)
    real = (tokens != PAD)[None, ..., None]
    flat = (jnp.where(real, x, 0.0).reshape(layers, -1, x.shape[-1]) for x in (keys, gradient))
    return *flat, loss


def _root_mean_square(values: jax.Array) -> jax.Array:
    """Root mean squares over edits and tokens, [L, 1, 1], padding left out."""
    used = (jnp.abs(values).sum(-1, keepdims=True) > 0).astype(jnp.float32)
    total = jnp.sum(values**2, axis=(0, 2, 3)) / (used.sum(axis=(0, 2, 3)) * values.shape[-1])
    return jnp.sqrt(jnp.maximum(total, 1e-30))[:, None, None]
