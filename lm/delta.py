"""Edits as data: what a model adds to its parameters, which stay as they are (design.md 7).

A *delta* is a dict; every key is optional, and arrays lead with layers L as the parameters do:

    query key value out gate up down   LowRank: x @ W + (x @ a) @ b in that matrix of every layer
    embedding                          Rows: vectors added to the embeddings of a few tokens
    weights                            a part of the parameters' tree: what is added to those parameters
    codebook                           Codebook: outputs of MLPs, looked up by their inputs
    prefix                             Prefix: text that every prompt is read behind
    memory                             Memory: vectors added to what layers read at names; see `lm.memory`
    ledger                             Ledger: what edits leave for later ones; no model computes with it
    shift                              float[L, B, T, D], added to what each layer returns: for editors
                                       that ask what a state should be before they look for the weights

Low-rank parts are applied unmerged, so that many edits share one W.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from lm.attention import Array, Layout
from lm.cache import Cache
from lm.memory import Memory

Delta = dict[str, Any]

ATTENTION = ("query", "key", "value", "out")
MLP = ("gate", "up", "down")
MATRICES = (*ATTENTION, *MLP)
IN_LAYERS = (*MATRICES, "codebook", "memory", "shift")
PLAIN = ("weights", "shift")
"""Parts that are arrays, or trees of them, and add up; the others are named tuples with these methods:

    on_top_of(earlier)       this part and one of an earlier edit as one
    scale(by)                `by` times what it adds; only parts of ADDED have more and less
    make_room(times)         a part that does nothing yet, with room for `times` like this one
    settle(carried, index)   what is carried with this part in it, the `index`-th; no shape changes
    sizes()                  the shape of each array in letters: L layers, D hidden, F inside the MLP, E for
                             F + D, K heads of keys, H their width; others are free, and equal everywhere

Low-rank parts and rows are carried as weights (`as_weights`), and make no room.
"""
ADDED = (*MATRICES, "embedding", "memory", *PLAIN)
"""Parts that add something, of which there can be more and less."""


class LowRank(NamedTuple):
    """A low-rank addition to one weight in every layer: a is [L, in, R], b is [L, R, out]."""

    a: jax.Array
    b: jax.Array

    def apply(self, x: jax.Array) -> jax.Array:
        """What one layer's part adds to x @ W."""
        a, b = (factor.astype(x.dtype) for factor in self)
        return (x @ a) @ b

    def on_top_of(self, earlier: "LowRank") -> "LowRank":
        """Both, side by side."""
        a, b = jnp.concatenate([earlier.a, self.a], axis=2), jnp.concatenate([earlier.b, self.b], axis=1)
        return LowRank(a, b)

    def scale(self, by: Array | float) -> "LowRank":
        """`by` times the product."""
        return LowRank(self.a, self.b * by)

    def as_weights(self, matrix: str) -> dict[str, Any]:
        """The same addition as a part of the parameters' tree."""
        kernel = jnp.einsum("lir,lro->lio", self.a, self.b)
        return {"layers": {block_of(matrix): {matrix: {"kernel": kernel}}}}

    @staticmethod
    def sizes() -> dict[str, str]:
        """I and O are those of the matrix."""
        return {"a": "L I r", "b": "L r O"}


class Rows(NamedTuple):
    """Vectors added to the embeddings of some tokens: tokens is int32[n], values [n, D].

    A token that stands twice gets both vectors; one that is negative gets none.
    """

    tokens: jax.Array
    values: jax.Array

    def on_top_of(self, earlier: "Rows") -> "Rows":
        """Both, one behind the other."""
        return Rows(*(jnp.concatenate(two) for two in zip(earlier, self, strict=True)))

    def scale(self, by: Array | float) -> "Rows":
        """`by` times all vectors."""
        return self._replace(values=self.values * by)

    def as_weights(self, vocabulary: int) -> dict[str, Any]:
        """The same addition as a part of the parameters' tree."""
        table = jnp.zeros((vocabulary, self.values.shape[1]), self.values.dtype)
        # Entries that name no token fall outside the table and are dropped.
        rows = jnp.where(self.tokens < 0, vocabulary, self.tokens)
        return {"embedding": table.at[rows].add(self.values, mode="drop")}

    @staticmethod
    def sizes() -> dict[str, str]:
        """One vector for each token."""
        return {"tokens": "n", "values": "n D"}


class Codebook(NamedTuple):
    """What MLPs return instead, where their input lies within `radius` of a key.

    Attributes:
        keys, values: [L, n, D].
        radius: [L, n], Euclidean; negative for entries that hold nothing.
    """

    keys: jax.Array
    values: jax.Array
    radius: jax.Array

    def look_up(self, x: jax.Array, out: jax.Array) -> jax.Array:
        """`out`, or the value of the nearest key of one layer's part where x [B, T, D] lies in its ball.

        Of keys that are equally near, to a hundredth of a radius, the latest counts: it was stored to replace
        the earlier ones, from which rounding errors may separate it.
        """
        distance = jnp.linalg.norm(x[..., None, :] - self.keys, axis=-1)
        unit = jnp.maximum(0.01 * self.radius.max(), jnp.finfo(distance.dtype).tiny)
        inside = jnp.where(distance <= self.radius, jnp.round(distance / unit), jnp.inf)
        nearest = inside.shape[-1] - 1 - jnp.flip(inside, -1).argmin(-1)
        hit = jnp.isfinite(inside.min(-1))[..., None]
        return jnp.where(hit, self.values[nearest].astype(out.dtype), out)

    def on_top_of(self, earlier: "Codebook") -> "Codebook":
        """Both, this one's entries last."""
        return Codebook(*(jnp.concatenate(two, axis=1) for two in zip(earlier, self, strict=True)))

    def make_room(self, times: int) -> "Codebook":
        """Entries that hold nothing."""
        empty = Codebook(*(jnp.repeat(jnp.zeros_like(x), times, axis=1) for x in self))
        return empty._replace(radius=empty.radius - 1)

    def settle(self, carried: "Codebook", index: Array) -> "Codebook":
        """The entries of the `index`-th edit take their places."""
        update, place = jax.lax.dynamic_update_slice_in_dim, index * self.keys.shape[1]
        return Codebook(*(update(x, y, place, 1) for x, y in zip(carried, self, strict=True)))

    @staticmethod
    def sizes() -> dict[str, str]:
        """As many entries in every layer."""
        return {"keys": "L n D", "values": "L n D", "radius": "L n"}


class Ledger(NamedTuple):
    """Sums over the facts that were edited so far, which whoever edits next may look at.

    In each of n edited layers a fact has a key, and a rest that is to be added there, read at the key.

    Attributes:
        moment: [n, F, F], of the outer products of keys.
        facts: [], how many.
        total, squares: [n, F + D], of keys with their rests behind them, and of their squares.
    """

    moment: jax.Array
    facts: jax.Array
    total: jax.Array
    squares: jax.Array

    def on_top_of(self, earlier: "Ledger") -> "Ledger":
        """The sums of both."""
        return jax.tree.map(jnp.add, earlier, self)

    def scale(self, _: Array | float) -> "Ledger":
        """The same: what was edited was edited, however much of it is added."""
        return self

    def make_room(self, _: int) -> "Ledger":
        """Sums over nothing."""
        return jax.tree.map(jnp.zeros_like, self)

    def settle(self, carried: "Ledger", _: Array) -> "Ledger":
        """The sums of both."""
        return self.on_top_of(carried)

    @staticmethod
    def sizes() -> dict[str, str]:
        """M layers are edited."""
        return {"moment": "m F F", "facts": "", "total": "m E", "squares": "m E"}


class Prefix(NamedTuple):
    """Text before every prompt, already read; the prompt's own beginning-of-document token is skipped.

    Attributes:
        cache: of one row; slots that are not real are padding.
        start: int32[], the token that begins documents.
    """

    cache: Cache
    start: jax.Array

    def place(self, tokens: Array, layout: Layout) -> tuple[Layout, Cache]:
        """The layout of documents that go on where this text ends, and the text as each of them sees it.

        Args:
            tokens: int32[B, T], each document beginning with its own start token.
            layout: of these tokens without the text.
        """
        length = self.cache.real.sum().astype(jnp.int32)
        # Behind a prefix that holds nothing, documents begin as they always do.
        opens = (jnp.asarray(tokens) == self.start) & (length > 0)
        # A start token that is skipped still sees itself, so that no query is without a key.
        alone = jnp.eye(opens.shape[1], dtype=bool)
        mask = layout.mask & (~opens[:, None, :] | alone)
        moved = Layout(layout.positions + jnp.maximum(length - 1, 0), mask, layout.real & ~opens)
        return moved, self.cache.repeat_row(opens.shape[0])

    def on_top_of(self, earlier: "Prefix") -> "Prefix":
        """Both texts, this one last."""
        return Prefix(earlier.cache.join(self.cache), self.start)

    def make_room(self, times: int) -> "Prefix":
        """Slots without a token."""
        return Prefix(self.cache.make_blank(times * self.cache.real.shape[1]), self.start)

    def settle(self, carried: "Prefix", index: jax.Array) -> "Prefix":
        """The text of the `index`-th edit takes its slots."""
        return Prefix(carried.cache.put_at(index * self.cache.real.shape[1], self.cache), self.start)

    @staticmethod
    def sizes() -> dict[str, Any]:
        """Its cache has sizes of its own."""
        return {"cache": Cache, "start": ""}


KINDS = {
    **dict.fromkeys(MATRICES, LowRank), "embedding": Rows, "codebook": Codebook, "prefix": Prefix,
    "memory": Memory, "ledger": Ledger,
}  # fmt: skip
"""What each part is, but for the plain ones."""
PARTS = (*KINDS, *PLAIN)


def compose_deltas(first: Delta | None, second: Delta | None) -> Delta:
    """Both edits, the second made on top of the first."""
    first, second = first or {}, second or {}
    both = first | second
    for name in first.keys() & second.keys():
        earlier, later = first[name], second[name]
        both[name] = add_trees(earlier, later) if name in PLAIN else later.on_top_of(earlier)
    return both


def fold_delta(delta: Delta, vocabulary: int) -> Delta:
    """The same edit with low-rank parts and rows as weights, so that a sequence of edits stays as large."""
    weights: dict[str, Any] = {}
    other_parts: Delta = {}
    for name, part in delta.items():
        if isinstance(part, LowRank):
            weights = add_trees(weights, part.as_weights(name))
        elif isinstance(part, Rows):
            weights = add_trees(weights, part.as_weights(vocabulary))
        else:
            other_parts[name] = part
    return compose_deltas(other_parts, {"weights": weights}) if weights else other_parts


def has_dial(delta: Delta) -> bool:
    """Whether an edit adds, and does nothing else; what is looked up or read has no more and less."""
    return bool(delta.keys() - {"ledger"}) and delta.keys() <= {*ADDED, "ledger"}


def scale_delta(delta: Delta, by: Array | float) -> Delta:
    """`by` times all that an edit adds.

    Raises:
        ValueError: a part of it has no more and less.
    """
    if delta and not has_dial(delta):
        raise ValueError(f"{', '.join(sorted(delta.keys() - set(ADDED)))} cannot be scaled")
    return {
        name: jax.tree.map(lambda x: x * by, part) if name in PLAIN else part.scale(by)
        for name, part in delta.items()
    }


def empty_carry(delta: Delta, vocabulary: int, times: int) -> Delta:
    """An edit that does nothing yet, into which `times` edits like this one can be settled.

    Args:
        delta: of one edit; only its shapes matter.
    """
    return {
        name: jax.tree.map(jnp.zeros_like, part) if name in PLAIN else part.make_room(times)
        for name, part in fold_delta(delta, vocabulary).items()
    }


def add_to_carry(carried: Delta, delta: Delta, vocabulary: int, index: jax.Array) -> Delta:
    """What is carried from edit to edit after one more, the `index`-th; its shapes stay as they are."""
    settled = dict(carried)
    for name, part in fold_delta(delta, vocabulary).items():
        earlier = carried[name]
        settled[name] = add_trees(earlier, part) if name in PLAIN else part.settle(earlier, index)
    return settled


def block_of(matrix: str) -> str:
    """The module of a layer to which a matrix belongs."""
    return "attention" if matrix in ATTENTION else "mlp"


def add_changes(params: dict, changes: dict) -> dict:
    """The tree `params` with `changes`, a part of the same tree, added."""
    return {
        name: (
            part
            if name not in changes
            else add_changes(part, changes[name])
            if isinstance(part, dict)
            else part + changes[name]
        )
        for name, part in params.items()
    }


def add_trees(first: Any, second: Any) -> Any:
    """The sum of two arrays, or of two parts of a tree, of which either may lack what the other has."""
    if not isinstance(first, dict):
        return first + second
    shared = {name: add_trees(first[name], second[name]) for name in first.keys() & second.keys()}
    return first | second | shared
