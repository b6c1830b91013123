"""Greedy decoding of the object that follows a prompt."""

import jax
import jax.numpy as jnp

from corpus.tokenizer import EOS, PAD, SEP
from lm.config import ModelConfig
from lm.model import Array, Delta, Params, hidden_states, unembed
from lm.prompts import layout


def greedy(
    model: ModelConfig, params: Params, delta: Delta | None, prompts: Array, longest: int
) -> jax.Array:
    """The most probable next tokens, up to "." or the end of the document.

    Args:
        prompts: int32[B, P], left-padded.
        longest: most tokens to generate, the ending included; static under jit.

    Returns:
        int32[B, longest]: generated tokens, PAD from the ending on. A row that never ends within
        `longest` tokens has no PAD.
    """
    rows, width = prompts.shape[0], prompts.shape[1] + longest

    def unfinished(carry: tuple) -> jax.Array:
        step, _, _, ended = carry
        return (step < longest) & ~ended.all()

    def generate(carry: tuple) -> tuple:
        step, window, tokens, ended = carry
        hidden = hidden_states(model, params, window, *layout(window), delta)[:, -1]
        token = jnp.argmax(unembed(params, hidden), axis=-1).astype(jnp.int32)
        ended = ended | (token == SEP) | (token == EOS)
        # An ended row goes on being decoded beside the others; what it says is dropped.
        tokens = tokens.at[:, step].set(jnp.where(ended, PAD, token))
        return step + 1, jnp.concatenate([window[:, 1:], token[:, None]], axis=1), tokens, ended

    # The window has room for every generated token, so that shifting drops padding only.
    window = jnp.full((rows, width), PAD, jnp.int32).at[:, longest:].set(prompts)
    start = (jnp.int32(0), window, jnp.full((rows, longest), PAD, jnp.int32), jnp.zeros(rows, bool))
    return jax.lax.while_loop(unfinished, generate, start)[2]
