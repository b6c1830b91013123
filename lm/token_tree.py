"""Texts as one tree of tokens: what begins alike is read once, in one pass of a model.

Nodes are numbered so that all that goes on from a node directly follows it. Who sees whom is known from one
number for each node then: the end of what goes on from it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from corpus.text.tokenizer import PAD
from lm.attention import Array, Layout

Text = Sequence[int] | np.ndarray


class TokenTree(NamedTuple):
    """N nodes; arrays may lead with further axes.

    Attributes:
        tokens: int32[N], PAD where unused.
        depth: int32[N], how many nodes are before each in its texts.
        end: int32[N], one more than the last node that goes on from each.
    """

    tokens: Array
    depth: Array
    end: Array

    def pad_to(self, nodes: int) -> "TokenTree":
        """A tree of so many nodes, of which those behind its own are of no text."""
        own = np.arange(len(self.tokens), nodes, dtype=np.int32)
        behind = TokenTree(np.full_like(own, PAD), np.zeros_like(own), own + 1)
        return TokenTree(*(np.concatenate(parts) for parts in zip(self, behind, strict=True)))

    def layout(self, begin: Array | int = 0) -> Layout:
        """Who sees whom in int32[B, N] trees, whose texts go on from positions int32[B]."""
        tokens, depth, end = map(jnp.asarray, self)
        node = jnp.arange(tokens.shape[1])
        sees = (node[:, None] >= node) & (node[:, None] < end[:, None, :])
        return Layout(jnp.reshape(begin, (-1, 1)) + depth, sees, tokens != PAD)


def build_token_tree(texts: Sequence[Text]) -> tuple[TokenTree, list[np.ndarray]]:
    """The tree of some texts, and for each text its nodes in order."""
    rows = [tuple(map(int, text)) for text in texts]
    tokens: list[int] = []
    depth: list[int] = []
    end = np.zeros(sum(map(len, rows)), np.int32)
    paths = [np.empty(0, int)] * len(rows)
    before: tuple[int, ...] = ()
    path = np.empty(0, int)
    for i in sorted(range(len(rows)), key=rows.__getitem__):
        row, shared = rows[i], len(path)
        while row[:shared] != before[:shared]:
            shared -= 1
        path = np.concatenate([path[:shared], np.arange(len(tokens), len(tokens) + len(row) - shared)])
        tokens += row[shared:]
        depth += range(shared, len(row))
        end[path] = len(tokens)
        before, paths[i] = row, path
    return TokenTree(np.array(tokens, np.int32), np.array(depth, np.int32), end[: len(tokens)]), paths


def list_beginnings(texts: Sequence[Text]) -> set[tuple[int, ...]]:
    """What the texts begin with, one for each node of their tree."""
    return {row[: i + 1] for row in (tuple(map(int, text)) for text in texts) for i in range(len(row))}
