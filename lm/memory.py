"""Vectors at names: what a layer reads where a name, and nothing longer or shorter, has just been said.

The name that has been said so far at a token is the tokens since the last one that a name may follow: the
beginning of a text, the end of a sentence, or a word of the grammar. A key is such a name. So "Rome" is not
found in "New Rome"; what goes on ("Rome Falls") is not known yet where "Rome" ends, and is found.

Of many edits on top of each other each would compare every name so far, so names that are carried are looked
up by a hash; and what an edit adds is read beside them, not copied together with them in every step.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from corpus.text.tokenizer import PAD
from lm.attention import Array

SAME_HASH = 4
"""Names of one hash that are told apart; of ten thousand two share one in 2% of cases, five hardly ever."""
NO_NAME = 2**32 - 1
"""In place of the hash of a slot that holds nothing; those of names are smaller."""


class Memory(NamedTuple):
    """Vectors added to what each layer reads at the last token of a name.

    Attributes:
        keys: int32[n, W], tokens of names, padded on the left; all PAD holds nothing. Each stands once.
        before: int32[b], tokens that a name may follow.
        values: [L, n, D], what is added to the input of each layer.
        order: int32[n], slots by the hashes of their keys; without it names are compared with every key.
        below: another memory, whose values are added, too.
    """

    keys: jax.Array
    before: jax.Array
    values: jax.Array
    order: jax.Array | None = None
    below: "Memory | None" = None

    def list_all(self) -> "list[Memory]":
        """This one and those below it."""
        return [self, *(self.below.list_all() if self.below else [])]

    def on_top_of(self, other: "Memory") -> "Memory":
        """This one and those below it, and below them `other`."""
        return self._replace(below=self.below.on_top_of(other) if self.below else other)

    def scale(self, by: Array | float) -> "Memory":
        """`by` times all values, those below too."""
        return self._replace(values=self.values * by, below=self.below.scale(by) if self.below else None)

    def make_room(self, times: int) -> "Memory":
        """A memory that holds nothing, with room for the names of `times` like this one."""
        slots = len(self.keys) * times
        return Memory(
            jnp.full((slots, self.keys.shape[1]), PAD, jnp.int32),
            jnp.zeros_like(self.before),
            jnp.repeat(jnp.zeros_like(self.values), times, axis=1),
            jnp.arange(slots, dtype=jnp.int32),
        )

    def settle(self, carried: "Memory", index: Array) -> "Memory":
        """What is carried with these values: added to a name's slot, or in those of the `index`-th edit."""
        keys, values = carried.keys, carried.values
        for i in range(len(self.keys)):
            key = self.keys[i]
            slot, found = find_slots(key, keys)
            slot = jnp.where(found, slot, index * len(self.keys) + i)
            keys, values = keys.at[slot].set(key), values.at[:, slot].add(self.values[:, i])
        return Memory(keys, self.before, values, jnp.argsort(hash_names(keys)).astype(jnp.int32))

    @staticmethod
    def sizes() -> dict[str, str]:
        """Of what an edit adds; order and below are for edits that are carried."""
        return {"keys": "n W", "before": "b", "values": "L n D"}


def names_so_far(tokens: Array, positions: Array, mask: Array, before: Array, width: int) -> jax.Array:
    """int32[B, T, width]: the name that ends with each token, padded on the left.

    All PAD where no name ends: at a token that names follow, and where more than `width` tokens lie between.

    Args:
        tokens, positions: int32[B, S]; all before the last T were read earlier.
        mask: bool[B, T, S], what the last T of them see.
        before: int32[b].
    """
    distance = positions[:, -mask.shape[1] :, None] - positions[:, None, :]
    behind = [
        jnp.sum(jnp.where(mask & (distance == back), tokens[:, None], PAD), axis=2)
        for back in range(width + 1)
    ]
    said = jnp.stack(behind, axis=-1)
    is_name = jnp.cumprod((said != PAD) & ~jnp.isin(said, before), axis=-1).astype(bool)
    whole = is_name[..., :width] & ~is_name[..., width:]
    return jnp.flip(jnp.where(whole, said[..., :width], PAD), axis=-1).astype(jnp.int32)


def hash_names(names: Array) -> jax.Array:
    """uint32[...] of int32[..., W] names: FNV-1a over tokens, in 31 bits; NO_NAME where there is no name."""
    code = jnp.full(names.shape[:-1], 2166136261, jnp.uint32)
    for column in range(names.shape[-1]):
        code = (code ^ names[..., column].astype(jnp.uint32)) * jnp.uint32(16777619)
    return jnp.where((names != PAD).any(axis=-1), code >> 1, jnp.uint32(NO_NAME))


def find_slots(names: Array, keys: Array, order: Array | None = None) -> tuple[jax.Array, jax.Array]:
    """Where int32[..., W] names stand among int32[n, W] keys: the slot of each, and whether it has one."""
    if order is None:
        equal = (names[..., None, :] == keys).all(axis=-1) & (keys != PAD).any(axis=-1)
        return equal.argmax(axis=-1), equal.any(axis=-1)
    first = jnp.searchsorted(hash_names(keys)[order], hash_names(names))
    places = jnp.minimum(first[..., None] + jnp.arange(min(SAME_HASH, len(keys))), len(keys) - 1)
    slots = order[places]
    equal = (names[..., None, :] == keys[slots]).all(axis=-1) & (names != PAD).any(axis=-1)[..., None]
    slot = jnp.take_along_axis(slots, equal.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    return slot, equal.any(axis=-1)
