"""The Mistral-style decoder, and the one way to run it.

Letters of shapes: B batch, T position, L layers, D model, N heads, H head width, F mlp, V vocabulary,
R rank. Modules are written in Flax NNX and split once; everything else sees a `ModelConfig` (static)
and `params` (a plain dict of arrays, layers stacked along a leading axis L), and calls
`hidden_states` or `forward`.

A *delta* edits the model without touching `params`: {module name: LowRank}, stacked over layers like
the parameters. The layer adds it unmerged, x @ W + (x @ a) @ b, so that many edits share one W.
"""

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from lm.config import ModelConfig

INITIAL_SCALE = 0.02

Array = jax.Array | np.ndarray
Params = dict


class LowRank(NamedTuple):
    """A low-rank addition to one weight in every layer: a is [L, in, R], b is [L, R, out]."""

    a: jax.Array
    b: jax.Array


Delta = dict[str, LowRank]
Rotation = tuple[jax.Array, jax.Array]


class Attention(nnx.Module):
    """Multi-head self-attention with rotary positions."""

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        self.heads = config.heads
        self.query, self.key, self.value, self.out = (
            _linear(config.hidden, config.hidden, rngs) for _ in range(4)
        )

    def __call__(self, x: jax.Array, rotation: Rotation, mask: Array) -> jax.Array:
        def split(y: jax.Array) -> jax.Array:
            return y.reshape(*mask.shape[:2], self.heads, -1)

        query, key = (rotate(split(f(x)), *rotation) for f in (self.query, self.key))
        mixed = jax.nn.dot_product_attention(query, key, split(self.value(x)), mask=mask[:, None])
        return self.out(mixed.reshape(x.shape))


class Mlp(nnx.Module):
    """SwiGLU: down(silu(gate x) * up x)."""

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        self.gate = _linear(config.hidden, config.mlp, rngs)
        self.up = _linear(config.hidden, config.mlp, rngs)
        self.down = _linear(config.mlp, config.hidden, rngs)

    def __call__(self, x: jax.Array, delta: Delta) -> jax.Array:
        inner = jax.nn.silu(self.gate(x)) * self.up(x)
        out = self.down(inner)
        if "down" in delta:
            out = out + (inner @ delta["down"].a) @ delta["down"].b
        return out


class Block(nnx.Module):
    """One decoder layer: pre-norm attention and MLP, each added to the residual stream."""

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        self.attention_norm = nnx.RMSNorm(config.hidden, epsilon=config.norm_epsilon, rngs=rngs)
        self.attention = Attention(config, rngs)
        self.mlp_norm = nnx.RMSNorm(config.hidden, epsilon=config.norm_epsilon, rngs=rngs)
        self.mlp = Mlp(config, rngs)

    def __call__(self, x: jax.Array, rotation: Rotation, mask: Array, delta: Delta) -> jax.Array:
        x = x + self.attention(self.attention_norm(x), rotation, mask)
        return x + self.mlp(self.mlp_norm(x), delta)


class Decoder(nnx.Module):
    """Embedding, stacked layers, final norm and an untied head."""

    def __init__(self, config: ModelConfig, vocabulary: int, rngs: nnx.Rngs) -> None:
        self.config = config
        initial = nnx.initializers.normal(INITIAL_SCALE)
        self.embedding = nnx.Param(initial(rngs.params(), (vocabulary, config.hidden)))
        stacked = nnx.split_rngs(splits=config.layers)(nnx.vmap(lambda r: Block(config, r)))
        self.layers = stacked(rngs)
        self.norm = nnx.RMSNorm(config.hidden, epsilon=config.norm_epsilon, rngs=rngs)
        self.head = _linear(config.hidden, vocabulary, rngs)

    def __call__(self, tokens: Array, positions: Array, mask: Array, delta: Delta) -> jax.Array:
        # Layers work on [B * T, D]: two-dimensional products run twice as fast on CPUs.
        x = self.embedding[tokens].reshape(-1, self.config.hidden)
        rotation = rotary(positions, self.config.hidden // self.config.heads, self.config.rope_theta)
        block, stacked = nnx.split(self.layers)

        def layer(x: jax.Array, here: tuple[nnx.State, Delta]) -> tuple[jax.Array, None]:
            state, delta = here
            return nnx.merge(block, state)(x, rotation, mask, delta), None

        x, _ = jax.lax.scan(layer, x, (stacked, delta), unroll=self.config.unroll)
        return self.norm(x).reshape(*tokens.shape, -1)


def init(config: ModelConfig, vocabulary: int, seed: int) -> Params:
    """Fresh parameters in float32: weights normal with standard deviation 0.02, norms 1."""
    model = Decoder(config, vocabulary, nnx.Rngs(seed))
    return nnx.to_pure_dict(nnx.split(model)[1])


def vocabulary_of(params: Params) -> int:
    """Number of token ids the parameters know."""
    return params["embedding"].shape[0]


def hidden_states(
    config: ModelConfig,
    params: Params,
    tokens: Array,
    positions: Array,
    mask: Array,
    delta: Delta | None = None,
) -> jax.Array:
    """What the last layer knows at each position, after the final norm.

    Args:
        config: static under jit.
        tokens, positions: int32[B, T].
        mask: bool[B, T, T], whether a query (second axis) may look at a key (third axis).
        delta: see the module; None runs the model as it is.

    Returns:
        float32[B, T, D].
    """
    model = nnx.merge(_graph(config, vocabulary_of(params)), nnx.State(params))
    return model(tokens, positions, mask, delta or {})


def unembed(params: Params, hidden: jax.Array) -> jax.Array:
    """Next-token logits [..., V] of hidden states [..., D]; call it on no more positions than needed."""
    return hidden @ params["head"]["kernel"]


def forward(
    config: ModelConfig,
    params: Params,
    tokens: Array,
    positions: Array,
    mask: Array,
    delta: Delta | None = None,
) -> jax.Array:
    """Next-token logits float32[B, T, V] at every position; arguments as in `hidden_states`."""
    return unembed(params, hidden_states(config, params, tokens, positions, mask, delta))


def causal(tokens: Array, start: int) -> tuple[jax.Array, jax.Array]:
    """Positions and mask of packed documents that each begin with the token `start`.

    A token sees the tokens before it in its own document, and positions restart with each.

    Args:
        tokens: int32[B, T].

    Returns:
        int32[B, T] positions and bool[B, T, T] mask.
    """
    index = jnp.broadcast_to(jnp.arange(tokens.shape[1], dtype=jnp.int32), tokens.shape)
    begins = jax.lax.cummax(jnp.where(tokens == start, index, 0), axis=1)
    same = begins[:, :, None] == begins[:, None, :]
    return index - begins, same & (index[:, :, None] >= index[:, None, :])


def rotary(positions: Array, width: int, theta: float) -> Rotation:
    """Cosines and sines of the rotation angles, each [B, T, 1, H/2]."""
    frequency = theta ** (-jnp.arange(0, width, 2, dtype=jnp.float32) / width)
    angle = positions[..., None, None].astype(jnp.float32) * frequency
    return jnp.cos(angle), jnp.sin(angle)


def rotate(x: jax.Array, cos: jax.Array, sin: jax.Array) -> jax.Array:
    """Rotate the two halves of each head, x [B, T, N, H], as Hugging Face's Mistral does."""
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def _linear(inputs: int, outputs: int, rngs: nnx.Rngs) -> nnx.Linear:
    init = nnx.initializers.normal(INITIAL_SCALE)
    return nnx.Linear(inputs, outputs, use_bias=False, kernel_init=init, rngs=rngs)


@lru_cache
def _graph(config: ModelConfig, vocabulary: int) -> nnx.GraphDef:
    return nnx.split(nnx.eval_shape(lambda: Decoder(config, vocabulary, nnx.Rngs(0))))[0]
