"""The Mistral-style decoder, and the one way to run it.

Letters of shapes: B batch, T query position, S key position, L layers, D model, N heads, K heads of keys
and values, H head width, F mlp, V vocabulary, R rank. Modules are written in Flax NNX and split once;
everything else sees a `ModelConfig` (static) and `params` (a plain dict of arrays, layers stacked along a
leading axis L).

A *delta* edits the model without touching `params`: {module name: LowRank}, stacked over layers like
the parameters. The layer adds it unmerged, x @ W + (x @ a) @ b, so that many edits share one W.
"""

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from lm.attention import Array, Layout, Rotation, attend, rotary, rotate
from lm.config import ModelConfig
from lm.linear import project

INITIAL_SCALE = 0.02

Params = dict


class LowRank(NamedTuple):
    """A low-rank addition to one weight in every layer: a is [L, in, R], b is [L, R, out]."""

    a: jax.Array
    b: jax.Array


Delta = dict[str, LowRank]


SLOTS = (2, 2, 1, 1)
"""The axes of a cache's arrays along which tokens stand."""


class Cache(NamedTuple):
    """What later tokens need of tokens that were read.

    Attributes:
        key, value: [L, B, S, K, H], keys already rotated.
        positions: int32[B, S].
        real: bool[B, S], whether there is a token at all.
    """

    key: jax.Array
    value: jax.Array
    positions: jax.Array
    real: jax.Array

    def joined(self, other: "Cache") -> "Cache":
        """The tokens of both, those of `other` behind."""
        pairs = zip(self, other, SLOTS, strict=True)
        return Cache(*(jnp.concatenate([mine, behind], axis) for mine, behind, axis in pairs))

    def blank(self, slots: int) -> "Cache":
        """A cache like this one with `slots` places that hold no token."""
        shapes = [(*x.shape[:axis], slots, *x.shape[axis + 1 :]) for x, axis in zip(self, SLOTS, strict=True)]
        return Cache(*(jnp.zeros(shape, x.dtype) for shape, x in zip(shapes, self, strict=True)))

    def put(self, slot: jax.Array, one: "Cache") -> "Cache":
        """This cache with the tokens of `one` from `slot` on."""
        update = jax.lax.dynamic_update_slice_in_dim
        return Cache(*(update(x, y, slot, axis) for x, y, axis in zip(self, one, SLOTS, strict=True)))


class Linear(nnx.Module):
    """x @ kernel, no bias."""

    def __init__(self, inputs: int, outputs: int, rngs: nnx.Rngs) -> None:
        self.kernel = nnx.Param(nnx.initializers.normal(INITIAL_SCALE)(rngs.params(), (inputs, outputs)))

    def __call__(self, x: jax.Array) -> jax.Array:
        return project(x, self.kernel[...])


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
        self.query = Linear(config.hidden, queries, rngs)
        self.key = Linear(config.hidden, keys, rngs)
        self.value = Linear(config.hidden, keys, rngs)
        self.out = Linear(queries, config.hidden, rngs)

    def __call__(
        self, x: jax.Array, rotation: Rotation, mask: jax.Array, past: tuple[jax.Array, jax.Array] | None
    ) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        query, key, value = (
            f(x).reshape(*x.shape[:2], -1, self.width) for f in (self.query, self.key, self.value)
        )
        query, own = rotate(query, *rotation), (rotate(key, *rotation), value)
        seen = (
            own
            if past is None
            else tuple(jnp.concatenate(two, axis=1) for two in zip(past, own, strict=True))
        )
        mixed = attend(query, seen[0], seen[1], mask)
        return self.out(mixed.reshape(*x.shape[:2], -1)), own


class Mlp(nnx.Module):
    """SwiGLU: down(silu(gate x) * up x)."""

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        self.gate = Linear(config.hidden, config.mlp, rngs)
        self.up = Linear(config.hidden, config.mlp, rngs)
        self.down = Linear(config.mlp, config.hidden, rngs)

    def __call__(self, x: jax.Array, delta: Delta) -> jax.Array:
        inner = jax.nn.silu(self.gate(x)) * self.up(x)
        out = self.down(inner)
        if "down" in delta:
            a, b = (factor.astype(x.dtype) for factor in delta["down"])
            out = out + (inner @ a) @ b
        return out


class Block(nnx.Module):
    """One decoder layer: pre-norm attention and MLP, each added to the residual stream."""

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        self.attention_norm = Norm(config.hidden, config.norm_epsilon)
        self.attention = Attention(config, rngs)
        self.mlp_norm = Norm(config.hidden, config.norm_epsilon)
        self.mlp = Mlp(config, rngs)

    def __call__(
        self,
        x: jax.Array,
        rotation: Rotation,
        mask: jax.Array,
        past: tuple[jax.Array, jax.Array] | None,
        delta: Delta,
    ) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        mixed, own = self.attention(self.attention_norm(x), rotation, mask, past)
        x = x + mixed
        return x + self.mlp(self.mlp_norm(x), delta), own


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
        self, tokens: Array, layout: Layout, past: Cache | None, delta: Delta
    ) -> tuple[jax.Array, Cache]:
        config, (positions, mask, real) = self.config, layout
        x = self.embedding[...][tokens]
        if config.precision == "bfloat16":
            x = x.astype(jnp.bfloat16)
        keys = positions
        if past is not None:
            before = jnp.broadcast_to(past.real[:, None], (*positions.shape, past.real.shape[1]))
            mask = jnp.concatenate([before, mask], axis=2)
            keys = jnp.concatenate([past.positions, positions], axis=1)
        if config.window:
            mask &= positions[:, :, None] - keys[:, None, :] < config.window
        rotation = rotary(config, positions)
        block, stacked = nnx.split(self.layers)

        def layer(x: jax.Array, here: tuple) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            state, earlier, delta = here
            return nnx.merge(block, state)(x, rotation, mask, earlier, delta)

        body = jax.checkpoint(layer) if config.remat else layer
        earlier = None if past is None else (past.key, past.value)
        x, (key, value) = jax.lax.scan(
            body, x, (stacked, earlier, delta), unroll=min(config.unroll, config.layers)
        )
        return self.norm(x), Cache(key, value, positions, real)


def init(config: ModelConfig, vocabulary: int, seed: int | jax.Array) -> Params:
    """Fresh parameters in float32: weights normal with standard deviation 0.02, norms 1."""
    model = Decoder(config, vocabulary, nnx.Rngs(jax.random.key(seed)))
    return nnx.to_pure_dict(nnx.split(model)[1])


def vocabulary_of(params: Params) -> int:
    """Number of token ids the parameters know."""
    return params["embedding"].shape[0]


def hidden_states(
    config: ModelConfig,
    params: Params,
    delta: Delta | None,
    tokens: Array,
    layout: Layout,
    past: Cache | None = None,
) -> tuple[jax.Array, Cache]:
    """What the last layer knows at each position, after the final norm.

    Args:
        config: static under jit.
        delta: see the module; None runs the model as it is.
        tokens: int32[B, T].
        layout: of these tokens among each other.
        past: tokens read before, all real ones of which are seen.

    Returns:
        [B, T, D] in the model's precision, and the cache of these tokens alone.
    """
    model = nnx.merge(_graph(config, vocabulary_of(params)), nnx.State(params))
    return model(jnp.asarray(tokens), layout, past, delta or {})


def unembed(params: Params, hidden: jax.Array) -> jax.Array:
    """Next-token logits float32[..., V] of hidden states [..., D]; call it on no more than needed."""
    kernel = params["head"]["kernel"].astype(hidden.dtype)
    wide = jnp.promote_types(hidden.dtype, jnp.float32)
    return jnp.matmul(hidden, kernel, preferred_element_type=wide)


@lru_cache
def _graph(config: ModelConfig, vocabulary: int) -> nnx.GraphDef:
    return nnx.split(nnx.eval_shape(lambda: Decoder(config, vocabulary, nnx.Rngs(0))))[0]
