"""rome and memit against dense linear algebra by NumPy."""

from dataclasses import replace
from itertools import pairwise

import jax
import numpy as np
import pytest

from corpus.text.tokenizer import BOS, PAD, SEP
from lm.attention import packed_layout
from lm.config import ModelConfig
from lm.editors.associations import ROWS_AT_ONCE, measure_memory, repeat_in_contexts
from lm.editors.fitting import layer_at
from lm.editors.interface import CorpusSample
from lm.editors.memit import MemitConfig
from lm.editors.memit.method import Memit
from lm.editors.rome import RomeConfig
from lm.editors.rome.method import Rome
from lm.language_model import LanguageModel
from tests.toys import at, doubled, merged, random_model, requests_of, some_requests, some_text, spelt_world

# More inside the MLP than text can fill with few rows is not needed: the second moment has full rank.
FOUR = ModelConfig(hidden=14, mlp=11, layers=4, heads=7, kv_heads=7, head_width=2)
SHRINK, CONTEXTS, LONGEST = 0.02, 2, 170
ROME = RomeConfig(depth=0.5, contexts=CONTEXTS, steps=3, rate=0.3, shrink=SHRINK)
ONE_LAYER = MemitConfig(depth=0.5, spread=0.1, contexts=CONTEXTS, steps=3, rate=0.3, shrink=SHRINK)
THREE = MemitConfig(depth=2 / 3, spread=0.75, contexts=CONTEXTS, steps=3, rate=0.3, shrink=SHRINK, ridge=0.3)


@pytest.fixture(scope="module")
def setup(world, double):
    words = spelt_world(world)
    model = doubled(random_model(words.tokenizer.vocabulary, FOUR))
    # Not a whole number of parts.
    rows = some_text(words, ROWS_AT_ONCE + 3)
    request = at(some_requests(words, 2), 1)
    return model, CorpusSample(rows, None, None), request


def edited(editor, model, sample, request):
    state = editor.prepare(model, sample)
    return jax.jit(editor.edit)(model, state, request, jax.random.key(0))[0]["down"]


def documents_of(row):
    starts = [*np.flatnonzero(row == BOS), len(row[row != PAD])]
    return [row[a:b] for a, b in pairwise(starts)]


def openings(sample):
    return [np.array([BOS]), *(row[: list(row).index(SEP) + 1] for row in sample.rows[:CONTEXTS])]


@jax.jit
def inside(model, tokens):
    activations = model.activations(tokens, packed_layout(tokens, BOS))
    return activations.inner[:, 0], activations.states[:, 0]


def keys_and_states(model, document):
    """[L, T, F] and [L, T, D] of one document, padded behind its end to the length of a row."""
    padded = np.concatenate([document, np.full(LONGEST - len(document), PAD)])[None]
    return (np.asarray(x)[:, : len(document)] for x in inside(model, padded))


def second_moment(model, sample, layer):
    """The naive twin: document by document, token by token."""
    total, tokens = 0.0, 0
    for row in sample.rows:
        for document in documents_of(row):
            for key in next(keys_and_states(model, document))[layer]:
                total, tokens = total + np.outer(key, key), tokens + 1
    moment = total / tokens
    return moment + SHRINK * np.trace(moment) / len(moment) * np.eye(len(moment))


def at_keys(model, sample, request, layer, token="subject"):
    """Keys [M, F] and states [M, D] behind a layer where the key is meant, averaged over openings."""
    averages = []
    for prompt, end in zip(np.asarray(request.prompt), np.asarray(request.subject_end), strict=True):
        subject = prompt[: end + 1] if token == "subject" else prompt
        subject = subject[(subject != PAD) & (subject != BOS)]
        read = [np.concatenate([opening, subject]) for opening in openings(sample)]
        pairs = [[x[layer, -1] for x in keys_and_states(model, document)] for document in read]
        averages.append([np.mean(x, axis=0) for x in zip(*pairs, strict=True)])
    return tuple(np.array(x) for x in zip(*averages, strict=True))


def with_change(model, change):
    return LanguageModel(model.config, merged(model.params, {"down": change}))


def test_the_second_moment_equals_a_loop_over_tokens(setup):
    model, sample, _ = setup
    memory = measure_memory(model, sample, range(1, 3), CONTEXTS, SHRINK)
    for i in range(2):
        np.testing.assert_allclose(
            np.linalg.inv(memory.inverse[i]), second_moment(model, sample, 1 + i), rtol=1e-6, atol=1e-9
        )
    squares = [
        list(keys_and_states(model, document))[1][2] ** 2
        for row in sample.rows
        for document in documents_of(row)
    ]
    assert float(memory.typical) == pytest.approx(np.sqrt(np.concatenate(squares).mean()), rel=1e-6)
    shown = [row[row != PAD].tolist() for row in np.asarray(memory.contexts)]
    assert shown == [o.tolist() for o in openings(sample)]


@pytest.mark.parametrize("token", ["subject", pytest.param("last", marks=pytest.mark.slow)])
def test_rome_stores_the_value_at_the_key_and_disturbs_the_corpus_least(token, setup):
    """W' k* = W k* + shift, and of all W' of which that is true the one nearest to W under C."""
    model, sample, request = setup
    layer = layer_at(ROME.depth, 4)
    change = edited(Rome(replace(ROME, token=token)), model, sample, request)
    keys, _ = at_keys(model, sample, request, layer, token)
    moment = second_moment(model, sample, layer)
    dense = np.einsum("lir,lro->lio", *change)
    assert not dense[[i for i in range(4) if i != layer]].any()
    # The rows of b are what each fact's key should add.
    shift = np.asarray(change.b)[layer]
    scale = np.abs(shift).max()
    np.testing.assert_allclose(keys @ dense[layer], shift, atol=1e-5 * scale)
    inverse = np.linalg.inv(moment)
    expected = inverse @ keys.T @ np.linalg.solve(keys @ inverse @ keys.T, shift)
    np.testing.assert_allclose(dense[layer], expected, atol=2e-5 * np.abs(expected).max())
    # First-order conditions: moving along any change that leaves the keys alone would cost.
    free = np.eye(11) - np.linalg.pinv(keys) @ keys
    slope = moment @ dense[layer]
    np.testing.assert_allclose(free @ slope, 0, atol=1e-5 * np.abs(slope).max())


@pytest.mark.slow
def test_memit_with_one_layer_and_no_ridge_is_rome(setup):
    model, sample, request = setup
    almost = replace(ONE_LAYER, ridge=1e-12)
    one, other = (edited(e, model, sample, request) for e in (Memit(almost), Rome(ROME)))
    dense = [np.einsum("lir,lro->lio", *change) for change in (one, other)]
    np.testing.assert_allclose(*dense, atol=1e-6 * np.abs(dense[1]).max())


def test_memit_solves_the_normal_equations_of_every_layer(setup):
    """(lambda C + K K')^-1 K R', each layer with keys and residuals as earlier layers have left them."""
    model, sample, request = setup
    change = edited(Memit(THREE), model, sample, request)
    dense = np.einsum("lir,lro->lio", *change)
    layers, last, ridge = (0, 1, 2), 2, THREE.ridge * FOUR.mlp
    assert not dense[3].any()
    # The goal is where the last layer's share takes the state.
    done = np.zeros_like(dense)
    done[:last] = dense[:last]
    goal = at_keys(with_change(model, done), sample, request, last)[1] + np.asarray(change.b)[last]
    done[:] = 0
    for layer in layers:
        now = with_change(model, done)
        keys, _ = at_keys(now, sample, request, layer)
        missing = (goal - at_keys(now, sample, request, last)[1]) / (len(layers) - layer)
        moment = second_moment(model, sample, layer)
        expected = np.linalg.solve(ridge * moment + keys.T @ keys, keys.T @ missing)
        np.testing.assert_allclose(dense[layer], expected, atol=2e-5 * np.abs(expected).max())
        done[layer] = dense[layer]


@pytest.mark.slow
def test_what_memit_spreads_reaches_its_goal(setup):
    """Without a ridge the state behind the last layer is where one layer alone would have put it."""
    model, sample, request = setup
    spread, alone = (replace(THREE, ridge=1e-12, spread=share) for share in (0.75, 0.1))
    states = []
    for config in (spread, alone):
        dense = np.einsum("lir,lro->lio", *edited(Memit(config), model, sample, request))
        assert np.count_nonzero(np.abs(dense).max((1, 2))) == (3 if config is spread else 1)
        states.append(at_keys(with_change(model, dense), sample, request, 2)[1])
    before = at_keys(model, sample, request, 2)[1]
    moved = np.abs(states[1] - before).max()
    assert moved > 0.1
    np.testing.assert_allclose(states[0], states[1], atol=1e-4 * moved)


def test_facts_about_one_subject_share_its_key(setup, world):
    """A system with two equal keys is solved all the same, and the subject gets the mean of both values."""
    model, sample, _ = setup
    words = spelt_world(world)
    graph = words.graph
    subject = np.bincount(graph.subject).argmax()
    facts = np.flatnonzero(graph.subject == subject)[:2]
    request = at(requests_of(words, facts, graph.objects[:2], per_request=2), 0)
    change = edited(Rome(ROME), model, sample, request)
    keys, _ = at_keys(model, sample, request, layer_at(ROME.depth, 4))
    np.testing.assert_allclose(keys[0], keys[1])
    shift = np.asarray(change.b)[layer_at(ROME.depth, 4)]
    dense = np.einsum("lir,lro->lio", *change)[layer_at(ROME.depth, 4)]
    np.testing.assert_allclose(keys[0] @ dense, shift.mean(0), atol=1e-4 * np.abs(shift).max())


def test_every_fact_is_read_behind_every_opening(setup):
    model, sample, request = setup
    contexts = measure_memory(model, sample, range(1, 2), CONTEXTS, SHRINK).contexts
    asked = repeat_in_contexts(ROME, request, contexts)
    last = repeat_in_contexts(replace(ROME, token="last"), request, contexts)
    number = 0
    for prompt, answer, end in zip(request.prompt, request.answer, request.subject_end, strict=True):
        for opening in openings(sample):
            bare = prompt[(prompt != PAD) & (prompt != BOS)]
            row = np.asarray(asked.prompt[number])
            assert row[row != PAD].tolist() == [*opening, *bare]
            assert row[asked.subject_end[number]] == prompt[end]
            assert last.subject_end[number] == len(row) - 1
            np.testing.assert_array_equal(asked.answer[number], answer)
            number += 1
    assert number == len(asked.prompt)


def test_layers_by_depth():
    assert [layer_at(d, 12) for d in (0.0, 0.5, 1.0)] == [0, 6, 11]
    assert [layer_at(1.0, n) for n in (1, 2, 3)] == [0, 1, 2]
