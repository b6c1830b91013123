"""memit's switches against their equations, transcribed with NumPy; sequences, and nothing that leaks."""

from dataclasses import replace
from itertools import product

import jax
import numpy as np
import pytest

from lm.attention import left_padded_layout
from lm.delta import add_to_carry, empty_carry, has_dial, scale_delta
from lm.editors.associations import find_shift, repeat_in_contexts
from lm.editors.interface import CorpusSample
from lm.editors.memit import MemitConfig, method
from lm.editors.memit.method import Memit, null_space
from tests.test_associations import CONTEXTS, FOUR, SHRINK, at_keys, second_moment, with_change
from tests.toys import at, doubled, random_model, requests_of, some_text, spelt_world

TWO = MemitConfig(
    depth=1 / 3, spread=0.5, contexts=CONTEXTS, steps=3, rate=0.3, shrink=SHRINK, ridge=0.3,
)  # fmt: skip
NULL_BELOW, WARM_UP = 0.5, 5
LAYERS, EDITS, PRACTICE = (0, 1), 3, 6
SWITCHES = ("accumulate", "null_space", "normalise", "anchor")
COMBINATIONS = [dict(zip(SWITCHES, on, strict=True)) for on in product((False, True), repeat=4)]
PAIRS = ((True, True, False, False), (True, False, False, True))
SHOWN = [
    pytest.param(one, marks=[] if all(one.values()) else pytest.mark.slow)
    for one in COMBINATIONS
    if sum(one.values()) in (1, 4) or tuple(one.values()) in PAIRS
]
"""Each alone, AlphaEdit as published, two that pair, and all."""


@pytest.fixture(autouse=True)
def small_sizes(monkeypatch):
    """Few directions are projected away, and few practice edits known, in a model as small as this."""
    monkeypatch.setattr(method, "NULL_BELOW", NULL_BELOW)
    monkeypatch.setattr(method, "WARM_UP", WARM_UP)


@pytest.fixture(scope="module")
def setup(world, double):
    words = spelt_world(world)
    model = doubled(random_model(words.tokenizer.vocabulary, FOUR))
    facts, objects = np.arange(EDITS * 2), words.graph.objects[: EDITS * 2]
    pairs = requests_of(words, facts, objects, per_request=2)
    practice = requests_of(words, 10 + np.arange(PRACTICE), words.graph.objects[:PRACTICE])
    return model, CorpusSample(some_text(words, 11), practice, None), pairs


def prepare(config, model, sample):
    editor = Memit(config)
    return editor, editor.prepare(model, sample)


def shift_of(config, model, memory, request):
    """How far rome's search wants the state behind the last layer to move."""
    asked = repeat_in_contexts(config, request, memory.contexts)
    return np.asarray(find_shift(config, model, memory, request, asked, LAYERS[-1])[0])


def projection_of(config, moment):
    """AlphaEdit: U U' over eigenvectors of the corpus' second moment with small eigenvalues."""
    diagonal = np.trace(moment) / ((1 + config.shrink) * len(moment))
    raw = moment - config.shrink * diagonal * np.eye(len(moment))
    values, vectors = np.linalg.eigh(raw)
    unused = vectors[:, values < NULL_BELOW * values.mean()]
    assert 0 < unused.shape[1] < len(moment), "the example projects something away"
    return unused @ unused.T


def practice_features(config, model, sample, memory):
    """Keys with rests behind them, [PRACTICE, F + D] for each layer."""
    features = [[] for _ in LAYERS]
    for n in range(WARM_UP):
        request = at(sample.practice, n)
        shift = shift_of(config, model, memory, request)[0]
        for i, layer in enumerate(LAYERS):
            key = at_keys(model, sample, request, layer)[0][0]
            features[i].append(np.concatenate([key, shift / (len(LAYERS) - i)]))
    return [np.array(x) for x in features]


def transcribe(config, model, sample, memory, requests):
    """The weights' change [L, F, D] after every edit of a sequence, by the equations as published."""
    total = np.zeros((FOUR.layers, FOUR.mlp, FOUR.hidden))
    earlier_keys = [np.zeros((0, FOUR.mlp)) for _ in LAYERS]
    features = practice_features(config, model, sample, memory) if config.normalise else [None] * len(LAYERS)
    first = [x.copy() for x in features] if config.normalise else None
    after = []
    for request in requests:
        now = with_change(model, total)
        goal = at_keys(now, sample, request, LAYERS[-1])[1] + shift_of(config, now, memory, request)
        if config.anchor:
            reference = at_keys(model, sample, request, LAYERS[-1])[1]
            goal = np.array(
                [z * np.linalg.norm(h) / np.linalg.norm(z) for z, h in zip(goal, reference, strict=True)]
            )
        new_keys = []
        for i, layer in enumerate(LAYERS):
            now = with_change(model, total)
            keys = at_keys(now, sample, request, layer)[0]
            rest = (goal - at_keys(now, sample, request, LAYERS[-1])[1]) / (len(LAYERS) - i)
            new_keys.append(keys)
            if config.normalise:
                features[i] = np.concatenate([features[i], np.concatenate([keys, rest], axis=1)])
                standard = (features[i] - features[i].mean(0)) / (features[i].std(0, ddof=1) + 1e-6)
                k, r = standard[-len(keys) :, : FOUR.mlp], standard[-len(keys) :, FOUR.mlp :]
                size = np.sqrt(np.mean(first[i][:, FOUR.mlp :].std(0, ddof=1) ** 2))
                rest = size * (k**2).sum(1, keepdims=True) / FOUR.mlp * r
            moment, weight = second_moment(model, sample, layer), config.ridge * FOUR.mlp
            gathered = keys.T @ keys + config.accumulate * earlier_keys[i].T @ earlier_keys[i]
            if config.null_space:
                p = projection_of(config, moment)
                plain = weight * np.trace(moment) / FOUR.mlp * np.eye(FOUR.mlp)
                change = np.linalg.solve(p @ gathered + plain, p @ keys.T @ rest)
            else:
                change = np.linalg.solve(weight * moment + gathered, keys.T @ rest)
            total[layer] += change
        earlier_keys = [np.concatenate(two) for two in zip(earlier_keys, new_keys, strict=True)]
        after.append(total.copy())
    return after


@pytest.mark.parametrize("switches", SHOWN, ids=lambda one: "+".join(k for k in one if one[k]))
def test_every_switch_is_its_equation(setup, switches):
    model, sample, pairs = setup
    config = replace(TWO, **switches)
    editor, state = prepare(config, model, sample)
    requests = [at(pairs, n) for n in range(EDITS)]
    expected = transcribe(config, model, sample, state.memory, requests)
    edit = jax.jit(editor.edit)
    carried = None
    for n, request in enumerate(requests):
        delta, _ = edit(model.with_delta(carried), state, request, jax.random.key(0))
        if carried is None:
            carried = empty_carry(delta, model.vocabulary, EDITS)
        carried = add_to_carry(carried, delta, model.vocabulary, n)
        change = np.asarray(carried["weights"]["layers"]["mlp"]["down"]["kernel"])
        np.testing.assert_allclose(change, expected[n], atol=3e-5 * np.abs(expected[n]).max())
        assert ("ledger" in delta) == (config.accumulate or config.normalise)


@pytest.mark.slow
def test_independent_edits_leave_nothing_to_each_other(setup):
    """The same edit before and after others, and beside them; in a sequence it is another one."""
    model, sample, pairs = setup
    editor, state = prepare(replace(TWO, accumulate=True, normalise=True), model, sample)
    edit = jax.jit(editor.edit)

    def change_of(model, n):
        return np.asarray(edit(model, state, at(pairs, n), jax.random.key(0))[0]["down"].a)

    first = change_of(model, 1)
    change_of(model, 0)
    np.testing.assert_array_equal(change_of(model, 1), first)
    beside = jax.jit(jax.vmap(lambda request: editor.edit(model, state, request, jax.random.key(0))))(pairs)
    np.testing.assert_allclose(np.asarray(beside[0]["down"].a)[1], first, atol=1e-9 * np.abs(first).max())
    behind = edit(model, state, at(pairs, 0), jax.random.key(0))[0]
    assert np.abs(change_of(model.with_delta(behind), 1) - first).max() > 1e-3 * np.abs(first).max()


def test_a_ledger_changes_no_answer_and_has_no_strength(setup):
    model, sample, pairs = setup
    editor, state = prepare(replace(TWO, accumulate=True), model, sample)
    delta = jax.jit(editor.edit)(model, state, at(pairs, 0), jax.random.key(0))[0]
    assert has_dial(delta)
    assert not has_dial({"ledger": delta["ledger"]})
    doubled_delta = scale_delta(delta, 2.0)
    np.testing.assert_array_equal(doubled_delta["ledger"].moment, delta["ledger"].moment)
    request = at(pairs, 1)
    asked = repeat_in_contexts(TWO, request, state.memory.contexts)
    without = {name: part for name, part in delta.items() if name != "ledger"}
    layout = left_padded_layout(asked.prompt)
    answers = [model.with_delta(one).activations(asked.prompt, layout).states for one in (delta, without)]
    np.testing.assert_array_equal(*answers)


def test_the_null_space_is_what_a_corpus_hardly_uses():
    """Of three directions, one unused: the projection is onto it, and is one."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    moment = basis @ np.diag([4.0, 2.0, 0.001]) @ basis.T
    shrunk = moment + SHRINK * np.trace(moment) / 3 * np.eye(3)
    found = np.asarray(null_space(shrunk, 0.01, SHRINK))
    np.testing.assert_allclose(found, np.outer(basis[:, 2], basis[:, 2]), atol=1e-6)
