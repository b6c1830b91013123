"""Continuations of prompts: the most probable one, or a sample."""

import jax
import jax.numpy as jnp

from corpus.tokenizer import EOS, PAD, SEP
from lm.attention import Layout
from lm.language_model import Context, LanguageModel


def generate(model: LanguageModel, context: Context, longest: int, key: jax.Array | None = None) -> jax.Array:
    """The next tokens, up to "." or the end of the document: always the most probable one, or sampled.

    Every token is read once; keys and values of the prompt and of what was said are kept.

    Args:
        context: B prompts that were read.
        longest: most tokens to generate, the ending included; static under jit.
        key: to sample by; None takes the most probable tokens.

    Returns:
        int32[B, longest]: generated tokens, PAD from the ending on. A row that never ends within
        `longest` tokens has no PAD.
    """
    rows = context.hidden.shape[0]

    def pick(hidden: jax.Array, step: jax.Array) -> jax.Array:
        logits = model.unembed(hidden)
        if key is None:
            return jnp.argmax(logits, axis=-1).astype(jnp.int32)
        return jax.random.categorical(jax.random.fold_in(key, step), logits).astype(jnp.int32)

    def unfinished(carry: tuple) -> jax.Array:
        step, _, _, ended, _ = carry
        return (step < longest) & ~ended.all()

    def say(carry: tuple) -> tuple:
        step, token, tokens, ended, said = carry
        ended = ended | (token == SEP) | (token == EOS)
        # An ended row goes on being decoded beside the others; what it says is dropped.
        tokens = tokens.at[:, step].set(jnp.where(ended, PAD, token))
        here = jnp.ones((rows, 1), bool)
        layout = Layout((context.position + step)[:, None], here[:, :, None], here)
        hidden, own = model.hidden_states(token[:, None], layout, context.cache.joined(said))
        return step + 1, pick(hidden[:, 0], step + 1), tokens, ended, said.put(step, own)

    tokens = jnp.full((rows, longest), PAD, jnp.int32)
    first = jnp.int32(0)
    start = first, pick(context.hidden, first), tokens, jnp.zeros(rows, bool), context.cache.blank(longest)
    return jax.lax.while_loop(unfinished, say, start)[2]
