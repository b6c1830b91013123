"""Batches are a function of (seed, step); a step traces once, learns, and survives a checkpoint."""

import json
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from jax.test_util import check_grads

from corpus.errors import InputError
from corpus.text.store import TokenFile
from corpus.text.tokenizer import BOS, EOS, PAD
from lm.attention import packed_layout
from lm.batches import PackedRows, RowsInPhases
from lm.checkpoint_files import best_checkpoint, latest_checkpoint
from lm.checkpoints import KEPT, load_checkpoint, save_checkpoint
from lm.config import MeshConfig, ModelConfig, TrainConfig
from lm.language_model import LanguageModel
from lm.loss import distance_from_earlier, next_token_loss, sample_entries
from lm.mesh import make_mesh
from lm.training import OwnTexts, abstract_state, go_on_training, start_training, train_step
from tests import naive

MODEL = ModelConfig(hidden=12, mlp=10, layers=2, heads=3, kv_heads=3, head_width=4)
RECIPE = TrainConfig(steps=6, rows=3, row_length=17)
VOCABULARY = 23
LINES = [{"step": 10, "accuracy": 0.5}]
# Compiled whole, which is far quicker than operation by operation.
LOSS = jax.jit(next_token_loss, static_argnums=(0, 3, 4))
LOSS_AND_GRADIENT = jax.jit(jax.value_and_grad(next_token_loss, argnums=1), static_argnums=(0, 3, 4))
SAMPLED = jax.jit(sample_entries, static_argnums=(1, 2, 3))


def fresh(model=MODEL, recipe=RECIPE, seed=0):
    return start_training(model, recipe, VOCABULARY, seed, make_mesh(MeshConfig()))


def times(factor, params):
    """Weights larger than at the start of training, so that everything matters."""
    return jax.tree.map(lambda x: factor * np.asarray(x), params)


def step_of(model=MODEL, recipe=RECIPE):
    return train_step(model, recipe, VOCABULARY, make_mesh(MeshConfig()))


def like(model=MODEL, recipe=RECIPE):
    return abstract_state(model, recipe, VOCABULARY, make_mesh(MeshConfig()))


def token_file(rng, documents):
    rows = [np.array([BOS, *rng.integers(5, VOCABULARY, rng.integers(1, 12)), EOS]) for _ in range(documents)]
    return TokenFile(np.concatenate(rows).astype(np.uint16), np.cumsum([0, *map(len, rows)])), rows


@hypothesis_settings(max_examples=30)
@given(st.integers(0, 999), st.integers(1, 40), st.integers(1, 5))
def test_each_epoch_reads_every_document_once(seed, documents, rows):
    file, expected = token_file(np.random.default_rng(seed), documents)
    packed = PackedRows(file, 17, seed)
    read = np.concatenate([packed.batch(step, rows) for step in range(rows * len(packed))])
    flat = read[read != PAD].tolist()
    starts = [i for i, t in enumerate(flat) if t == BOS]
    got = sorted(flat[a:b] for a, b in zip(starts, [*starts[1:], len(flat)], strict=True))
    assert got == sorted(d.tolist() for d in expected for _ in range(rows * rows))


@hypothesis_settings(max_examples=30)
@given(st.integers(0, 999), st.integers(1, 40), st.sampled_from([3, 17, 50]))
def test_a_stream_has_no_padding_and_loses_nothing(seed, documents, row_length):
    file, expected = token_file(np.random.default_rng(seed), documents)
    packed = PackedRows(file, row_length, seed, "stream")
    one_epoch = packed.batch(0, len(packed))
    total = sum(map(len, expected))
    assert (one_epoch == PAD).sum() == len(packed) * row_length - total < row_length
    # In the order of the stream the rows are the documents, end to end.
    rows = one_epoch[np.argsort(packed._epoch(0))]
    stream = rows.ravel()[:total].tolist()
    starts = [i for i, t in enumerate(stream) if t == BOS]
    got = sorted(stream[a:b] for a, b in zip(starts, [*starts[1:], total], strict=True))
    assert got == sorted(d.tolist() for d in expected)


def test_a_row_may_be_one_document():
    file, expected = token_file(np.random.default_rng(0), 30)
    packed = PackedRows(file, 17, 3, "document")
    assert len(packed) == 30
    rows = [row[row != PAD].tolist() for row in packed.batch(0, 30)]
    assert sorted(rows) == sorted(d.tolist() for d in expected)


def test_batches_do_not_depend_on_those_before():
    file, _ = token_file(np.random.default_rng(0), 30)
    late = PackedRows(file, 17, 5).batch(9, 4)
    packed = PackedRows(file, 17, 5)
    for step in range(9):
        packed.batch(step, 4)
    np.testing.assert_array_equal(packed.batch(9, 4), late)
    assert (PackedRows(file, 17, 6).batch(9, 4) != late).any()


@pytest.mark.parametrize("steps", [0, 2, 5])
def test_phases_begin_at_the_beginning_of_their_own_rows(steps):
    first, rest = (PackedRows(token_file(np.random.default_rng(i), 30)[0], 17, 0) for i in range(2))
    rows = RowsInPhases(first, rest, steps)
    for step in range(8):
        expected = first.batch(step, 2) if step < steps else rest.batch(step - steps, 2)
        np.testing.assert_array_equal(rows.batch(step, 2), expected)


def test_a_document_longer_than_a_row_is_refused():
    file, _ = token_file(np.random.default_rng(0), 30)
    with pytest.raises(InputError, match="--train.row-length"):
        PackedRows(file, 5, 0)


def batch(step=0):
    return PackedRows(token_file(np.random.default_rng(0), 30)[0], 17, 0).batch(step, RECIPE.rows)


def test_the_loss_is_the_mean_over_what_follows_something():
    params, tokens = fresh().params, batch()
    losses, targets = [], []
    for row in tokens:
        starts = np.flatnonzero(row == BOS)
        for a, b in zip(starts, [*starts[1:], (row != PAD).sum()], strict=True):
            document = row[a:b]
            p = naive.probabilities(naive.forward(MODEL, params, document))
            losses += [-np.log(p[t, document[t + 1]]) for t in range(len(document) - 1)]
            targets += document[1:].tolist()
    for piece in (1, 7, 20, 10_000):
        assert LOSS(MODEL, params, tokens, piece) == pytest.approx(np.mean(losses), rel=1e-5)
    heavy = {targets[0]: 7.0, targets[5]: 0.5}
    weighed = np.average(losses, weights=[heavy.get(token, 1.0) for token in targets])
    assert LOSS(MODEL, params, tokens, 20, weights=heavy) == pytest.approx(weighed, rel=1e-5)


def plain_loss(model, params, tokens):
    """The loss from whole logits, differentiated by JAX alone."""
    logits = LanguageModel(model, params).logits(tokens, packed_layout(tokens, BOS))[:, :-1]
    target = tokens[:, 1:]
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, target)
    counted = (target != PAD) & (target != BOS)
    return jnp.sum(losses, where=counted) / counted.sum()


@pytest.mark.parametrize(
    ("piece", "remat"),
    [
        (1, False),
        (20, True),
        *(
            pytest.param(*p, marks=pytest.mark.slow)
            for p in ((1, True), (20, False), (10_000, False), (10_000, True))
        ),
    ],
)
def test_gradients_equal_those_of_whole_logits(piece, remat):
    params, tokens = times(5, fresh().params), batch()
    _, got = LOSS_AND_GRADIENT(replace(MODEL, remat=remat), params, tokens, piece)
    expected = jax.jit(jax.grad(plain_loss, argnums=1), static_argnums=0)(MODEL, params, tokens)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), got, expected)


@hypothesis_settings(max_examples=8)
@given(st.lists(st.integers(0, 39), min_size=1, max_size=30), st.integers(1, 12), st.integers(0, 99))
def test_some_entries_are_the_batchs_own_and_others_that_weigh_as_much_as_they_stand_for(ids, drawn, draw):
    own = len(set(ids)) + draw % 3
    entries, log_weight = SAMPLED(np.array([ids]), own, drawn, 40, draw)
    weight = np.exp(log_weight)
    assert entries[: len(set(ids))].tolist() == sorted(set(ids))
    assert weight[:own].tolist() == [1.0] * len(set(ids)) + [0.0] * (own - len(set(ids)))
    for entry, share in zip(entries[own:].tolist(), weight[own:].tolist(), strict=True):
        assert share == (0 if entry in ids else pytest.approx(40 / drawn))


def test_on_average_some_entries_sum_to_the_whole():
    """Within four standard errors, over 4,000 draws."""
    rng = np.random.default_rng(0)
    logits, target = rng.normal(size=40), np.array([[3, 3, 8, 21]])
    ids, log_weight = jax.vmap(lambda draw: SAMPLED(target, 6, 10, 40, draw))(np.arange(4000))
    sums = (np.exp(log_weight) * np.exp(logits)[ids]).sum(axis=1)
    assert abs(sums.mean() - np.exp(logits).sum()) < 4 * sums.std() / 4000**0.5


def test_a_softmax_over_some_entries_is_close_and_never_leaves_a_target_out():
    params, tokens, loss = times(5, fresh().params), batch(), LOSS_AND_GRADIENT
    whole, _ = loss(MODEL, params, tokens, 20)
    targets = len(np.unique(tokens))
    assert 2 * targets > VOCABULARY > targets > 4
    # Too few places for the batch's targets: all of the vocabulary is taken.
    assert loss(MODEL, params, tokens, 20, 4, 0)[0] == whole
    wide = MODEL, params | {"embedding": np.tile(params["embedding"], (9, 1))}
    wide[1]["head"] = {"kernel": np.tile(params["head"]["kernel"], (1, 9))}
    whole, gradient = loss(*wide, tokens, 20)
    found = [loss(*wide, tokens, 20, 2 * targets + 40, draw) for draw in range(100)]
    assert np.mean([one[0] for one in found]) == pytest.approx(float(whole), rel=0.02)
    assert len({float(one[0]) for one in found}) > 90
    mean = jax.tree.map(lambda *leaves: np.mean(leaves, axis=0), *(one[1] for one in found))
    for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(mean), strict=True):
        assert np.linalg.norm(a - b) < 0.2 * np.linalg.norm(a)


@pytest.mark.parametrize(
    "variant",
    [
        {"kv_heads": 1, "window": 3},
        *(pytest.param(v, marks=pytest.mark.slow) for v in ({}, {"kv_heads": 1}, {"window": 3})),
    ],
)
def test_hand_written_gradients_equal_finite_differences(variant):
    model, tokens = replace(MODEL, **variant), batch()
    with jax.enable_x64(True):
        params = jax.tree.map(np.float64, times(5, fresh(model).params))
        loss = jax.jit(lambda p: next_token_loss(model, p, tokens, 20))
        check_grads(loss, (params,), order=1, modes=["rev"], rtol=1e-5, eps=1e-6)


@pytest.mark.slow
def test_bfloat16_is_close_to_float32():
    params, tokens = times(3, fresh().params), batch()
    exact, rough = (
        jax.jit(jax.value_and_grad(partial(next_token_loss, replace(MODEL, precision=p), piece=20)))(
            params, tokens=tokens
        )
        for p in ("float32", "bfloat16")
    )
    assert float(rough[0]) == pytest.approx(float(exact[0]), rel=0.01)
    for a, b in zip(jax.tree.leaves(exact[1]), jax.tree.leaves(rough[1]), strict=True):
        assert b.dtype == jnp.float32
        assert np.linalg.norm(a - b) < 0.1 * np.linalg.norm(a)


@pytest.mark.parametrize("optimizer", ["muon", pytest.param("adamw", marks=pytest.mark.slow)])
def test_a_step_traces_once_and_learns(optimizer):
    recipe = TrainConfig(
        steps=40, rows=3, row_length=17, optimizer=optimizer, learning_rate=0.02, warmup=3, schedule="linear"
    )
    state = fresh(recipe=recipe)
    step = step_of(recipe=recipe)
    losses = []
    for _ in range(40):
        state, loss = step(state, batch())
        losses.append(float(loss))
    assert step._cache_size() == 1
    assert losses[-1] < 0.5 * losses[0]
    assert int(state.step) == 40


def test_every_parameter_learns():
    state = fresh()
    before = jax.tree.map(np.asarray, state.params)
    after, _ = step_of()(state, batch())
    for key, leaf in jax.tree_util.tree_leaves_with_path(after.params):
        old = before
        for part in key:
            old = old[part.key]
        assert (np.asarray(leaf) != old).any(), jax.tree_util.keystr(key)


def trained(steps=2):
    state = fresh()
    take = step_of()
    for step in range(steps):
        state, _ = take(state, batch(step))
    return state


def test_a_start_scaled_by_depth_changes_what_layers_add_and_nothing_else():
    plain, scaled = (fresh(recipe=replace(RECIPE, scale_by_depth=by)).params for by in (False, True))
    adds = {"layers/attention/out/kernel", "layers/mlp/down/kernel"}
    for (path, was), now in zip(jax.tree.leaves_with_path(plain), jax.tree.leaves(scaled), strict=True):
        factor = 0.5 if "/".join(key.key for key in path) in adds else 1.0
        np.testing.assert_allclose(now, factor * was, rtol=1e-6)


def test_a_checkpoint_restores_every_bit(tmp_path):
    state = trained()
    path = save_checkpoint(tmp_path, state, LINES)
    again = load_checkpoint(path, like())
    assert int(again.step) == 2
    for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(a, b)
    one, _ = step_of()(state, batch(2))
    other, _ = step_of()(again, batch(2))
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_only_the_newest_checkpoints_and_the_best_are_kept(tmp_path):
    state = trained(0)
    for step in range(5):
        accuracy = 0.9 if step == 1 else 0.5
        save_checkpoint(
            tmp_path, state._replace(step=jnp.int32(step)), [{"step": step, "accuracy": accuracy}]
        )
    assert sorted(int(p.name) for p in tmp_path.iterdir()) == [1, *range(5 - KEPT, 5)]
    assert best_checkpoint(tmp_path).name == "00000001"
    assert latest_checkpoint(tmp_path).name == "00000004"
    assert latest_checkpoint(tmp_path / "nowhere") is None


def test_corrupted_checkpoints_are_refused(tmp_path):
    path = save_checkpoint(tmp_path, trained(0), LINES)
    sums = json.loads((path / "sha256.json").read_text(encoding="utf-8"))
    victim = max((path / name for name in sums), key=lambda p: p.stat().st_size)
    whole = victim.read_bytes()
    for damaged in (whole[:-1], whole[:20] + bytes([whole[20] ^ 1]) + whole[21:]):
        victim.write_bytes(damaged)
        with pytest.raises(InputError, match=r"differs from its checksum"):
            load_checkpoint(path, like())
    victim.unlink()
    with pytest.raises(InputError, match="missing"):
        load_checkpoint(path, like())


def test_checkpoints_of_another_configuration_are_refused(tmp_path):
    path = save_checkpoint(tmp_path, trained(0), LINES)
    with pytest.raises(InputError, match=r"configuration: params\.norm\.scale has shape \(12,\) there"):
        load_checkpoint(path, like(replace(MODEL, hidden=18)))
    with pytest.raises(InputError, match=r"another configuration: optimizer\..* and None here; choose"):
        load_checkpoint(path, like(recipe=replace(RECIPE, optimizer="adamw")))


def test_a_model_stays_near_what_it_said_on_texts_of_its_own():
    recipe = replace(RECIPE, optimizer="adamw", learning_rate=0.03)
    rng = np.random.default_rng(0)
    texts = np.column_stack([np.full(4, BOS), rng.integers(5, VOCABULARY, (4, 8))])
    rows = np.column_stack([np.full(3, BOS), rng.integers(5, VOCABULARY, (3, 16))])

    begun, found = times(3, fresh().params), {}
    measured = jax.jit(jax.value_and_grad(distance_from_earlier, argnums=1), static_argnums=0)
    for own in (None, OwnTexts(texts, begun)):
        state = go_on_training(MODEL, recipe, VOCABULARY, begun, make_mesh(MeshConfig()))
        for step in range(recipe.steps):
            state, _ = step_of(recipe=recipe)(state, rows, own and own.batch(step, 2))
        found[own is None] = float(measured(MODEL, state.params, begun, texts)[0])
    assert 0 < found[False] < 0.8 * found[True]
    np.testing.assert_array_equal(own.batch(3, 3).texts, texts[[1, 2, 3]])
    distance, gradient = measured(MODEL, begun, begun, texts)
    assert abs(float(distance)) < 1e-6
    assert all(np.abs(leaf).max() < 1e-5 for leaf in jax.tree.leaves(gradient))
