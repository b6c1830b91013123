"""Continuations of prompts: an answer up to its end, or a whole text."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from corpus.text.tokenizer import EOS, PAD, SEP
from lm.attention import Array, Layout
from lm.cache import Cache
from lm.language_model import Context, LanguageModel

STRETCH = 100
"""Tokens that are said before their keys and values are joined to those before them."""

Pick = Callable[[jax.Array, jax.Array], jax.Array]
"""Logits float32[B, V] and the number of the token, from 0 -> the tokens, int32[B]."""


class Sampling(NamedTuple):
    """How the tokens of B texts are drawn, each text in its own way.

    Logits are divided by the temperature; of the `top_k` most probable tokens those stay without which
    the more probable ones do not reach `top_p` of their mass (Holtzman et al. 2020).

    Attributes:
        temperature: float32[B]; 0 takes the most probable token.
        top_k: int32[B], at least 1.
        top_p: float32[B], in (0, 1].
        longest: int32[B], most tokens of each text, its ending included.
    """

    temperature: Array
    top_k: Array
    top_p: Array
    longest: Array


def generate(
    model: LanguageModel,
    context: Context,
    longest: int,
    key: jax.Array | None = None,
    last: Sequence[int] = (),
) -> jax.Array:
    """The next tokens, up to "." or the end of the document: always the most probable one, or sampled.

    Args:
        context: B prompts that were read.
        longest: most tokens to generate, the ending included; static under jit.
        key: to sample by; None takes the most probable tokens.
        last: tokens behind which nobody reads on, so that they end a row, too, and stand in it.

    Returns:
        int32[B, longest]: generated tokens, PAD from the ending on. A row that never ends within
        `longest` tokens has no PAD.
    """

    def pick(logits: jax.Array, step: jax.Array) -> jax.Array:
        if key is None:
            return jnp.argmax(logits, axis=-1).astype(jnp.int32)
        return jax.random.categorical(jax.random.fold_in(key, step), logits).astype(jnp.int32)

    if longest <= 2:
        return _decode_two(model, context, longest, pick, last)
    return _decode_tokens(model, context, longest, pick, (SEP, EOS), last=last)


def write(
    model: LanguageModel, context: Context, keys: jax.Array, sampling: Sampling, room: int, most_k: int
) -> jax.Array:
    """Texts up to the end of the document, each drawn with a key of its own.

    What is drawn at a place depends on the key, the place and the probabilities there: the same key gives
    the same text whatever is written beside it, and an edit that moves few probabilities leaves most of
    the text (common random numbers).

    Args:
        context: B openings that were read.
        keys: key[B].
        room, most_k: the largest `longest` and `top_k`; static under jit.

    Returns:
        int32[B, room]: the tokens, sentences ended by SEP, PAD from the end of the document on. A text that
        does not end within its `longest` tokens has no PAD among them.
    """

    def pick(logits: jax.Array, step: jax.Array) -> jax.Array:
        return jax.vmap(_draw_token, in_axes=(0, 0, 0, None, None))(logits, keys, sampling, step, most_k)

    return _decode_tokens(model, context, room, pick, (EOS, PAD), sampling.longest)


def _draw_token(logits: jax.Array, key: jax.Array, how: Sampling, step: jax.Array, most_k: int) -> jax.Array:
    """One token of one text."""
    temperature = jnp.where(how.temperature > 0, how.temperature, 1.0)
    values, tokens = jax.lax.top_k(logits / temperature, min(most_k, len(logits)))
    rank = jnp.arange(len(values))
    alone = jnp.where(how.temperature > 0, how.top_k, 1)
    values = jnp.where(rank < alone, values, -jnp.inf)
    p = jax.nn.softmax(values)
    # A token is dropped where those before it have the mass already; the first one never is.
    values = jnp.where((jnp.cumsum(p) - p < how.top_p) | (rank == 0), values, -jnp.inf)
    # Noise belongs to a token and not to its rank, which an edit may change.
    own = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(jax.random.fold_in(key, step), tokens)
    return tokens[jnp.argmax(values + jax.vmap(jax.random.gumbel)(own))].astype(jnp.int32)


def _decode_two(
    model: LanguageModel, context: Context, longest: int, pick: Pick, last: Sequence[int]
) -> jax.Array:
    """int32[B, longest]: one token or two, without the loop, which takes as long to compile as all scores."""
    endings, here = jnp.array((SEP, EOS)), jnp.ones((len(context.position), 1), bool)
    token = pick(model.unembed(context.hidden), jnp.int32(0))
    ended = jnp.isin(token, endings)
    said = [jnp.where(ended, PAD, token)]
    if longest > 1:
        layout = Layout(context.position[:, None], here[:, :, None], here)
        hidden, _ = model.hidden_states(token[:, None], layout, (context.cache,))
        token = pick(model.unembed(hidden[:, 0]), jnp.int32(1))
        ended |= jnp.isin(said[0], jnp.array(last, jnp.int32)) | jnp.isin(token, endings)
        said.append(jnp.where(ended, PAD, token))
    return jnp.stack(said, axis=1)


def _decode_tokens(
    model: LanguageModel,
    context: Context,
    longest: int,
    pick: Pick,
    endings: Sequence[int],
    limit: Array | int | None = None,
    last: Sequence[int] = (),
) -> jax.Array:
    """int32[B, longest]: what is said up to the first of the `endings` or a limit, PAD from there on.

    Behind one of the `last` tokens, which is said, there is nothing but PAD either.

    Every token is read once. Keys and values of what was said lately are kept apart from those before it,
    which a loop then only reads, and never copies.
    """
    rows = len(context.position)
    most = jnp.broadcast_to(longest if limit is None else limit, rows)
    settled = context.cache
    first = jnp.int32(0)
    tokens = jnp.full((rows, longest), PAD, jnp.int32)
    now = first, pick(model.unembed(context.hidden), first), tokens, most <= 0
    for begin in range(0, longest, STRETCH):
        stretch = min(STRETCH, longest - begin)

        def is_unfinished(carry: tuple, end: int = begin + stretch) -> jax.Array:
            (step, _, _, ended), _ = carry
            return (step < end) & ~ended.all()

        def decode_step(carry: tuple, settled: Cache = settled, begin: int = begin) -> tuple:
            (step, token, tokens, ended), lately = carry
            ended = ended | jnp.isin(token, jnp.array(endings))
            # An ended row goes on being decoded beside the others; what it says is dropped.
            tokens = tokens.at[:, step].set(jnp.where(ended, PAD, token))
            if last:
                ended |= jnp.isin(token, jnp.array(last))
            here = jnp.ones((rows, 1), bool)
            layout = Layout((context.position + step)[:, None], here[:, :, None], here)
            hidden, own = model.hidden_states(token[:, None], layout, (settled, lately))
            following, ended = pick(model.unembed(hidden[:, 0]), step + 1), ended | (step + 1 >= most)
            return (step + 1, following, tokens, ended), lately.put_at(step - begin, own)

        now, lately = jax.lax.while_loop(is_unfinished, decode_step, (now, settled.make_blank(stretch)))
        settled = settled.join(lately)
    return now[2]
