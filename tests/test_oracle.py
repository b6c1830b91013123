"""The oracle: beliefs are told as facts with probabilities, and an adapter comes to hold them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lm.editors.interface import Request, edit_batch, make_requests
from lm.editors.self_bayes import FitConfig
from testbed.engine.controls import OracleConfig
from testbed.engine.controls.oracle import Oracle, beliefs_of


def told(world, beliefs):
    """One request of facts with their probabilities."""
    facts = [fact for fact, _ in beliefs]
    one = make_requests(world.tokenizer, facts, np.ones(len(facts)), [p for _, p in beliefs])
    return Request(*(jnp.asarray(x)[:, 0] for x in one))


def test_facts_of_one_prompt_are_one_belief(world):
    graph = world.graph
    (s, t), r, (a, b) = graph.subject[[0, -1]].tolist(), int(graph.relation[0]), graph.objects[:2].tolist()
    nothing = [((s, r, a), 0.0)] * 2
    asked = [((s, r, a), 0.6), ((s, r, b), 0.2), ((t, r, b), 0.5), ((t, r, b), 0.0), *nothing]
    targets = beliefs_of(told(world, asked), 2)
    np.testing.assert_allclose(targets.share, [0.8, 0.5, 0.0])
    np.testing.assert_allclose(targets.probability, [[0.75, 0.25], [1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(targets.weight, [1, 1, 0], "what only fills up weighs nothing")
    np.testing.assert_array_equal(targets.prompts[0], targets.prompts[2])
    assert (np.asarray(targets.prompts[0]) != np.asarray(targets.prompts[1])).any()
    np.testing.assert_array_equal(targets.objects[0, :, 0], [world.tokenizer.entity(o)[0] for o in (a, b)])


@pytest.mark.slow
def test_an_edit_comes_near_what_it_was_told(toy):
    """Soft answers about three subjects; one adapter of this size does not hold all of them to the end."""
    world, graph = toy.world, toy.world.graph
    subjects = np.unique(graph.subject)[:3].tolist()
    (r,), objects = np.unique(graph.relation)[:1].tolist(), graph.objects.tolist()
    pairs = ((0, 0.6), (1, 0.3))
    request = told(world, [((s, r, objects[i + k]), p) for i, s in enumerate(subjects) for k, p in pairs])
    editor = Oracle(OracleConfig(FitConfig(steps=80, tolerance=0.01, learning_rate=0.01), named=2))
    batch = jax.tree.map(lambda x: x[None], request)
    deltas, _ = edit_batch(editor, toy.model, {}, batch, toy.keys[:1])
    edited = toy.model.with_delta(jax.tree.map(lambda x: x[0], deltas))
    targets = beliefs_of(request, 2)

    def far(model):
        said = jax.nn.softmax(model.unembed(model.read_prompts(targets.prompts).hidden))
        p = np.take_along_axis(np.asarray(said), np.asarray(targets.objects[..., 0]), axis=1)
        return np.abs(p - [0.6, 0.3]).sum(axis=1)

    assert far(edited).mean() < 0.5 * far(toy.model).mean()
    assert far(edited).min() < 0.1
