"""The Mistral-style decoder, and the one way to run it.

Letters of shapes: B batch, T query position, S key position, L layers, D model, N heads, K heads of keys
and values, H head width, F mlp, V vocabulary, R rank. Modules are written in Flax NNX and split once;
everything else sees a `ModelConfig` (static) and `params` (a plain dict of arrays, layers stacked along a
leading axis L).

A *delta* edits the model without touching `params`; see `lm.delta`.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from lm.attention import Array, KeysValues, Layout, Rotation, attend, attend_in_parts, rotary_angles, rotate
from lm.cache import Cache
from lm.config import ModelConfig
from lm.delta import IN_LAYERS, Delta, LowRank, add_changes
from lm.linear import project
from lm.memory import find_slots, names_so_far

INITIAL_SCALE = 0.02

Params = dict


class Activations(NamedTuple):
    """What layers compute on the way, for editors that look inside.

    Attributes:
        inner: [L, B, T, F], what goes into each down-projection.
        states: [L, B, T, D], the residual stream behind each layer.
        mlp_inputs: [L, B, T, D], what each MLP reads: the stream before it, normed.
        mlp_outputs: [L, B, T, D], what each MLP adds to the stream.
    """

    inner: jax.Array
    states: jax.Array
    mlp_inputs: jax.Array
    mlp_outputs: jax.Array


class Linear(nnx.Module):
    """x @ kernel, and a bias where a model has one."""

    def __init__(self, inputs: int, outputs: int, rngs: nnx.Rngs, bias: bool = False) -> None:
        self.kernel = nnx.Param(nnx.initializers.normal(INITIAL_SCALE)(rngs.params(), (inputs, outputs)))
        self.bias = nnx.Param(jnp.zeros(outputs)) if bias else None

    def __call__(self, x: jax.Array, change: LowRank | None = None) -> jax.Array:
        out = project(x, self.kernel[...])
        if self.bias is not None:
            out = out + self.bias[...].astype(out.dtype)
        return out if change is None else out + change.apply(x)


class Norm(nnx.Module):
    """RMSNorm, computed in float32 and returned in the type of its input."""

    def __init__(self, width: int, epsilon: float) -> None:
        self.epsilon = epsilon
        self.scale = nnx.Param(jnp.ones(width))

    def __call__(self, x: jax.Array) -> jax.Array:
        wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
        mean_square = jnp.mean(wide * wide, axis=-1, keepdims=True)
        return (wide * jax.lax.rsqrt(mean_square + self.epsilon) * self.scale[...]).astype(x.dtype)


class Attention(nnx.Module):
    """Grouped-query self-attention with rotary positions."""

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        self.width = config.head_width
        queries, keys = config.heads * self.width, config.kv_heads * self.width
        self.query = Linear(config.hidden, queries, rngs, config.biases)
        self.key = Linear(config.hidden, keys, rngs, config.biases)
        self.value = Linear(config.hidden, keys, rngs, config.biases)
        self.out = Linear(queries, config.hidden, rngs)
        self.query_norm = Norm(self.width, config.norm_epsilon) if config.head_norms else None
        self.key_norm = Norm(self.width, config.norm_epsilon) if config.head_norms else None

    def __call__(
        self, x: jax.Array, rotation: Rotation, mask: jax.Array, past: Sequence[KeysValues], delta: Delta
    ) -> tuple[jax.Array, KeysValues]:
        projections = {"query": self.query, "key": self.key, "value": self.value}
        query, key, value = (
            linear(x, delta.get(name)).reshape(*x.shape[:2], -1, self.width)
            for name, linear in projections.items()
        )
        if self.query_norm is not None and self.key_norm is not None:
            query, key = self.query_norm(query), self.key_norm(key)
        query, now = rotate(query, *rotation), (rotate(key, *rotation).swapaxes(1, 2), value.swapaxes(1, 2))
        seen = *past, now
        # What one token does with keys and values costs no more than a copy of them.
        if x.shape[1] == 1:
            mixed = attend_in_parts(query, seen, mask)
        else:
            key, value = (jnp.concatenate(parts, axis=2) for parts in zip(*seen, strict=True))
            mixed = attend(query, key, value, mask)
        return self.out(mixed.reshape(*x.shape[:2], -1), delta.get("out")), now


class Mlp(nnx.Module):
    """SwiGLU: down(silu(gate x) * up x)."""

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        self.gate = Linear(config.hidden, config.mlp, rngs)
        self.up = Linear(config.hidden, config.mlp, rngs)
        self.down = Linear(config.mlp, config.hidden, rngs)

    def __call__(self, x: jax.Array, delta: Delta) -> tuple[jax.Array, jax.Array]:
        inner = jax.nn.silu(self.gate(x, delta.get("gate"))) * self.up(x, delta.get("up"))
        out = self.down(inner, delta.get("down"))
        if "codebook" in delta:
            out = delta["codebook"].look_up(x, out)
        return out, inner


class Block(nnx.Module):
    """One decoder layer: pre-norm attention and MLP, each added to the residual stream."""

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        self.attention_norm = Norm(config.hidden, config.norm_epsilon)
        self.attention = Attention(config, rngs)
        self.mlp_norm = Norm(config.hidden, config.norm_epsilon)
        self.mlp = Mlp(config, rngs)

    def __call__(
        self, x: jax.Array, rotation: Rotation, mask: jax.Array, past: Sequence[KeysValues], delta: Delta
    ) -> tuple[jax.Array, KeysValues, Activations]:
        mixed, now = self.attention(self.attention_norm(x), rotation, mask, past, delta)
        x = x + mixed
        read = self.mlp_norm(x)
        out, inner = self.mlp(read, delta)
        x = x + out
        if "shift" in delta:
            x = x + delta["shift"].astype(x.dtype)
        return x, now, Activations(inner, x, read, out)


class Decoder(nnx.Module):
    """Embedding, stacked layers, final norm and an untied head."""

    def __init__(self, config: ModelConfig, vocabulary: int, rngs: nnx.Rngs) -> None:
        self.config = config
        initial = nnx.initializers.normal(INITIAL_SCALE)
        self.embedding = nnx.Param(initial(rngs.params(), (vocabulary, config.hidden)))
        stacked = nnx.split_rngs(splits=config.layers)(nnx.vmap(lambda r: Block(config, r)))
        self.layers = stacked(rngs)
        self.norm = Norm(config.hidden, config.norm_epsilon)
        self.head = Linear(config.hidden, vocabulary, rngs)

    def __call__(
        self, tokens: Array, layout: Layout, past: Sequence[Cache], delta: Delta, inside: bool
    ) -> tuple[jax.Array, Cache, Activations | None]:
        config, (positions, mask, real) = self.config, layout
        x = self.embedding[...][tokens]
        if "embedding" in delta:
            ids, values = delta["embedding"]
            x = x + (tokens[..., None] == ids).astype(x.dtype) @ values
        if config.precision == "bfloat16":
            x = x.astype(jnp.bfloat16)
        before = [jnp.broadcast_to(c.real[:, None], (*positions.shape, c.real.shape[1])) for c in past]
        mask = jnp.concatenate([*before, mask], axis=2)
        keys = jnp.concatenate([*(c.positions for c in past), positions], axis=1)
        if "memory" in delta:
            memories = delta["memory"].list_all()
            seen = jnp.concatenate([*(c.tokens for c in past), tokens], axis=1)
            names = [names_so_far(seen, keys, mask, m.before, m.keys.shape[1]) for m in memories]
            places = [find_slots(name, m.keys, m.order) for name, m in zip(names, memories, strict=True)]
        if config.window:
            mask &= positions[:, :, None] - keys[:, None, :] < config.window
        rotation = rotary_angles(config, positions)
        block, stacked = nnx.split(self.layers)

        def layer(x: jax.Array, here: tuple) -> tuple[jax.Array, tuple]:
            state, earlier, change = here
            if "memory" in change:
                for values, (slots, found) in zip(change["memory"], places, strict=True):
                    x = x + jnp.where(found[..., None], values[slots], 0).astype(x.dtype)
            x, now, activations = nnx.merge(block, state)(x, rotation, mask, earlier, change)
            return x, (now, activations if inside else None)

        body = jax.checkpoint(layer) if config.remat else layer
        earlier = [(c.key, c.value) for c in past]
        changes = {name: part for name, part in delta.items() if name in IN_LAYERS}
        if "memory" in changes:
            changes["memory"] = [memory.values for memory in memories]
        x, ((key, value), activations) = jax.lax.scan(
            body, x, (stacked, earlier, changes), unroll=min(config.unroll, config.layers)
        )
        return self.norm(x), Cache(key, value, positions, real, jnp.asarray(tokens, jnp.int32)), activations


def init_params(config: ModelConfig, vocabulary: int, seed: int | jax.Array) -> Params:
    """Fresh parameters in float32: weights normal with standard deviation 0.02, norms 1."""
    model = Decoder(config, vocabulary, nnx.Rngs(jax.random.key(seed)))
    return nnx.to_pure_dict(nnx.split(model)[1])


@lru_cache
def parameter_shapes(config: ModelConfig, vocabulary: int) -> Params:
    """Shapes and types of all parameters; nothing is made."""
    return jax.eval_shape(lambda: init_params(config, vocabulary, 0))


def vocabulary_of(params: Params) -> int:
    """Number of token ids the parameters know."""
    return params["embedding"].shape[0]


def hidden_states(
    config: ModelConfig,
    params: Params,
    delta: Delta | None,
    tokens: Array,
    layout: Layout,
    past: Sequence[Cache] = (),
    inside: bool = False,
) -> tuple[jax.Array, Cache, Activations | None]:
    """What the last layer knows at each position, after the final norm.

    Args:
        config: static under jit.
        delta: see `lm.delta`; None runs the model as it is. A prefix is the caller's to put into `past`.
        tokens: int32[B, T].
        layout: of these tokens among each other.
        past: tokens read before, in parts, all real ones of which are seen.
        inside: whether to return what layers compute on the way.

    Returns:
        [B, T, D] in the model's precision, the cache of these tokens alone, and activations or None.
    """
    delta = delta or {}
    model = nnx.merge(_module_graph(config, vocabulary_of(params)), nnx.State(add_weights(params, delta)))
    return model(jnp.asarray(tokens), layout, past, delta, inside)


def add_weights(params: Params, delta: Delta | None) -> Params:
    """The parameters with the weights that a delta adds."""
    return add_changes(params, delta["weights"]) if delta and "weights" in delta else params


def unembed(params: Params, delta: Delta | None, hidden: jax.Array) -> jax.Array:
    """Next-token logits float32[..., V] of hidden states [..., D]; call it on no more than needed."""
    kernel = add_weights(params, delta)["head"]["kernel"].astype(hidden.dtype)
    wide = jnp.promote_types(hidden.dtype, jnp.float32)
    return jnp.matmul(hidden, kernel, preferred_element_type=wide)


@lru_cache
def _module_graph(config: ModelConfig, vocabulary: int) -> nnx.GraphDef:
    return nnx.split(nnx.eval_shape(lambda: Decoder(config, vocabulary, nnx.Rngs(0))))[0]
