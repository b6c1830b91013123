"""Greedy decoding of the object that follows a prompt."""

import jax
import jax.numpy as jnp

from corpus.tokenizer import EOS, PAD, SEP
from lm.config import ModelConfig
from lm.model import Array, Delta, Params, forward
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

    def step(window: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        logits = forward(model, params, window, *layout(window), delta)[:, -1]
        token = jnp.argmax(logits, axis=-1).astype(jnp.int32)
        return jnp.concatenate([window[:, 1:], token[:, None]], axis=1), token

    # The window has room for every generated token, so that shifting drops padding only.
    window = jnp.pad(prompts, ((0, 0), (longest, 0)), constant_values=PAD)
    _, tokens = jax.lax.scan(step, window, length=longest)
    tokens = tokens.T
    ended = jnp.cumsum((tokens == SEP) | (tokens == EOS), axis=1) > 0
    return jnp.where(ended, PAD, tokens)
