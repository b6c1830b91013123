"""Names found by a search are as probable as when each is read by itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from corpus.text.tokenizer import BOS
from lm.config import ModelConfig
from lm.editors.self_bayes.beliefs import want_names
from lm.name_search import name_probabilities, name_tree, widest_level
from lm.prompts import left_pad
from lm.scoring import ENDINGS, candidate_tree, object_log_probabilities, tree_size
from tests import naive
from tests.toys import random_model, spelt_world

TINY = ModelConfig(hidden=14, mlp=11, layers=1, heads=7, kv_heads=7, head_width=2)
VOCABULARY = 11
PROMPTS = [[BOS, 5, 6], [BOS, 9]]

names = st.lists(st.lists(st.integers(5, 9), min_size=1, max_size=3), min_size=1, max_size=8, unique_by=tuple)


@pytest.fixture(scope="module")
def model():
    # So large that some names are far more probable than others.
    return random_model(VOCABULARY, TINY, times=12)


def search(model, rows, width=None, is_wanted=None, with_ending=True):
    tree = name_tree(rows)
    if is_wanted is not None:
        tree = want_names(tree, is_wanted)
    prompts = left_pad([np.array(prompt) for prompt in PROMPTS], 4)
    found = name_probabilities(
        model, prompts, tree, len(rows), width or widest_level(tree), with_ending=with_ending
    )
    return np.asarray(found[0])


def read_one_by_one(model, rows, with_ending=True):
    """A name of one token with which no other begins is read without its ending."""

    def next_token(tokens):
        return naive.probabilities(naive.forward(TINY, model.params, np.array(tokens)))[-1]

    def needs_ending(row):
        return with_ending and (len(row) > 1 or any(other[:1] == row for other in rows if other != row))

    return np.array(
        [
            [
                naive.object_probability(next_token, prompt, row, ENDINGS)
                if needs_ending(row)
                else np.prod([next_token([*prompt, *row[:i]])[row[i]] for i in range(len(row))])
                for row in rows
            ]
            for prompt in PROMPTS
        ]
    )


@hypothesis_settings(max_examples=5)
@given(names, st.booleans())
def test_a_wide_search_reads_every_name(model, rows, with_ending):
    found = search(model, rows, with_ending=with_ending)
    np.testing.assert_allclose(found, read_one_by_one(model, rows, with_ending), rtol=2e-3, atol=1e-9)


def test_names_of_several_tokens(world):
    """Names are told apart by their endings, as everywhere else, where one may begin another."""
    words = spelt_world(world)
    model = random_model(words.tokenizer.vocabulary)
    subjects = [words.tokenizer.entity(int(s)) for s in words.graph.subjects[:3]]
    prompts = left_pad([np.append(BOS, s) for s in subjects], 1 + max(map(len, subjects)))
    objects = [tuple(words.tokenizer.entity(int(o)).tolist()) for o in words.graph.objects[:9]]
    objects = sorted({*objects, objects[0][:1]})
    names_of_world = name_tree(objects)
    scores = np.asarray(
        name_probabilities(model, prompts, names_of_world, len(objects), widest_level(names_of_world))[0]
    )
    rows = [np.array(o) for o in objects]
    tree = candidate_tree(rows, tree_size(rows), len(rows), max(map(len, rows)))
    lines = jax.tree.map(lambda x: jnp.repeat(jnp.asarray(x)[None], len(prompts), axis=0), tree)
    wanted, begun = jax.jit(lambda p, c: object_log_probabilities(model, model.read_prompts(p), c))(
        prompts, lines
    )
    single = np.array([len(o) == 1 and sum(x[0] == o[0] for x in objects) == 1 for o in objects])
    np.testing.assert_allclose(scores[:, ~single], np.exp(wanted)[:, ~single], rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(scores[:, single], np.exp(begun)[:, single], rtol=1e-4, atol=1e-7)


@hypothesis_settings(max_examples=5)
@given(names, st.integers(1, 3))
def test_a_narrow_search_leaves_out_what_begins_improbably(model, rows, width):
    found, wide = search(model, rows, width), search(model, rows)
    assert ((found == 0) | np.isclose(found, wide, rtol=1e-4)).all()
    beginnings = [[row[:n] for row in rows if len(row) >= n] for n in (1, 2, 3)]
    for which, prompt in enumerate(PROMPTS):
        for row in (row for row, p in zip(rows, found[which], strict=True) if p == 0):
            assert any(
                count_more_probable(model, prompt, row[:n], beginnings[n - 1]) >= width
                for n in range(1, len(row) + 1)
            )


def count_more_probable(model, prompt, own, beginnings):
    """How many of some beginnings are about as probable as one of them or more."""

    def probability(row):
        p = [
            naive.probabilities(naive.forward(TINY, model.params, np.array([*prompt, *row[:i]])))[-1][row[i]]
            for i in range(len(row))
        ]
        return np.prod(p)

    others = {tuple(row) for row in beginnings} - {tuple(own)}
    return sum(probability(list(row)) > 0.999 * probability(own) for row in others)


@hypothesis_settings(max_examples=5)
@given(names, st.data())
def test_only_wanted_names_are_read(model, rows, data):
    is_wanted = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    found = search(model, rows, is_wanted=is_wanted)
    assert (found[:, ~is_wanted] == 0).all()
    np.testing.assert_allclose(found[:, is_wanted], search(model, rows)[:, is_wanted], rtol=1e-4)
