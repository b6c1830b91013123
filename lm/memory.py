"""Vectors at names: what a layer reads where a name, and nothing longer or shorter, has just been said.

The name that has been said so far at a token is the tokens since the last one that a name may follow: the
beginning of a text, the end of a sentence, or a word of the grammar. A key is such a name. So "Rome" is not
found in "New Rome"; what goes on ("Rome Falls") is not known yet where "Rome" ends, and is found.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from corpus.text.tokenizer import PAD
from lm.attention import Array


class Memory(NamedTuple):
    """Vectors added to what each layer reads at the last token of a name.

    Attributes:
        keys: int32[n, W], tokens of names, padded on the left; all PAD holds nothing. Each stands once.
        before: int32[b], tokens that a name may follow.
        values: [L, n, D], what is added to the input of each layer.
    """

    keys: jax.Array
    before: jax.Array
    values: jax.Array


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


def find_slots(names: Array, keys: Array) -> tuple[jax.Array, jax.Array]:
    """Where int32[..., W] names stand among int32[n, W] keys: the slot of each, and whether it has one."""
    equal = (names[..., None, :] == keys).all(axis=-1) & (keys != PAD).any(axis=-1)
    return equal.argmax(axis=-1), equal.any(axis=-1)


def recall_values(values: jax.Array, slots: jax.Array, found: jax.Array) -> jax.Array:
    """[B, T, D]: what one layer's values [n, D] add at each token."""
    return jnp.where(found[..., None], values[slots], 0)


def join_memories(first: Memory, second: Memory) -> Memory:
    """Both, the second on top of the first: where a name stands in both, its values are summed."""
    width = max(first.keys.shape[1], second.keys.shape[1])
    older, newer = (_widen_keys(memory.keys, width) for memory in (first, second))
    slots, found = find_slots(older, newer)
    moved = jnp.where(found[:, None], first.values, 0)
    return Memory(
        jnp.concatenate([jnp.where(found[:, None], PAD, older), newer]),
        second.before,
        jnp.concatenate([first.values, second.values.at[:, slots].add(moved)], axis=1),
    )


def store_memory(carried: Memory, latest: Memory, place: Array) -> Memory:
    """What is carried with the latest values in it: added to a name's slot, or from slot `place` on."""
    for i in range(len(latest.keys)):
        key = latest.keys[i]
        slot, found = find_slots(key, carried.keys)
        slot = jnp.where(found, slot, place + i)
        carried = carried._replace(
            keys=carried.keys.at[slot].set(key),
            before=latest.before,
            values=carried.values.at[:, slot].add(latest.values[:, i]),
        )
    return carried


def _widen_keys(keys: Array, width: int) -> jax.Array:
    return jnp.pad(keys, ((0, 0), (width - keys.shape[1], 0)), constant_values=PAD)
