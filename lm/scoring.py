"""Probabilities of whole objects and of single words after a prompt (DESIGN 4).

p(o | prompt) is the product of the object's token probabilities times the probability that the object
ends there: that "." or the end of the document follows. A prompt is read once, and all its candidates are
scored in one pass: their tokens form a tree behind the prompt, and each node sees the prompt and its own
ancestors.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from corpus.tokenizer import EOS, PAD, SEP
from lm.attention import Array, Layout, left_padded
from lm.language_model import Context, LanguageModel

ENDINGS = (SEP, EOS)


class CandidateTree(NamedTuple):
    """The tokens of several candidates as one tree with shared prefixes; padded to fixed sizes.

    Attributes:
        tokens: int32[nodes], PAD where unused.
        parent: int32[nodes], -1 where the node follows the prompt.
        depth: int32[nodes], 0 for nodes that follow the prompt.
        sees: bool[nodes, nodes], whether a node (first axis) is behind or is another (second axis).
        path: int32[candidates, longest], the nodes of each candidate in order, -1 as padding.
    """

    tokens: Array
    parent: Array
    depth: Array
    sees: Array
    path: Array


def candidate_tree(rows: Sequence[np.ndarray], nodes: int, candidates: int, longest: int) -> CandidateTree:
    """The tree of the given token rows, padded to `nodes`, `candidates` and `longest`."""
    tokens = np.full(nodes, PAD, np.int32)
    parent = np.full(nodes, -1, np.int32)
    depth = np.zeros(nodes, np.int32)
    sees = np.eye(nodes, dtype=bool)
    path = np.full((candidates, longest), -1, np.int32)
    known: dict[tuple[int, int], int] = {}
    for c, row in enumerate(rows):
        at = -1
        for i, token in enumerate(row):
            key = (at, int(token))
            if key not in known:
                node = known[key] = len(known)
                tokens[node], parent[node], depth[node] = token, at, i
                if at >= 0:
                    sees[node] |= sees[at]
            at = path[c, i] = known[key]
    return CandidateTree(tokens, parent, depth, sees, path)


def tree_size(rows: Sequence[np.ndarray]) -> int:
    """Number of nodes the tree of these rows has."""
    return len({tuple(row[: i + 1]) for row in map(list, rows) for i in range(len(row))})


def object_log_probabilities(
    model: LanguageModel, context: Context, tree: CandidateTree
) -> tuple[jax.Array, jax.Array]:
    """Log p(o | prompt) of every candidate, with the object's ending and without.

    Args:
        context: B prompts that were read.
        tree: arrays with a leading axis B.

    Returns:
        Twice float32[B, candidates], minus infinity for padding: the probability that the object stands
        there and ends; and, as Hase et al., that it stands there, so that an object with which another
        one begins has the other's mass too. `jax.nn.log_softmax` of the first is the distribution over
        the candidates.
    """
    layout = Layout(
        context.position[:, None] + tree.depth, jnp.asarray(tree.sees), jnp.asarray(tree.tokens) != PAD
    )
    hidden, _ = model.hidden_states(tree.tokens, layout, (context.cache,))
    # Logits only where something follows: at the end of the prompt (first) and at each node.
    logits = model.unembed(jnp.concatenate([context.hidden[:, None], hidden], axis=1))
    normaliser = jax.nn.logsumexp(logits, axis=-1)
    place = 1 + tree.parent
    picked = jnp.take_along_axis(logits, place[:, :, None], axis=1)
    node = jnp.take_along_axis(picked, tree.tokens[:, :, None], axis=2)[..., 0]
    node -= jnp.take_along_axis(normaliser, place, axis=1)

    on_path = tree.path >= 0
    steps = jnp.take_along_axis(node[:, None, :], jnp.maximum(tree.path, 0), axis=2)
    total = jnp.sum(steps, axis=2, where=on_path)
    ends = jax.nn.logsumexp(logits[:, 1:, jnp.array(ENDINGS)], axis=-1) - normaliser[:, 1:]
    last = jnp.max(jnp.where(on_path, tree.path, -1), axis=2)
    ended = total + jnp.take_along_axis(ends, jnp.maximum(last, 0), axis=1)
    there = on_path[..., 0]
    return jnp.where(there, ended, -jnp.inf), jnp.where(there, total, -jnp.inf)


def next_token_probabilities(
    model: LanguageModel, context: Context, tokens: Sequence[int] | Array
) -> jax.Array:
    """p(token | prompt) for a few tokens: float32[B, len(tokens)]."""
    return jax.nn.softmax(model.unembed(context.hidden), axis=-1)[:, jnp.array(tokens)]


def text_log_probability(model: LanguageModel, prompts: Array, texts: Array, limits: Array) -> jax.Array:
    """Log-probability of texts after their prompts, with the end of the document where they have one.

    Args:
        prompts: int32[B, P], padded on the left.
        texts: int32[B, T], PAD from the end of the document on, as `lm.decoding.write` returns them.
        limits: int32[B], how many tokens a text might have; one that has as many does not end.

    Returns:
        float32[B]; 0 for a text of no tokens that might have none.
    """
    texts, place = jnp.asarray(texts), jnp.arange(texts.shape[1])
    length = (texts != PAD).sum(axis=1)
    said = jnp.where(place == length[:, None], EOS, texts)
    counted = (place <= length[:, None]) & (place < jnp.asarray(limits)[:, None])
    # The end of a document says nothing of what follows, so that padding behind it needs no care.
    whole = jnp.concatenate([jnp.asarray(prompts), texts], axis=1)
    real = jnp.concatenate([jnp.asarray(prompts) != PAD, jnp.ones_like(texts, bool)], axis=1)
    hidden, _ = model.hidden_states(whole, left_padded(jnp.where(real, 1, PAD)))
    before = jnp.asarray(prompts).shape[1] - 1
    logs = jax.nn.log_softmax(model.unembed(hidden[:, before:-1]), axis=-1)
    return jnp.sum(jnp.take_along_axis(logs, said[..., None], axis=2)[..., 0], axis=1, where=counted)
