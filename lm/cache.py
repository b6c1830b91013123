"""Keys and values of tokens that were read, so that what follows need not read them again."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

SLOTS = (3, 3, 1, 1, 1)
"""The axes of a cache's arrays along which tokens stand."""
ROWS = (1, 1, 0, 0, 0)
"""The axes along which rows stand."""


class Cache(NamedTuple):
    """What later tokens need of tokens that were read.

    Attributes:
        key, value: [L, B, K, S, H], keys already rotated; heads before positions, so that what attends to
            them multiplies plain matrices and copies nothing.
        positions: int32[B, S].
        real: bool[B, S], whether there is a token at all.
        tokens: int32[B, S], which it is.
    """

    key: jax.Array
    value: jax.Array
    positions: jax.Array
    real: jax.Array
    tokens: jax.Array

    @staticmethod
    def sizes() -> dict[str, str]:
        """Of one row, in the letters of `lm.delta`."""
        entries = dict.fromkeys(("positions", "real", "tokens"), "1 S")
        return {"key": "L 1 K S H", "value": "L 1 K S H", **entries}

    def join(self, other: "Cache") -> "Cache":
        """The tokens of both, those of `other` behind."""
        pairs = zip(self, other, SLOTS, strict=True)
        return Cache(*(jnp.concatenate([mine, behind], axis) for mine, behind, axis in pairs))

    def make_blank(self, slots: int) -> "Cache":
        """A cache like this one with `slots` places that hold no token."""
        shapes = [(*x.shape[:axis], slots, *x.shape[axis + 1 :]) for x, axis in zip(self, SLOTS, strict=True)]
        return Cache(*(jnp.zeros(shape, x.dtype) for shape, x in zip(shapes, self, strict=True)))

    def put_at(self, slot: jax.Array, one: "Cache") -> "Cache":
        """This cache with the tokens of `one` from `slot` on."""
        update = jax.lax.dynamic_update_slice_in_dim
        return Cache(*(update(x, y, slot, axis) for x, y, axis in zip(self, one, SLOTS, strict=True)))

    def last_tokens(self, slots: int) -> "Cache":
        """The last `slots` tokens alone."""
        take = jax.lax.slice_in_dim
        pairs = zip(self, SLOTS, strict=True)
        return Cache(*(take(x, x.shape[axis] - slots, x.shape[axis], axis=axis) for x, axis in pairs))

    def repeat_row(self, rows: int) -> "Cache":
        """A cache of one row as `rows` rows."""
        pairs = zip(self, ROWS, strict=True)
        return Cache(*(jnp.broadcast_to(x, (*x.shape[:a], rows, *x.shape[a + 1 :])) for x, a in pairs))

    def repeat_rows(self, times: int) -> "Cache":
        """Every row so many times, one behind the other."""
        return Cache(*(jnp.repeat(x, times, axis) for x, axis in zip(self, ROWS, strict=True)))

    def take_tokens(self, row: jax.Array, slot: jax.Array, real: jax.Array) -> "Cache":
        """Some tokens as B' rows of S': those of each row int32[B'] at int32[B', S'], where they are real."""
        at = row[:, None]
        picked = (x[:, at, :, slot] for x in (self.key, self.value))
        key, value = (jnp.moveaxis(x, (0, 1, 2), (1, 3, 0)) for x in picked)
        positions, is_real, tokens = (x[at, slot] for x in (self.positions, self.real, self.tokens))
        return Cache(key, value, positions, is_real & real, tokens)
