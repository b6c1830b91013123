"""Next-token cross-entropy from hidden states, a piece of the logits at a time.

The gradient is taken in the forward pass: a piece of logits becomes loss, gradient of the hidden states
and gradient of the head, and is gone before the next one. Whole logits never exist.
"""

from functools import partial

import jax
import jax.numpy as jnp

from corpus.text.tokenizer import BOS, PAD
from lm.attention import Array, packed_layout
from lm.config import ModelConfig
from lm.linear import contract_axes, flatten_rows
from lm.model import Params, hidden_states, unembed

LOSS_PIECE = 4096
"""Tokens whose logits exist at once in training; fewer need less memory."""


def next_token_loss(
    model: ModelConfig,
    params: Params,
    tokens: Array,
    piece: int,
    entries: int = 0,
    draw: int | jax.Array = 0,
    weights: dict[int, float] | None = None,
) -> jax.Array:
    """Mean negative log-likelihood in nats of each token given those before it in its document.

    Args:
        tokens: int32[B, T], packed documents.
        piece: how many tokens' logits exist at once; at least one of each row does.
        entries: of the vocabulary that the softmax is over; see `sample_entries`. 0 takes all.
        draw: which of the others are drawn.
        weights: of tokens that count more or less than once in the mean, by id.
    """
    tokens = jnp.asarray(tokens)
    hidden, _, _ = hidden_states(model, params, None, tokens, packed_layout(tokens, BOS))
    target = jnp.pad(tokens[:, 1:], ((0, 0), (0, 1)), constant_values=PAD)
    # A document's first token follows nothing, and padding is not text.
    is_counted = ((target != PAD) & (target != BOS)).astype(jnp.float32)
    for token, times in (weights or {}).items():
        is_counted = jnp.where(target == token, times * is_counted, is_counted)
    weight = is_counted / jnp.maximum(is_counted.sum(), 1)
    pieces = min(-(-tokens.size // piece), tokens.shape[1])
    head = params["head"]["kernel"]
    vocabulary = head.shape[1]

    def full_loss() -> jax.Array:
        return cross_entropy(pieces, hidden, head, jnp.zeros(vocabulary), target, weight)

    if not 0 < entries < vocabulary:
        return full_loss()
    own = entries // 2

    def sampled_loss() -> jax.Array:
        ids, log_weight = sample_entries(target, own, entries - own, vocabulary, draw)
        place = jnp.searchsorted(ids[:own], target)
        return cross_entropy(pieces, hidden, head[:, ids], log_weight, place, weight)

    return jax.lax.cond(_count_distinct(target) > own, full_loss, sampled_loss)


def distance_from_earlier(model: ModelConfig, params: Params, earlier: Params, texts: Array) -> jax.Array:
    """Kullback-Leibler divergence from what the earlier parameters say next, mean over tokens, in nats.

    Args:
        texts: int32[B, T], one document a row; all logits of it exist at once.
    """
    layout = packed_layout(texts, BOS)
    before, now = (
        jax.nn.log_softmax(unembed(p, None, hidden_states(model, p, None, texts, layout)[0]))
        for p in (earlier, params)
    )
    return jnp.mean(jnp.sum(jnp.exp(before) * (before - now), axis=-1), where=jnp.asarray(texts) != PAD)


def sample_entries(
    target: jax.Array, own: int, drawn: int, vocabulary: int, draw: int | jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Entries of the vocabulary that stand for all in the softmax of a batch.

    Those that the batch has as targets weigh one. Others are drawn at random, and weigh so much that the sum
    of weight * exp(logit) is on average, over draws, the sum of exp(logit) over the whole vocabulary.

    Args:
        target: int32[B, T], of at most `own` distinct ids.
        own: places for these.
        drawn: how many are drawn, with replacement.
        draw: seeds the draw.

    Returns:
        int32[own + drawn], first the batch's own in order; and float32[own + drawn], logarithms of weights,
        -inf for places that are left over and for what was drawn though it is the batch's own.
    """
    mine = jnp.unique(target, size=own, fill_value=vocabulary)
    others = jax.random.randint(jax.random.key(draw), (drawn,), 0, vocabulary, mine.dtype)
    known = mine[jnp.minimum(jnp.searchsorted(mine, others), own - 1)] == others
    log_weight = (
        jnp.where(mine < vocabulary, 0.0, -jnp.inf),
        jnp.where(known, -jnp.inf, jnp.log(vocabulary / drawn)),
    )
    return jnp.concatenate([jnp.minimum(mine, vocabulary - 1), others]), jnp.concatenate(log_weight)


def _count_distinct(ids: jax.Array) -> jax.Array:
    """How many different ones there are."""
    ordered = jnp.sort(ids.reshape(-1))
    return 1 + jnp.sum(ordered[1:] != ordered[:-1])


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def cross_entropy(
    pieces: int, hidden: jax.Array, head: jax.Array, bias: jax.Array, target: jax.Array, weight: jax.Array
) -> jax.Array:
    """The weighted sum over tokens of -log p(target), float32.

    Args:
        pieces: into how many the positions of a row are cut; the logits of one piece exist at once.
        hidden: [B, T, D].
        head: [D, V].
        bias: float32[V], added to the logits; no gradient of it is taken.
        target: int32[B, T].
        weight: float32[B, T].
    """
    return _forward(pieces, hidden, head, bias, target, weight)[0]


@jax.named_scope("cross_entropy")
def _forward(
    pieces: int, hidden: jax.Array, head: jax.Array, bias: jax.Array, target: jax.Array, weight: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    length = hidden.shape[1]
    positions = -(-length // pieces)
    narrow = head.astype(hidden.dtype)

    def split(x: jax.Array) -> jax.Array:
        filled = jnp.pad(x, ((0, 0), (0, pieces * positions - length)) + ((0, 0),) * (x.ndim - 2))
        return filled.reshape(x.shape[0], pieces, positions, *x.shape[2:]).swapaxes(0, 1)

    def piece_loss(
        carry: tuple[jax.Array, jax.Array], here: tuple
    ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        total, d_head = carry
        hidden, target, weight = here
        logits = contract_axes(flatten_rows(hidden), narrow, ((1,), (0,))) + bias
        top = logits.max(axis=1, keepdims=True)
        odds = jnp.exp(logits - top)
        mass = odds.sum(axis=1, keepdims=True)
        answers, weight = target.reshape(-1, 1), weight.reshape(-1, 1)
        nats = top + jnp.log(mass) - jnp.take_along_axis(logits, answers, axis=1)
        is_wanted = jnp.arange(logits.shape[1]) == answers
        d_logits = ((odds / mass - is_wanted) * weight).astype(hidden.dtype)
        d_hidden = contract_axes(d_logits, narrow, ((1,), (1,))).astype(hidden.dtype).reshape(hidden.shape)
        d_logits = d_logits.reshape(*hidden.shape[:2], -1)
        d_head = d_head + contract_axes(hidden, d_logits, ((0, 1), (0, 1)))
        return (total + jnp.sum(weight * nats), d_head), d_hidden

    wide = jnp.promote_types(hidden.dtype, jnp.float32)
    start = (jnp.zeros((), wide), jnp.zeros(head.shape, wide))
    (total, d_head), d_hidden = jax.lax.scan(piece_loss, start, tuple(map(split, (hidden, target, weight))))
    d_hidden = d_hidden.swapaxes(0, 1).reshape(hidden.shape[0], -1, hidden.shape[2])[:, :length]
    return total, (d_hidden, d_head.astype(head.dtype))


def _backward(
    _: int, residuals: tuple[jax.Array, jax.Array], d_total: jax.Array
) -> tuple[jax.Array, jax.Array, None, None, None]:
    d_hidden, d_head = residuals
    return d_hidden * d_total.astype(d_hidden.dtype), d_head * d_total, None, None, None


cross_entropy.defvjp(_forward, _backward)
