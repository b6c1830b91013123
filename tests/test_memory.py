"""How many edits fit side by side: never none, never more than wanted, fewer the more each takes."""

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm.delta import LowRank, empty_carry
from lm.language_model import LanguageModel
from lm.model import init_params
from testbed.engine import plan
from testbed.engine.questions import ProbeShape
from tests.toys import SMALL

VOCABULARY = 19
MODEL = LanguageModel(SMALL, jax.eval_shape(lambda: init_params(SMALL, VOCABULARY, 0)))
counts = st.integers(1, 200)
shapes = st.builds(ProbeShape, *[counts] * 7, st.integers(1, 9))


def edits_that_fit(model, changed, shape, facts, most):
    return plan.affordable_edits(plan.bytes_of_an_edit(model, changed, shape, facts), most)


def numbers(size):
    return {"weights": jax.ShapeDtypeStruct((size,), jnp.float32)}


@given(shapes, st.integers(0, 10**9), counts, counts, st.floats(0, 1e12), st.data())
def test_bounded_and_monotone(shape, size, facts, most, free, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "free_bytes", lambda: free)
        fits = edits_that_fit(MODEL, numbers(size), shape, facts, most)
        assert 1 <= fits <= most
        assert fits <= edits_that_fit(MODEL, numbers(size), shape, facts, most + 1) <= fits + 1
        more = data.draw(st.sampled_from(["size", "facts", "prompt", "nodes"]))
        larger = {
            "size": (numbers(2 * size + 1), shape, facts),
            "facts": (numbers(size), shape, facts + 1),
            "prompt": (numbers(size), shape._replace(prompt=shape.prompt + 9), facts),
            "nodes": (numbers(size), shape._replace(nodes=shape.nodes + 9), facts),
        }[more]
        assert edits_that_fit(MODEL, *larger, most) <= fits
        patch.setattr(plan, "free_bytes", lambda: 2 * free)
        assert edits_that_fit(MODEL, numbers(size), shape, facts, most) >= fits


@given(shapes, st.integers(1, 10**7))
def test_what_fits_does_fit(shape, size):
    """The edits' own copies alone, with their optimiser, stay within their share of what is free."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "free_bytes", lambda: 1e9)
        fits = edits_that_fit(MODEL, numbers(size), shape, 1, 10**9)
    assert fits == 1 or fits * 4 * 4 * size <= 0.25 * 1e9


@given(st.floats(1, 1e12), counts, st.floats(0, 1e12))
def test_what_is_affordable_fits(taken, most, free):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "free_bytes", lambda: free)
        fits = plan.affordable_edits(taken, most)
    assert 1 <= fits <= most
    assert fits == 1 or fits * taken <= plan.SHARE * free
    assert fits == most or (fits + 1) * taken > plan.SHARE * free * (1 - 1e-12)


@given(st.floats(1, 1e9), st.floats(0, 1e9), counts, st.floats(1, 1e12))
def test_what_fits_as_compiled_does(each, once, most, free):
    """What all edits share weighs more where there are few, so that fewer fit than many would say."""

    def taken(abreast):
        return each + once / abreast

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "free_bytes", lambda: free)
        fits = plan.compiled_edits_that_fit(taken, most)
        assert plan.compiled_edits_that_fit(lambda _: float("nan"), most) == most
    assert 1 <= fits <= most
    assert fits == 1 or fits * taken(fits) <= plan.SHARE * free * (1 + 1e-12)


def test_free_memory_is_some():
    assert plan.free_bytes() > 0


def test_sequences_carry_more_than_one_edit():
    """Low-rank edits are carried as whole weights."""
    one = {"down": LowRank(jnp.zeros((3, 11, 1)), jnp.zeros((3, 1, 14)))}
    carried = jax.eval_shape(lambda delta: empty_carry(delta, VOCABULARY, 5), one)
    size = sum(x.size for x in jax.tree.leaves(carried))
    assert size == 3 * 11 * 14


def test_long_edits_are_made_few_at_a_time():
    assert plan.edits_in_short_time(0) >= 10**9
    assert plan.edits_in_short_time(1e9) > plan.edits_in_short_time(5.7e12) == 1
    assert plan.edits_in_short_time(1e15) == 0, "one is made whatever it takes; see `fitting`"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "default_backend", lambda: "gpu")
        assert plan.edits_in_short_time(1e15) >= 10**9
