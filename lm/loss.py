"""Next-token cross-entropy from hidden states, a piece of the logits at a time.

The gradient is taken in the forward pass: a piece of logits becomes loss, gradient of the hidden states
and gradient of the head, and is gone before the next one. Whole logits never exist.
"""

from functools import partial

import jax
import jax.numpy as jnp

from corpus.tokenizer import BOS, PAD
from lm.attention import Array, packed
from lm.config import ModelConfig
from lm.linear import dot, rows
from lm.model import Params, hidden_states


def next_token_loss(model: ModelConfig, params: Params, tokens: Array, piece: int) -> jax.Array:
    """Mean negative log-likelihood in nats of each token given those before it in its document.

    Args:
        tokens: int32[B, T], packed documents.
        piece: how many tokens' logits exist at once; at least one of each row does.
    """
    tokens = jnp.asarray(tokens)
    hidden, _, _ = hidden_states(model, params, None, tokens, packed(tokens, BOS))
    target = jnp.pad(tokens[:, 1:], ((0, 0), (0, 1)), constant_values=PAD)
    # A document's first token follows nothing, and padding is not text.
    counted = ((target != PAD) & (target != BOS)).astype(jnp.float32)
    weight = counted / jnp.maximum(counted.sum(), 1)
    pieces = min(-(-tokens.size // piece), tokens.shape[1])
    return cross_entropy(pieces, hidden, params["head"]["kernel"], target, weight)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def cross_entropy(
    pieces: int, hidden: jax.Array, head: jax.Array, target: jax.Array, weight: jax.Array
) -> jax.Array:
    """The weighted sum over tokens of -log p(target), float32.

    Args:
        pieces: into how many the positions of a row are cut; the logits of one piece exist at once.
        hidden: [B, T, D].
        head: [D, V].
        target: int32[B, T].
        weight: float32[B, T].
    """
    return _forward(pieces, hidden, head, target, weight)[0]


@jax.named_scope("cross_entropy")
def _forward(
    pieces: int, hidden: jax.Array, head: jax.Array, target: jax.Array, weight: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    length = hidden.shape[1]
    positions = -(-length // pieces)
    narrow = head.astype(hidden.dtype)

    def split(x: jax.Array) -> jax.Array:
        filled = jnp.pad(x, ((0, 0), (0, pieces * positions - length)) + ((0, 0),) * (x.ndim - 2))
        return filled.reshape(x.shape[0], pieces, positions, *x.shape[2:]).swapaxes(0, 1)

    def one(carry: tuple[jax.Array, jax.Array], here: tuple) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        total, d_head = carry
        hidden, target, weight = here
        logits = dot(rows(hidden), narrow, ((1,), (0,)))
        top = logits.max(axis=1, keepdims=True)
        odds = jnp.exp(logits - top)
        mass = odds.sum(axis=1, keepdims=True)
        wanted, weight = target.reshape(-1, 1), weight.reshape(-1, 1)
        nats = top + jnp.log(mass) - jnp.take_along_axis(logits, wanted, axis=1)
        is_wanted = jnp.arange(logits.shape[1]) == wanted
        d_logits = ((odds / mass - is_wanted) * weight).astype(hidden.dtype)
        d_hidden = dot(d_logits, narrow, ((1,), (1,))).astype(hidden.dtype).reshape(hidden.shape)
        d_logits = d_logits.reshape(*hidden.shape[:2], -1)
        d_head = d_head + dot(hidden, d_logits, ((0, 1), (0, 1)))
        return (total + jnp.sum(weight * nats), d_head), d_hidden

    wide = jnp.promote_types(hidden.dtype, jnp.float32)
    start = (jnp.zeros((), wide), jnp.zeros(head.shape, wide))
    (total, d_head), d_hidden = jax.lax.scan(one, start, tuple(map(split, (hidden, target, weight))))
    d_hidden = d_hidden.swapaxes(0, 1).reshape(hidden.shape[0], -1, hidden.shape[2])[:, :length]
    return total, (d_hidden, d_head.astype(head.dtype))


def _backward(
    _: int, kept: tuple[jax.Array, jax.Array], d_total: jax.Array
) -> tuple[jax.Array, jax.Array, None, None]:
    d_hidden, d_head = kept
    return d_hidden * d_total.astype(d_hidden.dtype), d_head * d_total, None, None


cross_entropy.defvjp(_forward, _backward)
