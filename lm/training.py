"""One optimiser step, and the optimisers it can use."""

import math
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from lm.attention import Array
from lm.config import ModelConfig, TrainConfig
from lm.loss import LOSS_PIECE, distance_from_earlier, next_token_loss
from lm.model import Params, init_params

OUTPUTS = ("query", "key", "value", "gate", "up", "head")
"""Modules whose kernel is cut along its outputs; `out` and `down` along their inputs, where those meet."""


class TrainState(NamedTuple):
    """What a step changes, and what a checkpoint holds: step (int32), parameters, optimiser state."""

    step: jax.Array
    params: Params
    optimizer: optax.OptState


class OwnTexts(NamedTuple):
    """Texts that a pretrained model wrote, int32[n, T], and its parameters from before it read."""

    texts: Array
    params: Params

    def batch(self, step: int, count: int) -> "OwnTexts":
        """So many of the texts, in turn."""
        return OwnTexts(
            self.texts[np.arange(step * count, (step + 1) * count) % len(self.texts)], self.params
        )


def _cut_axis(names: list[str]) -> int | None:
    if names[-1:] == ["embedding"]:
        return -2
    module = names[-2] if names[-1:] == ["kernel"] else None
    return -1 if module in OUTPUTS else -2 if module in ("out", "down") else None


def abstract_state(model: ModelConfig, config: TrainConfig, vocabulary: int, mesh: Mesh) -> TrainState:
    """Shapes and shardings of a state, as `jax.ShapeDtypeStruct`s."""
    shapes = jax.eval_shape(partial(_init_state, model, config, vocabulary), 0)

    # Matrices are cut over "model" as in Megatron: first products by outputs, second ones by inputs, the
    # vocabulary by tokens. An axis that the devices do not divide stays whole.
    def leaf_sharding(path: tuple, leaf: Any) -> NamedSharding:
        names = [key.key for key in path if isinstance(key, jax.tree_util.DictKey)]
        axes: list[str | None] = [None] * leaf.ndim
        axis = _cut_axis(names) if leaf.ndim > 1 else None
        if axis is not None and leaf.shape[axis] % mesh.shape["model"] == 0:
            axes[axis] = "model"
        return NamedSharding(mesh, PartitionSpec(*axes))

    return jax.tree.map(
        lambda x, where: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=where),
        shapes,
        jax.tree_util.tree_map_with_path(leaf_sharding, shapes),
    )


def start_training(
    model: ModelConfig, config: TrainConfig, vocabulary: int, seed: int, mesh: Mesh
) -> TrainState:
    """The state before the first step; initial weights come from `seed`, wherever they are."""
    return _beginning_state(model, config, vocabulary, mesh)(seed)


def go_on_training(
    model: ModelConfig, config: TrainConfig, vocabulary: int, params: Params, mesh: Mesh
) -> TrainState:
    """The state before the first step of a model that has read other text before."""
    where = jax.tree.map(lambda x: x.sharding, abstract_state(model, config, vocabulary, mesh))
    params = jax.device_put(params, where.params)
    begin = jax.jit(make_optimizer(config).init, out_shardings=where.optimizer)
    return TrainState(jax.device_put(jnp.int32(0), where.step), params, begin(params))


@cache
def _beginning_state(
    model: ModelConfig, config: TrainConfig, vocabulary: int, mesh: Mesh
) -> jax.stages.Wrapped:
    where = jax.tree.map(lambda x: x.sharding, abstract_state(model, config, vocabulary, mesh))
    return jax.jit(partial(_init_state, model, config, vocabulary), out_shardings=where)


def make_optimizer(config: TrainConfig) -> optax.GradientTransformation:
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
            ns_steps=config.muon_iterations,
            weight_decay=config.weight_decay,
            adam_weight_decay=config.weight_decay,
            adam_learning_rate=schedule(config.adam_learning_rate),
            muon_weight_dimension_numbers=_matrices_in_layers,
        )
    if config.learns == "layers":
        update = optax.masked(update, lambda params: {name: name == "layers" for name in params})
    return optax.chain(optax.clip_by_global_norm(config.clip), update)


@cache
def train_step(
    model: ModelConfig, config: TrainConfig, vocabulary: int, mesh: Mesh, labels: tuple[int, ...] = ()
) -> jax.stages.Wrapped:
    """The compiled step: (state, rows, own texts) -> (state, loss); one program for all that train alike.

    It consumes the state, and returns the new one, laid out like it, and the mean loss in nats of rows
    int32[B, T] of packed documents, to which the distance in `own` texts is added, if there are any. `labels`
    are the tokens that weigh `config.label_weight`.
    """
    weights = dict.fromkeys(labels, config.label_weight) if config.label_weight != 1 else None

    def step(state: TrainState, tokens: Array, own: OwnTexts | None = None) -> tuple[TrainState, jax.Array]:
        def loss_of(params: Params) -> jax.Array:
            if config.learns == "layers":
                params = jax.lax.stop_gradient(params) | {"layers": params["layers"]}
            loss = next_token_loss(
                model, params, tokens, LOSS_PIECE, config.softmax_entries, state.step, weights
            )
            return loss + distance_from_earlier(model, params, own.params, own.texts) if own else loss

        loss, gradient = jax.value_and_grad(loss_of)(state.params)
        with jax.named_scope("optimizer"):
            update, optimizer_state = make_optimizer(config).update(gradient, state.optimizer, state.params)
            params = optax.apply_updates(state.params, update)
        return TrainState(state.step + 1, params, optimizer_state), loss

    where = jax.tree.map(lambda x: x.sharding, abstract_state(model, config, vocabulary, mesh))
    everywhere = NamedSharding(mesh, PartitionSpec())
    return jax.jit(step, donate_argnums=0, out_shardings=(where, everywhere))


def _init_state(model: ModelConfig, config: TrainConfig, vocabulary: int, seed: int) -> TrainState:
    params = init_params(model, vocabulary, seed)
    if config.scale_by_depth:
        adds = (["attention", "out"], ["mlp", "down"])

        def scale(path: tuple, leaf: jax.Array) -> jax.Array:
            return leaf / math.sqrt(2 * model.layers) if [key.key for key in path[1:3]] in adds else leaf

        params = jax.tree_util.tree_map_with_path(scale, params)
    return TrainState(jnp.int32(0), params, make_optimizer(config).init(params))


def _matrices_in_layers(params: Params) -> Params:
    """Muon's dimension numbers: stacked matrices [L, in, out] inside layers, Adam (None) elsewhere."""
    matrix = optax.contrib.MuonDimensionNumbers(reduction_axis=1, output_axis=2)

    def which(path: tuple, leaf: jax.Array) -> optax.contrib.MuonDimensionNumbers | None:
        return matrix if path[0].key == "layers" and leaf.ndim == 3 else None

    return jax.tree_util.tree_map_with_path(which, params)
