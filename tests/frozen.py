"""Fixed edits of a fixed model, whose figures tests/test_versions.py compares with those that were frozen.

The model's parameters lie in a file, and edits are made in double precision, so that processors and versions
of JAX differ by far less than the tolerance. Nothing is trained.
"""

from pathlib import Path

import jax
import jax.numpy as jnp

from lm.attention import left_padded_layout
from lm.editors.interface import edit_once
from tests.toys import at, doubled, load_parameters, make_toy
from tests.worlds import make_world

PARAMETERS = Path(__file__).parent / "golden" / "fixed_model.npz"
"""Of the toy's model (`tests.toys.train_toy`), in half precision."""


def make_fixed_toy():
    """The model of those parameters, with text of the world that it knows, and requests."""
    world = make_world()
    return make_toy(world, load_parameters(world, PARAMETERS))


def find_edit_figures(editor, toy):
    """Three numbers of an edit of two facts: how probable they are then, other answers, and losses."""
    with jax.enable_x64(True):
        model, request = doubled(toy.model), doubled(at(toy.pairs, 0))
        state = editor.prepare(model, doubled(toy.sample))
        delta, info = edit_once(editor, model, state, request, toy.keys[0])
        return [
            float(x) for x in _answer(model.with_delta(delta), request, toy.pairs.prompt[:, 0], info.loss)
        ]


@jax.jit
def _answer(edited, request, prompts, loss):
    def last_log_probabilities(tokens):
        return jax.nn.log_softmax(edited.logits(tokens, left_padded_layout(tokens))[:, -1])

    told = jnp.take_along_axis(last_log_probabilities(request.prompt), request.answer[:, :1], axis=1).sum()
    others = last_log_probabilities(prompts)
    return told, (others @ jnp.cos(jnp.arange(others.shape[1]))).sum(), jnp.nansum(loss)
