"""Edits at equal strength: the least factor with which a probability is reached, and what is scaled."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm.delta import Codebook, LowRank, Rows, has_dial, scaled
from lm.editors.fitting import answer_nats, request_states
from lm.editors.grace import GraceConfig
from lm.editors.grace.method import Grace
from lm.editors.interface import Info, edit_batch
from lm.editors.none.method import NoEdit
from lm.editors.strength import COARSE, FARTHEST, FINE, AtStrength, least_factor
from testbed.settings import EditSettings
from tests.toys import at, probability

STEP = FARTHEST / COARSE


@given(
    start=st.floats(0.0, 0.9),
    slope=st.floats(0.05, 3.0),
    strength=st.floats(0.05, 0.99),
)
def test_a_rising_probability_is_met_where_it_crosses(start, slope, strength):
    """p(c) = 1 - (1 - start) exp(-slope c) crosses at a known place, or not at all."""
    found = float(least_factor(lambda c: 1 - (1 - start) * jnp.exp(-slope * c), strength))
    crossing = max(0.0, np.log((1 - start) / (1 - strength)) / slope)
    if crossing > FARTHEST + 1e-3:
        assert found == FARTHEST, "the nearest it gets"
    elif crossing < FARTHEST - 1e-3:
        assert found == pytest.approx(crossing, abs=STEP / 2**FINE + 1e-4)


@given(peak=st.integers(1, COARSE - 1), height=st.floats(0.2, 0.8))
def test_of_a_probability_that_rises_and_falls_the_first_crossing_counts_or_the_peak(peak, height):
    def hill(c):
        return height * (1 - jnp.abs(c - peak * STEP) / FARTHEST)

    assert float(least_factor(hill, 0.9)) == pytest.approx(peak * STEP), "never reached: the peak"
    found = float(least_factor(hill, height * 0.999))
    assert found <= peak * STEP
    assert float(hill(found)) >= height * 0.999 - 1e-6


def test_what_is_said_already_needs_no_edit():
    assert float(least_factor(lambda c: 0.95 - 0.1 * c, 0.9)) == 0.0


class Along:
    """An editor that adds the gradient of the request's probability, in all parts that add something."""

    def prepare(self, model, corpus_sample):
        return {}

    def edit(self, model, state, request, key):
        tokens = request.prompt.ravel()
        width = model.config.hidden

        def loss(delta):
            edited = model.edited(delta)
            return answer_nats(edited, request, request_states(edited, request)).sum()

        start = {
            "embedding": Rows(tokens, jnp.zeros((len(tokens), width))),
            "weights": {"norm": jax.tree.map(jnp.zeros_like, model.params["norm"])},
        }
        pull = jax.grad(lambda values: loss({"embedding": Rows(tokens, values)}))(start["embedding"].values)
        norms = jax.grad(lambda w: loss({"weights": {"norm": w}}))(start["weights"]["norm"])
        size = jnp.sqrt(jnp.sum(pull**2))
        values, rest = (jax.tree.map(lambda x: -x / size, y) for y in (pull, norms))
        done = Info(jnp.zeros(0), jnp.int32(0), jnp.int32(0), jnp.int32(0))
        return {"embedding": Rows(tokens, values), "weights": {"norm": rest}}, done


@pytest.mark.parametrize("strength", [0.1, 0.3])
def test_edits_of_a_model_stop_at_the_strength(toy, strength):
    editor = AtStrength(Along(), strength)
    deltas, info = edit_batch(editor, toy.model, {}, toy.batch, toy.keys)
    whole, _ = edit_batch(Along(), toy.model, {}, toy.batch, toy.keys)
    reached = 0
    for i in range(len(toy.keys)):
        told, delta = at(toy.batch, i), at(deltas, i)
        p = float(probability(toy.model.edited(delta), told)[0])
        # The nearest it gets is below; what is above was passed by less than the last halving.
        best = max(
            float(probability(toy.model.edited(scaled(at(whole, i), c)), told)[0])
            for c in np.linspace(0, FARTHEST, 1 + COARSE)
        )
        assert p == pytest.approx(strength, abs=0.02) if best >= strength else p == pytest.approx(best, rel=1e-3)
        reached += best >= strength
        tokens = int((told.prompt != 0).sum()) + 1
        assert int(info.forward[i]) == (1 + COARSE + FINE) * tokens
    assert reached >= 3


def test_what_is_looked_up_or_read_is_taken_as_it_is(toy):
    for editor in (NoEdit(), Grace(GraceConfig(steps=2))):
        state = editor.prepare(toy.model, toy.sample)
        plain = edit_batch(editor, toy.model, state, toy.batch, toy.keys)
        dialled = edit_batch(AtStrength(editor, 0.5), toy.model, state, toy.batch, toy.keys)
        jax.tree.map(np.testing.assert_array_equal, plain, dialled)


def test_a_delta_twice_is_two_deltas():
    a, b = jnp.arange(6.0).reshape(1, 3, 2), jnp.ones((1, 2, 3))
    rows = Rows(jnp.array([3, -1]), jnp.ones((2, 4)))
    twice = scaled({"down": LowRank(a, b), "embedding": rows, "shift": jnp.ones(3)}, 2.0)
    np.testing.assert_array_equal(twice["down"].a @ twice["down"].b, 2 * (a @ b))
    np.testing.assert_array_equal(twice["embedding"].values, 2 * rows.values)
    np.testing.assert_array_equal(twice["embedding"].tokens, rows.tokens)
    np.testing.assert_array_equal(twice["shift"], np.full(3, 2.0))
    book = {"codebook": Codebook(a, a, jnp.ones((1, 3))), "down": LowRank(a, b)}
    assert not has_dial(book)
    with pytest.raises(ValueError, match="codebook cannot be scaled"):
        scaled(book, 2.0)
    assert scaled({}, 2.0) == {}


def test_a_strength_is_a_probability_of_one_fact():
    for wrong in ({"strength": 0.0}, {"strength": 1.0}, {"strength": 0.9, "batch": 10}):
        with pytest.raises(ValueError, match="strength is"):
            EditSettings(**wrong)
    assert EditSettings(strength=0.9).told()["strength"] == 0.9, "it belongs to the result"
