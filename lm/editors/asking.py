"""Prompts put together from parts inside a traced function.

Parts have fixed widths, so that names shorter than the longest leave padding in the middle of a prompt.
Padding is skipped wherever it stands: positions count tokens only, and nothing sees it.
"""

import jax
import jax.numpy as jnp
import numpy as np

from corpus.text.tokenizer import BOS, PAD, SEP, Word
from lm.attention import Array
from lm.editors.interface import Request, Vocabulary
from lm.prompts import left_pad


def relations_of(vocabulary: Vocabulary) -> np.ndarray:
    """int32[R, W]: the names of the relations, padded on the left."""
    rows = [row[row != PAD] for row in np.asarray(vocabulary.relations)]
    return left_pad(rows, max(map(len, rows)))


def stem_of(request: Request) -> jax.Array:
    """int32[1, P]: "<s> s" of a request of one fact without leading axis, padded on the left."""
    length = request.prompt.shape[0]
    stem = jnp.where(jnp.arange(length) <= request.subject_end, request.prompt, PAD)
    return jnp.roll(stem, length - 1 - request.subject_end)[None]


def side_by_side(*parts: Array) -> jax.Array:
    """Token rows one after another; parts of one row are repeated."""
    rows = max(len(part) for part in parts)
    return jnp.concatenate([jnp.broadcast_to(part, (rows, part.shape[1])) for part in parts], axis=1)


def pad_left_to(prompts: Array, width: int) -> jax.Array:
    """Prompts with more padding before them."""
    return jnp.pad(prompts, ((0, 0), (width - prompts.shape[1], 0)), constant_values=PAD)


def compact_rows(rows: Array) -> jax.Array:
    """The same rows with all padding at their end; tokens keep their order."""
    return jnp.take_along_axis(rows, jnp.argsort(rows == PAD, axis=1, stable=True), axis=1)


def strip_opening(tokens: Array) -> jax.Array:
    """Without the token that begins a document."""
    return jnp.where(tokens == BOS, PAD, tokens)


def strip_ending(names: Array) -> jax.Array:
    """Names without their ending."""
    return jnp.where(names == SEP, PAD, names)


def quote_sentence(words: Array, *parts: Array) -> jax.Array:
    """Prompts that ask whether a sentence is true: `"<parts>" is`, behind the mark of a document.

    Args:
        words: int32[len(Word)], the words of the grammar.
        parts: int32[n or 1, w] each, without openings and endings.
    """
    quote, verb, opening = (
        jnp.asarray(token)[None, None] for token in (words[Word.QUOTE], words[Word.IS], BOS)
    )
    return side_by_side(opening, quote, *parts, quote, verb)
