"""sparse: which rows of down-projections are chosen, against loops in NumPy, and that no others change."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from corpus.text.tokenizer import PAD
from lm.delta import fold_delta
from lm.editors.fitting import request_activations, request_inputs
from lm.editors.interface import edit_once
from lm.editors.sparse import SparseConfig
from lm.editors.sparse.method import Sparse, count_woken
from tests.toys import at, probability

EDITOR = Sparse(SparseConfig(slots=5, steps=20))


def woken_by_loops(inner, real, slots):
    """Slots among the most active, token after token."""
    counts = np.zeros((inner.shape[0], inner.shape[3]))
    for layer, row, token in np.argwhere(np.ones(inner.shape[:3], bool)):
        if real[row, token]:
            strength = np.abs(inner[layer, row, token])
            counts[layer, strength >= np.sort(strength)[-slots]] += 1
    return counts


@hypothesis_settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**16), st.integers(1, 7))
def test_the_woken_are_those_of_a_loop_over_tokens(seed, slots):
    rng = np.random.default_rng(seed)
    inner, real = rng.normal(size=(2, 3, 4, 7)).astype(np.float32), rng.random((3, 4)) < 0.7
    np.testing.assert_array_equal(count_woken(inner, real, slots), woken_by_loops(inner, real, slots))


@pytest.fixture(scope="module")
def mind(toy):
    return EDITOR.prepare(toy.model, toy.sample)


def test_it_trains_the_rows_of_highest_score_and_no_others(toy, mind):
    request = at(toy.batch, 0)
    real = np.asarray(request_inputs(request)) != PAD
    inner = np.asarray(request_activations(toy.model, request).inner, np.float32)
    woken = woken_by_loops(inner, real, 5)
    score = woken / woken.sum() * np.asarray(mind["rarity"])
    delta, _ = edit_once(EDITOR, toy.model, mind, at(toy.batch, 0), toy.keys[0])
    change = np.asarray(fold_delta(delta, toy.model.vocabulary)["weights"]["layers"]["mlp"]["down"]["kernel"])
    trained = np.abs(change).sum(axis=2) > 0
    assert trained.sum() == 5
    assert score[trained].min() >= score[~trained].max()


def test_the_request_becomes_probable(toy, mind):
    request = at(toy.batch, 0)
    delta, _ = edit_once(EDITOR, toy.model, mind, request, jax.random.key(0))
    before, after = (probability(model, request) for model in (toy.model, toy.model.with_delta(delta)))
    assert (after > before).all()
