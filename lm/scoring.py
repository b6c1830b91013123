"""Probabilities of whole objects and of single words after a prompt (design.md 4).

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

from corpus.text.tokenizer import EOS, PAD, SEP
from lm.attention import Array, left_padded_layout
from lm.language_model import Context, LanguageModel
from lm.token_tree import Text, TokenTree, build_token_tree, list_beginnings

ENDINGS = (SEP, EOS)


class CandidateTree(NamedTuple):
    """The tokens of several candidates as one tree behind a prompt; padded to fixed sizes.

    Attributes:
        tree: of the candidates' tokens, int32[nodes].
        path: int32[candidates, longest], the nodes of each candidate in order, -1 as padding.
    """

    tree: TokenTree
    path: Array


def candidate_tree(rows: Sequence[Text], nodes: int, candidates: int, longest: int) -> CandidateTree:
    """The tree of the given token rows, padded to `nodes`, `candidates` and `longest`."""
    tree, paths = build_token_tree(rows)
    path = np.full((candidates, longest), -1, np.int32)
    for row, nodes_of_it in zip(path, paths, strict=False):
        row[: len(nodes_of_it)] = nodes_of_it
    return CandidateTree(tree.pad_to(nodes), path)


def tree_size(rows: Sequence[Text]) -> int:
    """Number of nodes the tree of these rows has."""
    return len(list_beginnings(rows))


def object_log_probabilities(
    model: LanguageModel, context: Context, candidates: CandidateTree
) -> tuple[jax.Array, jax.Array]:
    """Log p(o | prompt) of every candidate, with the object's ending and without.

    Args:
        context: B prompts that were read.
        candidates: arrays with a leading axis B.

    Returns:
        Twice float32[B, candidates], as of `path_log_probabilities`. `jax.nn.log_softmax` of the first is the
        distribution over the candidates.
    """
    tree, path = candidates.tree, jnp.asarray(candidates.path)
    hidden, _ = model.hidden_states(tree.tokens, tree.layout(context.position), (context.cache,))
    # Logits only where something follows: at the end of the prompt (first) and at each node.
    logits = model.unembed(jnp.concatenate([context.hidden[:, None], hidden], axis=1))
    tokens = jnp.pad(jnp.asarray(tree.tokens), ((0, 0), (1, 0)))
    behind = jnp.where(path < 0, -1, 1 + path)
    return jax.vmap(path_log_probabilities)(logits, tokens, jnp.pad(behind, ((0, 0), (0, 0), (1, 0))))


def path_log_probabilities(
    logits: jax.Array, tokens: jax.Array, path: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Log-probabilities of candidates that stand in a tree, with their ending and without.

    Args:
        logits: float32[places, V], of what follows at each place.
        tokens: int32[places], what stands there.
        path: int32[..., 1 + longest], the place that a candidate goes on from, then those of its tokens; -1
            as padding.

    Returns:
        Twice float32[...], minus infinity for a candidate without tokens: the probability that it stands
        there and ends; and, as Hase et al., that it stands there, so that an object with which another one
        begins has the other's mass too.
    """
    normaliser = jax.nn.logsumexp(logits, axis=-1)
    before, place = path[..., :-1], path[..., 1:]
    there = place >= 0
    total = jnp.sum(logits[before, tokens[place]] - normaliser[before], axis=-1, where=there)
    ends = jax.nn.logsumexp(logits[:, jnp.array(ENDINGS)], axis=-1) - normaliser
    last = jnp.take_along_axis(path, there.sum(axis=-1, keepdims=True), axis=-1)[..., 0]
    some = there[..., 0]
    return jnp.where(some, total + ends[last], -jnp.inf), jnp.where(some, total, -jnp.inf)


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
    targets = jnp.where(place == length[:, None], EOS, texts)
    is_counted = (place <= length[:, None]) & (place < jnp.asarray(limits)[:, None])
    # The end of a document says nothing of what follows, so that padding behind it needs no care.
    tokens = jnp.concatenate([jnp.asarray(prompts), texts], axis=1)
    real = jnp.concatenate([jnp.asarray(prompts) != PAD, jnp.ones_like(texts, bool)], axis=1)
    hidden, _ = model.hidden_states(tokens, left_padded_layout(jnp.where(real, 1, PAD)))
    before = jnp.asarray(prompts).shape[1] - 1
    logs = jax.nn.log_softmax(model.unembed(hidden[:, before:-1]), axis=-1)
    return jnp.sum(jnp.take_along_axis(logs, targets[..., None], axis=2)[..., 0], axis=1, where=is_counted)
