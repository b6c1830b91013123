"""The battery that every editor passes (DESIGN 7). A new editor joins by being listed in EDITORS."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from lm.editors.lora_down import LoraDown

from corpus.tokenizer import BOS, SEP
from lm.attention import packed
from lm.config import LoraDownConfig, ModelConfig
from lm.editors.interface import Request, edit_batch, requests
from lm.language_model import LanguageModel
from lm.model import init

MODEL = ModelConfig(hidden=14, mlp=11, layers=2, heads=7, kv_heads=7, head_width=2)
LEARNING_RATE = 0.02
EDITORS = {
    "lora-down": LoraDown(LoraDownConfig(learning_rate=LEARNING_RATE)),
    "lora-down, rank 3": LoraDown(LoraDownConfig(rank=3, learning_rate=LEARNING_RATE)),
}


@pytest.fixture(scope="module", params=EDITORS)
def editor(request):
    return EDITORS[request.param]


@pytest.fixture(scope="module")
def setup(world):
    graph, tokenizer = world.graph, world.tokenizer
    params = jax.tree.map(lambda x: 4 * x if x.ndim > 1 else x, init(MODEL, tokenizer.vocabulary, 0))
    rng = np.random.default_rng(0)
    picked = rng.choice(len(graph), 5, replace=False)
    facts = [(int(graph.subject[i]), int(graph.relation[i]), int(rng.choice(graph.objects))) for i in picked]
    batch = requests(tokenizer, facts, np.ones(5), np.full(5, 0.95))
    return params, batch, jax.random.split(jax.random.key(0), 5)


def one(tree, i):
    return jax.tree.map(lambda x: x[i], tree)


def loss_of(params, request, delta):
    tokens = request.tokens[None]
    logits = LanguageModel(MODEL, params, delta).logits(tokens, packed(tokens, BOS))[0, :-1]
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, tokens[0, 1:])
    return float(losses[request.target[1:]].sum())


def test_the_request_becomes_more_probable(editor, setup):
    params, batch, keys = setup
    state = editor.prepare(LanguageModel(MODEL, params), np.zeros((2, 8), np.int32))
    deltas, info = edit_batch(editor, LanguageModel(MODEL, params), state, batch, keys)
    for i in range(5):
        request = one(batch, i)
        before, after = (loss_of(params, request, d) for d in (None, one(deltas, i)))
        assert after < before
        assert info.loss[i][0] == pytest.approx(before / request.target.sum(), rel=1e-4)
    assert (np.asarray(info.steps) > 0).all()
    lengths = (np.asarray(batch.tokens) != 0).sum(1)
    np.testing.assert_array_equal(info.backward, lengths * np.asarray(info.steps))


def test_side_by_side_equals_one_by_one(editor, setup):
    params, batch, keys = setup
    # In double precision, since Adam's first steps turn the sign of a rounding error into a step.
    with jax.enable_x64(True):
        params = jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), params)
        deltas, _ = edit_batch(editor, LanguageModel(MODEL, params), {}, batch, keys)
        alone = jax.jit(lambda r, k: editor.edit(LanguageModel(MODEL, params), {}, r, k)[0])
        for i in range(5):
            jax.tree.map(
                lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9),
                one(deltas, i),
                alone(one(batch, i), keys[i]),
            )


def test_same_seed_same_delta_and_parameters_untouched(editor, setup):
    params, batch, keys = setup
    before = jax.tree.map(np.array, params)
    first, second = (edit_batch(editor, LanguageModel(MODEL, params), {}, batch, keys)[0] for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, first, second)
    jax.tree.map(np.testing.assert_array_equal, before, params)


def test_a_sweep_compiles_once(editor, setup):
    params, batch, keys = setup
    edit_batch(editor, LanguageModel(MODEL, params), {}, batch, keys)
    compiled = edit_batch._cache_size()
    for shift in range(3):
        rolled = jax.tree.map(lambda x, by=shift: np.roll(x, by, axis=0), batch)
        edit_batch(editor, LanguageModel(MODEL, params), {}, rolled, keys)
    assert edit_batch._cache_size() == compiled


def test_the_start_of_an_edit_is_the_unedited_model(setup):
    """One step at a vanishing learning rate leaves the logits as they are."""
    params, batch, keys = setup
    still = LoraDown(LoraDownConfig(learning_rate=1e-30, weight_decay=0.0, steps=1))
    deltas, _ = edit_batch(still, LanguageModel(MODEL, params), {}, batch, keys)
    tokens = batch.tokens[:1]
    plain = LanguageModel(MODEL, params).logits(tokens, packed(tokens, BOS))
    edited = LanguageModel(MODEL, params, one(deltas, 0)).logits(tokens, packed(tokens, BOS))
    np.testing.assert_allclose(plain, edited, atol=1e-6)


def test_lora_down_equals_training_a_merged_weight(setup):
    """The naive twin: merge W + scale * A B, differentiate through the merge, step by step."""
    params, batch, keys = setup
    recipe = LoraDownConfig(rank=2, alpha=6.0, learning_rate=LEARNING_RATE, steps=5)
    request, scale = one(batch, 3), 3.0
    tokens, target = request.tokens[None], np.flatnonzero(request.target)
    with jax.enable_x64(True):
        params = jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), params)
        deltas, _ = edit_batch(LoraDown(recipe), LanguageModel(MODEL, params), {}, batch, keys)
        weight = params["layers"]["mlp"]["down"]["kernel"]

        def loss(adapter):
            merged = jax.tree.map(lambda x: x, params)
            product = jnp.einsum("lfr,lrd->lfd", adapter["a"], adapter["b"])
            merged["layers"]["mlp"]["down"]["kernel"] = weight + scale * product
            p = jax.nn.log_softmax(LanguageModel(MODEL, merged).logits(tokens, packed(tokens, BOS))[0])
            return -jnp.mean(jnp.stack([p[t - 1, request.tokens[t]] for t in target]))

        adapter = {"a": LoraDown(recipe)._start(MODEL, keys[3]).a, "b": jnp.zeros((2, 2, 14))}
        optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(LEARNING_RATE, weight_decay=1e-4))
        moments, gradient = optimizer.init(adapter), jax.jit(jax.grad(loss))
        for _ in range(5):
            update, moments = optimizer.update(gradient(adapter), moments, adapter)
            adapter = optax.apply_updates(adapter, update)
        np.testing.assert_allclose(deltas["down"].a[3], adapter["a"], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(deltas["down"].b[3], scale * adapter["b"], rtol=1e-6, atol=1e-9)


def test_requests_spell_their_facts(world):
    tokenizer, graph = world.tokenizer, world.graph
    fact = (int(graph.subject[0]), int(graph.relation[0]), int(graph.objects[2]))
    request = one(requests(tokenizer, [fact], [7.0], [0.9]), 0)
    assert isinstance(request, Request)
    assert request.tokens.tolist() == [*tokenizer.prompt(*fact[:2]), *tokenizer.entity(fact[2]), SEP]
    assert request.tokens[request.target].tolist() == [*tokenizer.entity(fact[2]), SEP]
    assert request.tokens[request.subject_end] == tokenizer.entity(fact[0])[-1]
    assert (request.weight, request.credence) == (7.0, np.float32(0.9))


@pytest.mark.parametrize("wrong", [{"rank": 0}, {"steps": 0}, {"learning_rate": 0.0}, {"clip": -1.0}])
def test_impossible_recipes_are_refused(wrong):
    with pytest.raises(ValueError, match="positive"):
        LoraDownConfig(**wrong)
