"""One optimiser step, and the optimisers it can use."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from corpus.tokenizer import BOS, PAD
from lm.config import ModelConfig, TrainConfig
from lm.model import Array, Params, causal, forward, init


class TrainState(NamedTuple):
    """What a step changes, and what a checkpoint holds: step (int32), parameters, optimiser state."""

    step: jax.Array
    params: Params
    optimizer: optax.OptState


def start(model: ModelConfig, config: TrainConfig, vocabulary: int, seed: int) -> TrainState:
    """The state before the first step; initial weights come from `seed`."""
    params = init(model, vocabulary, seed)
    return TrainState(jnp.int32(0), params, optimizer(config).init(params))


def optimizer(config: TrainConfig) -> optax.GradientTransformation:
    """The recipe's optimiser: clipping, then Muon + Adam or AdamW, under one schedule."""

    def schedule(peak: float) -> optax.Schedule:
        after = config.steps - config.warmup
        fall = (
            optax.cosine_decay_schedule(peak, after, config.final)
            if config.schedule == "cosine"
            else optax.linear_schedule(peak, peak * config.final, after)
        )
        rise = optax.linear_schedule(peak / (config.warmup + 1), peak, config.warmup)
        return optax.join_schedules([rise, fall], [config.warmup]) if config.warmup else fall

    if config.optimizer == "adamw":
        update = optax.adamw(schedule(config.learning_rate), weight_decay=config.weight_decay)
    else:
        update = optax.contrib.muon(
            schedule(config.learning_rate),
            weight_decay=config.weight_decay,
            adam_weight_decay=config.weight_decay,
            adam_learning_rate=schedule(config.adam_learning_rate),
            muon_weight_dimension_numbers=_matrices_in_layers,
        )
    return optax.chain(optax.clip_by_global_norm(config.clip), update)


@partial(jax.jit, static_argnames=("model", "config"), donate_argnames="state")
def train_step(
    model: ModelConfig, config: TrainConfig, state: TrainState, tokens: Array
) -> tuple[TrainState, jax.Array]:
    """One step on rows of packed documents, int32[B, T]; returns the new state and the mean loss in nats."""
    loss, gradient = jax.value_and_grad(next_token_loss, argnums=1)(model, state.params, tokens)
    update, optimizer_state = optimizer(config).update(gradient, state.optimizer, state.params)
    params = optax.apply_updates(state.params, update)
    return TrainState(state.step + 1, params, optimizer_state), loss


def next_token_loss(model: ModelConfig, params: Params, tokens: Array) -> jax.Array:
    """Mean negative log-likelihood in nats of each token given those before it in its document."""
    positions, mask = causal(tokens, BOS)
    logits = forward(model, params, tokens, positions, mask)[:, :-1]
    target = tokens[:, 1:]
    # A document's first token follows nothing, and padding is no text.
    counts = (target != PAD) & (target != BOS)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, target)
    return jnp.sum(losses, where=counts) / jnp.maximum(counts.sum(), 1)


def _matrices_in_layers(params: Params) -> Params:
    """Muon's dimension numbers: stacked matrices [L, in, out] inside layers, Adam (None) elsewhere."""
    matrix = optax.contrib.MuonDimensionNumbers(reduction_axis=1, output_axis=2)

    def which(path: tuple, leaf: jax.Array) -> optax.contrib.MuonDimensionNumbers | None:
        return matrix if path[0].key == "layers" and leaf.ndim == 3 else None

    return jax.tree_util.tree_map_with_path(which, params)
