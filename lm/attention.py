"""Attention: who sees whom, rotary positions, and the weighted mean itself."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from corpus.text.tokenizer import PAD
from lm.config import ModelConfig

Array = jax.Array | np.ndarray
Rotation = tuple[jax.Array, jax.Array]
KeysValues = tuple[jax.Array, jax.Array]
HIDDEN_SCORE = -1e30
LONG = 256
"""Tokens from which on cuDNN attends on a GPU: rows of a training. It fails for edits side by side."""


class Layout(NamedTuple):
    """Where tokens stand and what they see.

    Attributes:
        positions: int32[B, T], position of each token in its own document.
        mask: bool[B, T, T], whether a query (second axis) sees a key (third axis).
        real: bool[B, T], whether there is a token, and not padding.
    """

    positions: jax.Array
    mask: jax.Array
    real: jax.Array


def packed_layout(tokens: Array, start: int) -> Layout:
    """Rows of whole documents, int32[B, T], each beginning with the token `start`.

    A token sees itself and the tokens before it in its own document, and positions restart with each.
    """
    tokens = jnp.asarray(tokens)
    index = jnp.broadcast_to(jnp.arange(tokens.shape[1], dtype=jnp.int32), tokens.shape)
    begins = jax.lax.cummax(jnp.where(tokens == start, index, 0), axis=1)
    same = begins[:, :, None] == begins[:, None, :]
    return Layout(index - begins, same & (index[:, :, None] >= index[:, None, :]), tokens != PAD)


def left_padded_layout(prompts: Array) -> Layout:
    """Prompts int32[B, T] with PAD before them; padding sees itself, so that no query is without a key."""
    real = jnp.asarray(prompts) != PAD
    positions = jnp.maximum(jnp.cumsum(real, axis=1) - 1, 0).astype(jnp.int32)
    lower = jnp.tril(jnp.ones((real.shape[1],) * 2, bool))
    return Layout(positions, (lower & real[:, None, :]) | jnp.eye(real.shape[1], dtype=bool), real)


def rotary_angles(config: ModelConfig, positions: jax.Array) -> Rotation:
    """Cosines and sines of the rotation angles of int32[B, T] positions, each [B, T, 1, H/2]."""
    frequency = config.rope_theta ** (
        -jnp.arange(0, config.head_width, 2, dtype=jnp.float32) / config.head_width
    )
    if config.rope_scaling is not None:
        frequency = _stretch_frequencies(frequency, *config.rope_scaling)
    angle = positions[..., None, None].astype(jnp.float32) * frequency
    # Computed once, and not again inside every product that is rotated.
    return jax.lax.optimization_barrier((jnp.cos(angle), jnp.sin(angle)))


def rotate(x: jax.Array, cos: jax.Array, sin: jax.Array) -> jax.Array:
    """Rotate the two halves of each head, x [B, T, N, H], as Hugging Face's Mistral does."""
    first, second = jnp.split(x, 2, axis=-1)
    cos, sin = cos.astype(x.dtype), sin.astype(x.dtype)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def attend(query: jax.Array, key: jax.Array, value: jax.Array, mask: jax.Array) -> jax.Array:
    """Mean of values, weighted by the softmax of query times key / sqrt(H).

    Args:
        query: [B, T, N, H].
        key, value: [B, K, S, H]; each of their heads serves N / K neighbouring heads of queries.
        mask: bool[B, T, S].

    Returns:
        [B, T, N, H] in the type of query; the softmax is taken in float32.
    """
    whole = query.shape[1] == key.shape[2] >= LONG and query.shape[1] % 2 == 0
    if jax.default_backend() == "gpu" and query.dtype == jnp.bfloat16 and whole:
        key, value = (x.swapaxes(1, 2) for x in (key, value))
        return jax.nn.dot_product_attention(query, key, value, mask=mask[:, None], implementation="cudnn")
    grouped = query.reshape(*query.shape[:2], key.shape[1], -1, query.shape[3])
    return _attend(grouped, key, value, mask).reshape(query.shape)


def attend_in_parts(query: jax.Array, keys_values: Sequence[KeysValues], mask: jax.Array) -> jax.Array:
    """As `attend`, for one token: of keys and values that stand in several parts no copy is made.

    Args:
        query: [B, 1, N, H].
        keys_values: keys and values, each [B, K, S', H], of S tokens in all.
        mask: bool[B, 1, S].
    """
    wide = jnp.promote_types(query.dtype, jnp.float32)
    first, _ = keys_values[0]
    grouped = query.reshape(query.shape[0], first.shape[1], -1, query.shape[3])
    products = [
        jnp.einsum("bkgh,bksh->bkgs", grouped, k, preferred_element_type=wide) for k, _ in keys_values
    ]
    score = jnp.concatenate(products, axis=-1) * query.shape[-1] ** -0.5
    score = jnp.where(mask[:, :, None], score, HIDDEN_SCORE)
    weight = jax.nn.softmax(score, axis=-1).astype(query.dtype)
    ends = np.cumsum([key.shape[2] for key, _ in keys_values])[:-1].tolist()
    parts = zip(jnp.split(weight, ends, axis=-1), keys_values, strict=True)
    mixed = [jnp.einsum("bkgs,bksh->bkgh", w, v, preferred_element_type=wide) for w, (_, v) in parts]
    return sum(mixed[1:], mixed[0]).astype(query.dtype).reshape(query.shape)


@jax.custom_vjp
def _attend(query: jax.Array, key: jax.Array, value: jax.Array, mask: jax.Array) -> jax.Array:
    """As `attend`, with queries [B, T, K, G, H]; the backward pass keeps the weights and nothing twice."""
    return _attend_forward(query, key, value, mask)[0]


@jax.named_scope("attend")
def _attend_forward(
    query: jax.Array, key: jax.Array, value: jax.Array, mask: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, ...]]:
    wide = jnp.promote_types(query.dtype, jnp.float32)
    # Heads before positions, so that every product is a batch of plain matrices.
    query = query.transpose(0, 2, 3, 1, 4)
    score = jnp.einsum("bkgth,bksh->bkgts", query, key, preferred_element_type=wide)
    score = jnp.where(mask[:, None, None], score * query.shape[-1] ** -0.5, HIDDEN_SCORE)
    weight = jax.nn.softmax(score, axis=-1).astype(query.dtype)
    mixed = jnp.einsum("bkgts,bksh->bkgth", weight, value, preferred_element_type=wide).astype(query.dtype)
    return mixed.transpose(0, 3, 1, 2, 4), (query, key, value, weight, mixed)


@jax.named_scope("attend")
def _attend_backward(
    residuals: tuple[jax.Array, ...], d_out: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array, None]:
    query, key, value, weight, mixed = residuals
    wide = jnp.promote_types(query.dtype, jnp.float32)
    d_mixed = d_out.transpose(0, 2, 3, 1, 4)
    d_value = jnp.einsum("bkgts,bkgth->bksh", weight, d_mixed, preferred_element_type=wide)
    d_weight = jnp.einsum("bkgth,bksh->bkgts", d_mixed, value, preferred_element_type=wide)
    # What the softmax takes off every weight's gradient: its mean under the weights, sum(mixed * d_mixed).
    mean = jnp.sum(mixed.astype(wide) * d_mixed.astype(wide), axis=-1, keepdims=True)
    d_score = (weight * (d_weight - mean) * query.shape[-1] ** -0.5).astype(query.dtype)
    d_query = jnp.einsum("bkgts,bksh->bkgth", d_score, key, preferred_element_type=wide)
    d_key = jnp.einsum("bkgts,bkgth->bksh", d_score, query, preferred_element_type=wide)
    return (
        d_query.astype(query.dtype).transpose(0, 3, 1, 2, 4),
        d_key.astype(key.dtype),
        d_value.astype(value.dtype),
        None,
    )


_attend.defvjp(_attend_forward, _attend_backward)


def _stretch_frequencies(
    frequency: jax.Array, factor: float, low: float, high: float, original: float
) -> jax.Array:
    """Llama 3's frequencies: waves longer than original / low are slowed by factor, a ramp between."""
    turns = original * frequency / (2 * jnp.pi)
    share = jnp.clip((turns - low) / (high - low), 0, 1)
    return frequency * (share + (1 - share) / factor)
