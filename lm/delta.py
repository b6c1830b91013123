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
from lm.memory import Memory, make_room, store_memory

Delta = dict[str, Any]

ATTENTION = ("query", "key", "value", "out")
MLP = ("gate", "up", "down")
MATRICES = (*ATTENTION, *MLP)
IN_LAYERS = (*MATRICES, "codebook", "memory", "shift")
ADDED = (*MATRICES, "embedding", "memory", "weights", "shift")
"""Parts that add something, of which there can be more and less."""
PARTS = (*IN_LAYERS, "embedding", "weights", "prefix", "ledger")


class LowRank(NamedTuple):
    """A low-rank addition to one weight in every layer: a is [L, in, R], b is [L, R, out]."""

    a: jax.Array
    b: jax.Array


class Rows(NamedTuple):
    """Vectors added to the embeddings of some tokens: tokens is int32[n], values [n, D].

    A token that stands twice gets both vectors; one that is negative gets none.
    """

    tokens: jax.Array
    values: jax.Array


class Codebook(NamedTuple):
    """What MLPs return instead, where their input lies within `radius` of a key.

    Attributes:
        keys, values: [L, n, D].
        radius: [L, n], Euclidean; negative for entries that hold nothing.
    """

    keys: jax.Array
    values: jax.Array
    radius: jax.Array


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


class Prefix(NamedTuple):
    """Text before every prompt, already read; the prompt's own beginning-of-document token is skipped.

    Attributes:
        cache: of one row; slots that are not real are padding.
        start: int32[], the token that begins documents.
    """

    cache: Cache
    start: jax.Array


def compose_deltas(first: Delta | None, second: Delta | None) -> Delta:
    """Both edits, the second made on top of the first."""
    first, second = first or {}, second or {}
    both = first | second
    for name in first.keys() & second.keys():
        both[name] = _compose_parts(name, first[name], second[name])
    return both


def fold_delta(delta: Delta, vocabulary: int) -> Delta:
    """The same edit with low-rank parts and rows as weights, so that a sequence of edits stays as large."""
    other_parts = {name: part for name, part in delta.items() if name not in (*MATRICES, "embedding")}
    weights: dict[str, Any] = {}
    for name in MATRICES:
        if name in delta:
            blocks = weights.setdefault("layers", {})
            a, b = delta[name]
            blocks.setdefault(block_of(name), {})[name] = {"kernel": jnp.einsum("lir,lro->lio", a, b)}
    if "embedding" in delta:
        tokens, values = delta["embedding"]
        table = jnp.zeros((vocabulary, values.shape[1]), values.dtype)
        # Entries that name no token fall outside the table and are dropped.
        weights["embedding"] = table.at[jnp.where(tokens < 0, vocabulary, tokens)].add(values, mode="drop")
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
    multiple: Delta = {}
    for name, part in delta.items():
        if isinstance(part, LowRank):
            multiple[name] = LowRank(part.a, part.b * by)
        elif isinstance(part, Rows):
            multiple[name] = part._replace(values=part.values * by)
        elif isinstance(part, Memory):
            multiple[name] = part.scale(by)
        elif isinstance(part, Ledger):
            multiple[name] = part
        else:
            multiple[name] = jax.tree.map(lambda x: x * by, part)
    return multiple


def empty_carry(delta: Delta, vocabulary: int, times: int) -> Delta:
    """An edit that does nothing yet, into which `times` edits like this one can be settled.

    Args:
        delta: of one edit; only its shapes matter.
    """
    empty = jax.tree.map(jnp.zeros_like, fold_delta(delta, vocabulary))
    if "prefix" in empty:
        cache = empty["prefix"].cache
        empty["prefix"] = Prefix(cache.make_blank(times * cache.real.shape[1]), delta["prefix"].start)
    if "memory" in empty:
        empty["memory"] = make_room(empty["memory"], times)
    if "codebook" in empty:
        book = Codebook(*(jnp.repeat(x, times, axis=1) for x in empty["codebook"]))
        empty["codebook"] = book._replace(radius=book.radius - 1)
    return empty


def add_to_carry(carried: Delta, delta: Delta, vocabulary: int, index: jax.Array) -> Delta:
    """What is carried from edit to edit after one more, the `index`-th; its shapes stay as they are."""
    latest = fold_delta(delta, vocabulary)
    settled = dict(carried)
    if "weights" in latest:
        settled["weights"] = _add_trees(carried["weights"], latest["weights"])
    if "ledger" in latest:
        settled["ledger"] = jax.tree.map(jnp.add, carried["ledger"], latest["ledger"])
    if "prefix" in latest:
        text, slots = latest["prefix"], latest["prefix"].cache.real.shape[1]
        settled["prefix"] = Prefix(carried["prefix"].cache.put_at(index * slots, text.cache), text.start)
    if "memory" in latest:
        entries = len(latest["memory"].keys)
        settled["memory"] = store_memory(carried["memory"], latest["memory"], index * entries)
    if "codebook" in latest:
        update = jax.lax.dynamic_update_slice_in_dim
        entries = latest["codebook"].keys.shape[1]
        pairs = zip(carried["codebook"], latest["codebook"], strict=True)
        settled["codebook"] = Codebook(*(update(x, y, index * entries, 1) for x, y in pairs))
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


def apply_low_rank(x: jax.Array, factors: LowRank) -> jax.Array:
    """What a low-rank part adds to x @ W."""
    a, b = (factor.astype(x.dtype) for factor in factors)
    return (x @ a) @ b


def look_up_codebook(x: jax.Array, out: jax.Array, book: Codebook) -> jax.Array:
    """`out`, or the value of the nearest key of one layer's codebook where x [B, T, D] lies in its ball.

    Of keys that are equally near, to a hundredth of a radius, the latest counts: it was stored to replace
    the earlier ones, from which rounding errors may separate it.
    """
    distance = jnp.linalg.norm(x[..., None, :] - book.keys, axis=-1)
    unit = jnp.maximum(0.01 * book.radius.max(), jnp.finfo(distance.dtype).tiny)
    inside = jnp.where(distance <= book.radius, jnp.round(distance / unit), jnp.inf)
    nearest = inside.shape[-1] - 1 - jnp.flip(inside, -1).argmin(-1)
    hit = jnp.isfinite(inside.min(-1))[..., None]
    return jnp.where(hit, book.values[nearest].astype(out.dtype), out)


def place_behind_prefix(prefix: Prefix, tokens: Array, layout: Layout) -> tuple[Layout, Cache]:
    """The layout of documents that go on where a prefix ends, and the prefix as each of them sees it.

    Args:
        tokens: int32[B, T], each document beginning with its own start token.
        layout: of these tokens without the prefix.
    """
    length = prefix.cache.real.sum().astype(jnp.int32)
    # Behind a prefix that holds nothing, documents begin as they always do.
    opens = (jnp.asarray(tokens) == prefix.start) & (length > 0)
    # A start token that is skipped still sees itself, so that no query is without a key.
    alone = jnp.eye(opens.shape[1], dtype=bool)
    mask = layout.mask & (~opens[:, None, :] | alone)
    moved = Layout(layout.positions + jnp.maximum(length - 1, 0), mask, layout.real & ~opens)
    return moved, prefix.cache.repeat_row(opens.shape[0])


def _compose_parts(name: str, first: Any, second: Any) -> Any:
    if name == "weights":
        return _add_trees(first, second)
    if name == "prefix":
        return Prefix(first.cache.join(second.cache), second.start)
    if name == "embedding":
        return Rows(*(jnp.concatenate(two) for two in zip(first, second, strict=True)))
    if name == "codebook":
        return Codebook(*(jnp.concatenate(two, axis=1) for two in zip(first, second, strict=True)))
    if name == "memory":
        return second.on_top_of(first)
    if name == "ledger":
        return jax.tree.map(jnp.add, first, second)
    if name == "shift":
        return first + second
    return LowRank(jnp.concatenate([first.a, second.a], axis=2), jnp.concatenate([first.b, second.b], axis=1))


def _add_trees(first: dict, second: dict) -> dict:
    """The sum of two parts of a tree, of which either may lack what the other has."""
    both = first | second
    for name in first.keys() & second.keys():
        a, b = first[name], second[name]
        both[name] = _add_trees(a, b) if isinstance(a, dict) else a + b
    return both
