"""A tree of texts: every beginning once, and each node sees what its texts had before it."""

import jax
import numpy as np
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from lm.language_model import LanguageModel
from lm.token_tree import build_token_tree, list_beginnings
from tests.toys import random_model

VOCABULARY = 9
texts = st.lists(st.lists(st.integers(5, VOCABULARY - 1), max_size=4), max_size=8)
MODEL = random_model(VOCABULARY)


@given(texts, st.integers(0, 5))
def test_every_beginning_is_one_node(rows, more):
    tree, paths = build_token_tree(rows)
    assert len(tree.tokens) == len(list_beginnings(rows))
    for row, path in zip(rows, paths, strict=True):
        assert tree.tokens[path].tolist() == row
        assert tree.depth[path].tolist() == [*range(len(row))]
    padded = tree.pad_to(len(tree.tokens) + more)
    layout = jax.tree.map(lambda x: np.asarray(x)[0], jax.tree.map(lambda x: x[None], padded).layout(7))
    sees = np.eye(len(padded.tokens), dtype=bool)
    for path in paths:
        for i, node in enumerate(path):
            sees[node, path[: i + 1]] = True
    np.testing.assert_array_equal(layout.mask, sees)
    np.testing.assert_array_equal(layout.positions, 7 + padded.depth)
    assert layout.real.sum() == len(tree.tokens)


hidden_states = jax.jit(LanguageModel.hidden_states)


@hypothesis_settings(max_examples=15)
@given(texts.filter(any))
def test_texts_are_read_as_if_alone(rows):
    tree, paths = build_token_tree(rows)
    trees = jax.tree.map(lambda x: x[None], tree.pad_to(32))
    together, _ = hidden_states(MODEL, trees.tokens, trees.layout())
    for row, path in zip(rows, paths, strict=True):
        if not row:
            continue
        line = jax.tree.map(lambda x: x[None], build_token_tree([row])[0].pad_to(4))
        alone, _ = hidden_states(MODEL, line.tokens, line.layout())
        np.testing.assert_allclose(together[0, path], alone[0, : len(row)], rtol=1e-3, atol=1e-4)
