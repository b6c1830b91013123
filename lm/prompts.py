"""Prompts of different lengths as one array: padded on the left, so that they all end together."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from corpus.tokenizer import PAD
from lm.model import Array


def left_pad(rows: Sequence[np.ndarray], width: int) -> np.ndarray:
    """int32[len(rows), width]: token rows with PAD before them; an empty row is all PAD."""
    padded = np.full((len(rows), width), PAD, np.int32)
    for i, row in enumerate(rows):
        padded[i, width - len(row) :] = row
    return padded


def layout(prompts: Array) -> tuple[jax.Array, jax.Array]:
    """Positions int32[B, T] and causal mask bool[B, T, T] of left-padded prompts.

    Padding sees itself, so that no query is without a key.
    """
    width = prompts.shape[1]
    real = prompts != PAD
    positions = jnp.maximum(jnp.cumsum(real, axis=1) - 1, 0).astype(jnp.int32)
    index = jnp.arange(width)
    lower = index[:, None] >= index[None, :]
    return positions, (lower & real[:, None, :]) | jnp.eye(width, dtype=bool)
