"""Edits at equal strength: the least factor with which a probability is reached, and what is scaled."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.text.tokenizer import PAD
from lm.delta import Codebook, LowRank, Rows, has_dial, scale_delta
from lm.editors.fitting import answer_nats, request_states
from lm.editors.grace import GraceConfig
from lm.editors.grace.method import Grace
from lm.editors.interface import Info, edit_batch, trait_of
from lm.editors.none.method import NoEdit
from lm.editors.strength import COARSE, FARTHEST, FINE, AtStrength, least_factor
from testbed.settings import EditSettings
from tests.toys import at

STEP = FARTHEST / COARSE


@jax.jit
def rising(start, slope, strength):
    return least_factor(lambda c: 1 - (1 - start) * jnp.exp(-slope * c), strength)


@jax.jit
def on_a_hill(peak, height, strength):
    return least_factor(lambda c: height * (1 - jnp.abs(c - peak * STEP) / FARTHEST), strength)


@given(start=st.floats(0.0, 0.9), slope=st.floats(0.05, 3.0), strength=st.floats(0.05, 0.99))
def test_a_rising_probability_is_met_where_it_crosses(start, slope, strength):
    """p(c) = 1 - (1 - start) exp(-slope c) crosses at a known place, or not at all."""
    factor = float(rising(start, slope, strength))
    crossing = max(0.0, np.log((1 - start) / (1 - strength)) / slope)
    if crossing > FARTHEST + 1e-3:
        assert factor == FARTHEST, "the nearest it gets"
    elif crossing < FARTHEST - 1e-3:
        assert factor == pytest.approx(crossing, abs=STEP / 2**FINE + 1e-4)


@given(peak=st.integers(1, COARSE - 1), height=st.floats(0.2, 0.8))
def test_of_a_probability_that_rises_and_falls_the_first_crossing_counts_or_the_peak(peak, height):
    assert float(on_a_hill(peak, height, 0.9)) == pytest.approx(peak * STEP), "never reached: the peak"
    factor = float(on_a_hill(peak, height, 0.9 * height))
    assert factor == pytest.approx(max(0.0, peak * STEP - 0.1 * FARTHEST), abs=STEP / 2**FINE + 1e-4)


def test_what_is_said_already_needs_no_edit():
    assert float(rising(0.95, 0.1, 0.9)) == 0.0


def test_an_editor_that_says_nothing_of_itself_has_the_defaults():
    """A class of a user's own derives from nothing."""

    class Texts(Uphill):
        learns_text, most_steps = True, 7

    traits = ("learns_text", "reads", "most_steps")
    assert [trait_of(Uphill(), name) for name in traits] == [False, (), 1]
    assert [trait_of(Texts(), name) for name in traits] == [True, (), 7]
    assert AtStrength(Texts(), 0.9).most_steps == 7
    assert trait_of(Uphill(), "cause_of")(None) == ""


class Uphill:
    """An editor that adds the gradient of the request's probability to embeddings and to the last norm."""

    def prepare(self, model, corpus_sample):
        return {}

    def edit(self, model, state, request, key):
        tokens = request.prompt.ravel()

        def said(values, norm):
            edited = model.with_delta({"embedding": Rows(tokens, values), "weights": {"norm": norm}})
            return -answer_nats(edited, request, request_states(edited, request)).sum()

        start = (
            jnp.zeros((len(tokens), model.config.hidden)),
            jax.tree.map(jnp.zeros_like, model.params["norm"]),
        )
        values, norm = jax.grad(said, argnums=(0, 1))(*start)
        size = jnp.sqrt(jnp.sum(values**2))
        nothing = Info(jnp.zeros(0), jnp.int32(0), jnp.int32(0), jnp.int32(0))
        norm = jax.tree.map(lambda x: x / size, norm)
        return {"embedding": Rows(tokens, values / size), "weights": {"norm": norm}}, nothing


@jax.jit
def said_after(model, delta, request, factors):
    """float[factors]: the request's probability after so many times the edit."""

    def one(factor):
        edited = model.with_delta(scale_delta(delta, factor))
        return jnp.exp(-answer_nats(edited, request, request_states(edited, request))[0])

    return jax.lax.map(one, factors)


def test_edits_of_a_model_stop_at_the_strength(toy):
    strength, reached = 0.2, 0
    editor, grid = AtStrength(Uphill(), strength), jnp.linspace(0, FARTHEST, 1 + COARSE)
    deltas, info = edit_batch(editor, toy.model, {}, toy.batch, toy.keys)
    whole, _ = edit_batch(Uphill(), toy.model, {}, toy.batch, toy.keys)
    for i in range(len(toy.keys)):
        told = at(toy.batch, i)
        p = float(said_after(toy.model, at(deltas, i), told, jnp.ones(1 + COARSE))[0])
        best = float(said_after(toy.model, at(whole, i), told, grid).max())
        # What is above was passed by less than the last halving.
        assert p == pytest.approx(min(strength, best), abs=0.01)
        reached += best >= strength
        read = int((told.prompt != PAD).sum()) + 1
        assert int(info.forward[i]) == (1 + COARSE + FINE) * read
    assert reached >= 2


def test_what_is_looked_up_or_read_is_taken_as_it_is(toy):
    for editor in (NoEdit(), Grace(GraceConfig(steps=2))):
        state = editor.prepare(toy.model, toy.sample)
        plain = edit_batch(editor, toy.model, state, toy.batch, toy.keys)
        dialled = edit_batch(AtStrength(editor, 0.5), toy.model, state, toy.batch, toy.keys)
        jax.tree.map(np.testing.assert_array_equal, plain, dialled)


def test_a_delta_twice_is_two_deltas():
    a, b = jnp.arange(6.0).reshape(1, 3, 2), jnp.ones((1, 2, 3))
    rows = Rows(jnp.array([3, -1]), jnp.ones((2, 4)))
    twice = scale_delta({"down": LowRank(a, b), "embedding": rows, "shift": jnp.ones(3)}, 2.0)
    np.testing.assert_array_equal(twice["down"].a @ twice["down"].b, 2 * (a @ b))
    np.testing.assert_array_equal(twice["embedding"].values, 2 * rows.values)
    np.testing.assert_array_equal(twice["embedding"].tokens, rows.tokens)
    np.testing.assert_array_equal(twice["shift"], np.full(3, 2.0))
    book = {"codebook": Codebook(a, a, jnp.ones((1, 3))), "down": LowRank(a, b)}
    assert not has_dial(book)
    with pytest.raises(ValueError, match="codebook cannot be scaled"):
        scale_delta(book, 2.0)
    assert scale_delta({}, 2.0) == {}


def test_a_strength_is_a_probability_of_one_fact():
    for wrong in ({"strength": 0.0}, {"strength": 1.0}, {"strength": 0.9, "batch": 10}):
        with pytest.raises(ValueError, match="strength is"):
            EditSettings(**wrong)
    assert EditSettings(strength=0.9).settings_as_data()["strength"] == 0.9, "it belongs to the result"
