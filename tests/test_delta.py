"""Edits as data: composing, folding and settling them, and what each kind does to the model."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from corpus.text.tokenizer import BOS, PAD, SEP
from lm.attention import left_padded_layout
from lm.decoding import generate
from lm.delta import (
    MATRICES,
    Codebook,
    LowRank,
    Prefix,
    Rows,
    add_to_carry,
    compose_deltas,
    empty_carry,
    fold_delta,
)
from lm.editors.lora.method import matrix_shape
from lm.language_model import LanguageModel
from lm.memory import Memory
from lm.prompts import left_pad
from lm.scoring import candidate_tree, object_log_probabilities
from tests.toys import SMALL, merged, random_model, read_whole

VOCABULARY, EDITS = 19, 3
PROMPTS = left_pad([np.array([BOS, *row]) for row in ([5, 6], [7, 8, 9, 5, 6], [8])], 7)


@pytest.fixture(scope="module")
def model():
    return random_model(VOCABULARY)


@jax.jit
def logits(model, tokens=PROMPTS):
    return model.logits(tokens, left_padded_layout(tokens))


# Compiled whole, which is far quicker than operation by operation.
carry = jax.jit(add_to_carry, static_argnums=2)
folded_of = jax.jit(partial(fold_delta, vocabulary=VOCABULARY))
look_up = jax.jit(Codebook.look_up)


def low_rank(name):
    def made(model, key):
        keys = jax.random.split(key)
        shapes = zip(keys, ((0, 2), (2, 1)), strict=True)
        sizes = {0: matrix_shape(SMALL, name)[0], 1: matrix_shape(SMALL, name)[1], 2: 2}
        a, b = (0.4 * jax.random.normal(k, (SMALL.layers, *(sizes[i] for i in s))) for k, s in shapes)
        return {name: LowRank(a, b)}

    return made


def rows(model, key):
    # Two of the tokens that are asked, one of them twice, and two entries that name none.
    return {"embedding": Rows(jnp.array([5, -1, 9, 5, -7]), jax.random.normal(key, (5, SMALL.hidden)))}


def weights(model, key):
    head, norm = jax.random.split(key)
    return {
        "weights": {
            "head": {"kernel": jax.random.normal(head, (SMALL.hidden, VOCABULARY))},
            "layers": {"mlp_norm": {"scale": jax.random.normal(norm, (SMALL.layers, SMALL.hidden))}},
        }
    }


def memory(model, key):
    """Vectors at two names that are asked, one the same in every edit, and at one that nobody says."""
    last = jax.random.choice(key, jnp.array([6, 8]))
    keys = jnp.array([[0, 8], [5, 6], [7, 7]]).at[0, 1].set(last)
    return {
        "memory": Memory(keys, jnp.array([BOS, SEP]), jax.random.normal(key, (SMALL.layers, 3, SMALL.hidden)))
    }


def codebook(model, key):
    """Of two entries: what an MLP reads of one prompt's last token, and something far away."""
    read = model.activations(PROMPTS, left_padded_layout(PROMPTS)).mlp_inputs
    number = jax.random.randint(key, (), 0, len(PROMPTS))
    keys = jnp.stack([read[:, number, -1], 100 + read[:, 0, -1]], axis=1)
    return {"codebook": Codebook(keys, jax.random.normal(key, keys.shape), jnp.full(keys.shape[:2], 0.3))}


def prefix(model, key):
    tokens = jnp.concatenate([jnp.array([BOS]), jax.random.randint(key, (4,), 5, VOCABULARY)])[None]
    cache = model.hidden_states(tokens, left_padded_layout(tokens))[1]
    return {"prefix": Prefix(cache, jnp.int32(BOS))}


KINDS = {
    "down": low_rank("down"),
    "query": low_rank("query"),
    "embedding": rows,
    "weights": weights,
    "memory": memory,
    "codebook": codebook,
    "prefix": prefix,
}


def everything(model, key):
    return {k: v for make in KINDS.values() for k, v in make(model, key).items()}


@pytest.mark.parametrize(
    "make",
    [
        everything,
        # Each for itself says only where it is wrong.
        *(pytest.param(make, marks=pytest.mark.slow) for make in KINDS.values()),
    ],
    ids=["everything", *KINDS],
)
def test_a_sequence_is_the_same_composed_folded_or_settled(make, model):
    """Three edits, and room for exactly three; after each, whatever way it is carried."""
    make, fold = jax.jit(make), jax.jit(lambda earlier, one: compose_deltas(earlier, folded_of(one)))
    deltas = [make(model, jax.random.key(i)) for i in range(EDITS)]
    carried, edited, folded = empty_carry(deltas[0], VOCABULARY, EDITS), model, {}
    before, nothing = logits(model), logits(model.with_delta(carried))
    if "prefix" in carried:
        # Slots that nobody sees still change the order in which attention adds up.
        np.testing.assert_allclose(nothing, before, rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(nothing, before)
    for i, delta in enumerate(deltas):
        shapes = jax.tree.map(jnp.shape, carried)
        carried, edited = carry(carried, delta, VOCABULARY, i), edited.with_delta(delta)
        folded = fold(folded, delta)
        assert jax.tree.map(jnp.shape, carried) == shapes
        after = logits(edited)
        np.testing.assert_allclose(logits(model.with_delta(carried)), after, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(logits(model.with_delta(folded)), after, rtol=1e-3, atol=1e-3)
        assert np.abs(after - before).max() > 0.03
        before = after


@pytest.mark.parametrize("name", MATRICES)
def test_a_low_rank_part_is_the_merged_weight(name, model):
    delta = jax.jit(low_rank(name))(model, jax.random.key(0))
    a, b = map(np.asarray, delta[name])
    other = LanguageModel(SMALL, merged(model.params, {name: a @ b}))
    np.testing.assert_allclose(logits(model.with_delta(delta)), logits(other), rtol=1e-3, atol=1e-3)
    folded = folded_of(delta)["weights"]
    again = LanguageModel(SMALL, merged(model.params, {name: jax.tree.leaves(folded)[0]}))
    np.testing.assert_allclose(logits(again), logits(other), rtol=1e-3, atol=1e-3)


ids = st.lists(st.integers(-3, VOCABULARY - 1), min_size=1, max_size=8)


@hypothesis_settings(max_examples=25)
@given(ids, st.integers(0, 99))
def test_rows_add_to_a_table_whatever_their_tokens(tokens, seed):
    values = np.random.default_rng(seed).normal(size=(len(tokens), 3)).astype(np.float32)
    table = np.zeros((VOCABULARY, 3), np.float32)
    for token, value in zip(tokens, values, strict=True):
        if token >= 0:
            table[token] += value
    got = folded_of({"embedding": Rows(np.array(tokens), values)})
    np.testing.assert_allclose(got["weights"]["embedding"], table, atol=1e-5)


def test_rows_move_no_other_token(model):
    delta = {"embedding": Rows(jnp.array([5, -1, PAD]), jnp.ones((3, SMALL.hidden)))}
    moved = (np.asarray(logits(model.with_delta(delta))) != logits(model))[:, -1].any(1)
    assert moved.tolist() == [True, True, False]


@hypothesis_settings(max_examples=40)
@given(st.integers(1, 5), st.integers(0, 10**6))
def test_the_nearest_of_the_latest_keys_decides(entries, seed):
    """Against a loop over entries; keys repeat, so that ties happen."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 3, (entries, 2)).astype(np.float32)
    book = Codebook(keys, rng.normal(size=(entries, 4)).astype(np.float32), rng.integers(-1, 3, entries))
    x, out = rng.integers(0, 3, (1, 6, 2)).astype(np.float32), rng.normal(size=(1, 6, 4)).astype(np.float32)
    expected = out.copy()
    for t in range(6):
        distance = [float(np.sqrt(((x[0, t] - key) ** 2).sum())) for key in keys]
        inside = [n for n in range(entries) if distance[n] <= book.radius[n]]
        if inside:
            least = min(distance[n] for n in inside)
            expected[0, t] = book.values[max(n for n in inside if distance[n] == least)]
    np.testing.assert_array_equal(look_up(book, x, out), expected)


def continued(model, text, prompt):
    """What follows "<s> text prompt", read whole."""
    return np.asarray(read_whole(model, np.concatenate([[BOS], text, prompt])[None]))[0, -1]


def prefix_of(model, text):
    tokens = np.concatenate([[BOS], text])[None]
    return {"prefix": Prefix(cached(model, tokens), jnp.int32(BOS))}


@jax.jit
def cached(model, tokens):
    return model.hidden_states(tokens, left_padded_layout(tokens))[1]


@pytest.mark.slow  # What in-context editing makes of it is asked by default: tests/test_in_context.py.
def test_prompts_behind_a_prefix_are_the_whole_text(model):
    """Prompts of different lengths, padded on the left: what is next, generated, and of candidates."""
    text = np.array([9, 11, 12, 5])
    edited = model.with_delta(prefix_of(model, text))
    prompts = [row[row != PAD][1:] for row in PROMPTS]
    got = logits(edited)
    context = edited.read_prompts(PROMPTS)
    candidates = [[5], [6, 7], [6, 8, 9]]
    tree = jax.tree.map(lambda x: np.stack([x] * 3), candidate_tree(candidates, 6, 3, 3))
    scored = jax.jit(object_log_probabilities)
    generated = jax.jit(generate, static_argnums=2)
    scores = scored(edited, context, tree)[0]
    wholes = left_pad([np.concatenate([[BOS], text, p]) for p in prompts], 12)
    plain = model.read_prompts(wholes)
    for i, prompt in enumerate(prompts):
        np.testing.assert_allclose(got[i, -1], continued(model, text, prompt), rtol=1e-3, atol=1e-4)
        assert np.abs(got[i, -1] - logits(model)[i, -1]).max() > 0.05
    np.testing.assert_allclose(scores, scored(model, plain, tree)[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(generated(edited, context, 5), generated(model, plain, 5))
    np.testing.assert_array_equal(context.position, plain.position)


def test_two_prefixes_are_one_text(model):
    """The second is read behind the first, and both together behind each other are the concatenation."""
    first, second = np.array([9, 11, 12]), np.array([5, 13])
    once = model.with_delta(prefix_of(model, first))
    tokens = np.concatenate([[BOS], second])[None]
    cache = cached(once, tokens)
    twice = once.with_delta({"prefix": Prefix(cache.last_tokens(tokens.shape[1]), jnp.int32(BOS))})
    got = logits(twice)
    for i, row in enumerate(PROMPTS):
        expected = continued(model, np.concatenate([first, second]), row[row != PAD][1:])
        np.testing.assert_allclose(got[i, -1], expected, rtol=1e-3, atol=1e-4)


def test_rows_of_several_documents_each_stand_behind_the_prefix(model):
    text = np.array([9, 11])
    row = np.array([[BOS, 5, 6, 7, BOS, 8, 9, PAD]])
    edited = model.with_delta(prefix_of(model, text))
    got = np.asarray(read_whole(edited, row))[0]
    np.testing.assert_allclose(got[3], continued(model, text, [5, 6, 7]), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(got[6], continued(model, text, [8, 9]), rtol=1e-3, atol=1e-4)


def test_a_prefix_that_holds_nothing_hides_no_beginning(model):
    empty = Prefix(prefix_of(model, [5])["prefix"].cache.make_blank(4), jnp.int32(BOS))
    layout = left_padded_layout(PROMPTS)
    moved, _ = empty.place(PROMPTS, layout)
    jax.tree.map(np.testing.assert_array_equal, moved, layout)
