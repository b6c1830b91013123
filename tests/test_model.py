"""The decoder against its naive twin, and what packing and deltas may and may not do."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from corpus.text.tokenizer import BOS, EOS, PAD, SEP
from lm.attention import LONG, Layout, attend, left_padded_layout
from lm.config import ModelConfig
from lm.decoding import generate
from lm.delta import LowRank
from lm.language_model import LanguageModel
from lm.model import init_params
from lm.prompts import left_pad
from lm.scoring import ENDINGS, candidate_tree, object_log_probabilities, tree_size
from testbed.run.model import shape_to_edit
from tests import naive
from tests.toys import SMALL as TINY
from tests.toys import merged, random_model, read_left_padded, read_whole

VOCABULARY = 19


@pytest.fixture(scope="module")
def params():
    # Larger weights than at the start of training, so that attention is far from uniform.
    return jax.tree.map(
        lambda x: x * 12 if (x.ndim > 1 and x.shape[-1] != TINY.hidden) or x.ndim > 2 else x,
        jax.tree.map(np.asarray, random_model(VOCABULARY, times=1).params),
    )


# Compiled whole, which is quicker than operation by operation.
read, scored = jax.jit(LanguageModel.read_prompts), jax.jit(object_log_probabilities)


def documents(rng, count):
    return [np.array([BOS, *rng.integers(5, VOCABULARY, rng.integers(1, 9)), EOS]) for _ in range(count)]


def logits_of(params, tokens, delta=None):
    return np.asarray(read_whole(LanguageModel(TINY, params, delta), tokens))


def test_equals_the_naive_twin(params):
    for document in documents(np.random.default_rng(0), 3):
        got = logits_of(params, document[None])[0]
        np.testing.assert_allclose(got, naive.forward(TINY, params, document), rtol=2e-4, atol=2e-5)


VARIANTS = {
    "grouped queries": replace(TINY, heads=6, kv_heads=2),
    "one head of keys": replace(TINY, kv_heads=1),
    "a window": replace(TINY, window=3),
    "a head width of its own": replace(TINY, heads=3, kv_heads=3, head_width=6),
    "stretched waves": replace(TINY, head_width=10, rope_theta=10.0, rope_scaling=(4.0, 1.0, 3.0, 20.0)),
    "all of it": replace(
        TINY, heads=6, kv_heads=3, head_width=4, window=4, rope_scaling=(8.0, 1.0, 4.0, 8.0), unroll=3
    ),
}


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
def test_variants_equal_the_naive_twin(config):
    model = random_model(VOCABULARY, config, 1, times=12)
    document = np.array([BOS, *np.random.default_rng(0).integers(5, VOCABULARY, 9), EOS])
    expected = naive.forward(config, model.params, document)
    np.testing.assert_allclose(read_whole(model, document[None])[0], expected, rtol=2e-3, atol=2e-4)


def test_packing_changes_nothing(params):
    some = documents(np.random.default_rng(1), 4)
    row = np.concatenate([*some, [PAD] * 3])[None]
    packed, at = logits_of(params, row)[0], 0
    for document in some:
        alone = logits_of(params, document[None])[0]
        np.testing.assert_allclose(packed[at : at + len(document)], alone, rtol=1e-4, atol=1e-5)
        at += len(document)


@pytest.mark.parametrize(
    "name", [n if n == "all of it" else pytest.param(n, marks=pytest.mark.slow) for n in VARIANTS]
)
def test_reading_in_two_parts_equals_reading_at_once(name):
    """The second part sees the first through the cache, behind padding that nobody sees."""
    config = VARIANTS[name]
    model = random_model(VOCABULARY, config, 2, times=12)
    rows = [np.array([BOS, *np.random.default_rng(i).integers(5, 19, 6 + i)]) for i in range(3)]
    whole = left_pad(rows, 11)
    hidden_states = jax.jit(LanguageModel.hidden_states)
    expected, _ = hidden_states(model, whole, left_padded_layout(whole))
    first, second = whole[:, :7], whole[:, 7:]
    layout = left_padded_layout(whole)
    head = Layout(layout.positions[:, :7], layout.mask[:, :7, :7], layout.real[:, :7])
    tail = Layout(layout.positions[:, 7:], layout.mask[:, 7:, 7:], layout.real[:, 7:])
    _, past = hidden_states(model, first, head)
    got, _ = hidden_states(model, second, tail, (past,))
    np.testing.assert_allclose(got, expected[:, 7:], rtol=1e-3, atol=1e-4)


def test_left_padding_changes_nothing(params):
    rows = [d[:-1] for d in documents(np.random.default_rng(2), 5)]
    padded = left_pad([*rows, np.empty(0, int)], 11)
    got = np.asarray(read_left_padded(LanguageModel(TINY, params), padded))[:, -1]
    assert np.isfinite(got).all()
    for i, row in enumerate(rows):
        np.testing.assert_allclose(got[i], logits_of(params, row[None])[0, -1], rtol=1e-4, atol=1e-5)


def test_the_future_is_not_seen(params):
    document = documents(np.random.default_rng(3), 1)[0]
    changed = document.copy()
    changed[-1] = 7
    np.testing.assert_array_equal(
        logits_of(params, document[None])[0, :-1], logits_of(params, changed[None])[0, :-1]
    )


def test_the_papers_size():
    assert ModelConfig().parameters(32_000) == 83_112_448
    shapes = jax.eval_shape(lambda: init_params(ModelConfig(), 32_000, 0))
    assert sum(x.size for x in jax.tree.leaves(shapes)) == 83_112_448


def test_unrolling_changes_nothing(params):
    document = documents(np.random.default_rng(4), 1)[0][None]
    unrolled = replace(TINY, unroll=3)
    other = read_whole(LanguageModel(unrolled, params), document)
    np.testing.assert_allclose(logits_of(params, document), other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("device", "layers"), [("cpu", 3), ("gpu", 1)])
def test_edits_are_compiled_a_layer_at_a_time_on_a_gpu(device, layers, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: device)
    unrolled = replace(TINY, unroll=3)
    assert shape_to_edit(unrolled) == replace(unrolled, unroll=layers)


def test_a_delta_of_zero_is_bit_identical(params):
    document = documents(np.random.default_rng(5), 1)[0][None]
    a = np.float32(np.random.default_rng(0).normal(size=(3, 11, 2)))
    nothing = {"down": LowRank(a, np.zeros((3, 2, 14), np.float32))}
    np.testing.assert_array_equal(logits_of(params, document), logits_of(params, document, nothing))


def test_a_delta_is_the_merged_weight(params):
    document = documents(np.random.default_rng(6), 1)[0][None]
    rng = np.random.default_rng(0)
    a, b = (np.float32(0.3 * rng.normal(size=shape)) for shape in [(3, 11, 2), (3, 2, 14)])
    expected = logits_of(merged(params, {"down": a @ b}), document)
    got = logits_of(params, document, {"down": LowRank(a, b)})
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def next_token(params):
    return lambda tokens: naive.probabilities(naive.forward(TINY, params, np.array(tokens)))[-1]


names = st.lists(st.lists(st.integers(5, 9), min_size=1, max_size=3), min_size=1, max_size=6, unique_by=tuple)


@hypothesis_settings(max_examples=8)
@given(names, st.lists(st.integers(5, 9), min_size=1, max_size=4))
def test_tree_scores_equal_one_by_one(params, rows, prompt):
    prompt = [BOS, *prompt]
    tree = candidate_tree(rows, 20, 7, 3)
    batched = jax.tree.map(lambda x: x[None], tree)
    model = LanguageModel(TINY, params)
    context = read(model, left_pad([np.array(prompt)], 6))
    got = np.exp(scored(model, context, batched)[0])[0]
    assert (got[len(rows) :] == 0).all()
    expected = [naive.object_probability(next_token(params), prompt, row, ENDINGS) for row in rows]
    np.testing.assert_allclose(got[: len(rows)], expected, rtol=2e-3, atol=1e-9)
    assert tree_size(rows) == len({tuple(row[:i]) for row in rows for i in range(1, len(row) + 1)})


def test_scores_without_an_ending(params):
    """As Hase et al. define it: the product over the object's tokens alone."""
    rows, prompt = [[5], [5, 6], [7, 8]], [BOS, 9]
    tree = jax.tree.map(lambda x: x[None], candidate_tree(rows, 4, 3, 2))
    model = LanguageModel(TINY, params)
    got = np.exp(scored(model, read(model, np.array([prompt])), tree)[1])[0]
    p = next_token(params)
    expected = [p(prompt)[5], p(prompt)[5] * p([*prompt, 5])[6], p(prompt)[7] * p([*prompt, 7])[8]]
    np.testing.assert_allclose(got, expected, rtol=2e-3)


def test_objects_that_are_prefixes_share_no_mass(params):
    """All strings of up to two tokens, ending included, are disjoint events."""
    rows = [[t] for t in range(VOCABULARY)] + [[t, u] for t in range(VOCABULARY) for u in range(VOCABULARY)]
    rows = [row for row in rows if not {SEP, EOS} & set(row)]
    tree = candidate_tree(rows, tree_size(rows), len(rows), 2)
    prompt = np.array([[BOS, 5, 6]])
    model = LanguageModel(TINY, params)
    logs, _ = scored(model, read(model, prompt), jax.tree.map(lambda x: x[None], tree))
    assert 0 < np.exp(logs).sum() <= 1 + 1e-5


@pytest.mark.parametrize("longest", [1, 2, 7])
@pytest.mark.parametrize("window", [0, 3])
def test_greedy_takes_the_most_probable_token(params, window, longest):
    prompts = [np.array([BOS, 5, 6]), np.array([BOS, 7, 8, 9, 10])]
    model = LanguageModel(replace(TINY, window=window), params)
    generated = jax.jit(generate, static_argnums=2)
    tokens = np.asarray(generated(model, read(model, left_pad(prompts, 5)), longest))
    assert tokens.shape == (2, longest)
    for row, prompt in zip(tokens, prompts, strict=True):
        said = list(prompt)
        for token in row:
            best = int(np.argmax(naive.forward(model.config, params, np.array(said))[-1]))
            if best in ENDINGS:
                assert token == PAD
                break
            assert token == best
            said.append(best)


def test_next_token_probabilities(params):
    prompts = [np.array([BOS, 5, 6]), np.array([BOS, 7])]
    model = LanguageModel(TINY, params)
    got = jax.nn.softmax(model.unembed(read(model, left_pad(prompts, 4)).hidden), axis=-1)
    expected = [next_token(params)(p) for p in prompts]
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize(
    "wrong", [{"head_width": 3}, {"heads": 3, "kv_heads": 2}, {"layers": 0}, {"mlp": -1}, {"window": -1}]
)
def test_impossible_shapes_are_refused(wrong):
    with pytest.raises(ValueError, match="must"):
        ModelConfig(**wrong)


@pytest.mark.parametrize(("tokens", "by_cudnn"), [(12, False), (LONG, True)])
def test_on_a_gpu_cudnn_attends_in_long_rows_alone(monkeypatch, tokens, by_cudnn):
    called = []

    def attend_by_cudnn(query, key, value, mask, implementation):
        called.append(implementation)
        return query

    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax.nn, "dot_product_attention", attend_by_cudnn)
    query = jnp.ones((1, tokens, 2, 8), jnp.bfloat16)
    keys = jnp.ones((1, 2, tokens, 8), jnp.bfloat16)
    mask = jnp.ones((1, tokens, tokens), bool)
    assert attend(query, keys, keys, mask).shape == query.shape
    assert bool(called) == by_cudnn
