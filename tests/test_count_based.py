"""count-based: what is counted, by hand; and that an edit says so and leaves the rest."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm.editors.count_based import CountConfig
from lm.editors.count_based.method import CountBased, count_peers
from lm.editors.interface import Request, edit_batch
from lm.editors.self_bayes import BeliefConfig, FitConfig
from lm.editors.self_bayes.reasoning import Mind, RequestContext, locate_request
from tests.toys import at, requests_of

RELATIONS, OBJECTS = 3, 5


def mind_with(best, known):
    """A mind of which counting sees the most probable objects, int[R, S], and what was read."""
    nothing = {name: jnp.zeros(0) for name in Mind._fields}
    return Mind(**nothing)._replace(
        objects=jnp.zeros((OBJECTS, 2), int),
        top=jnp.asarray(best)[..., None],
        reading_probability=jnp.asarray(known),
    )


def asked_of(holders, known):
    nothing = {name: jnp.zeros(0) for name in RequestContext._fields}
    return RequestContext(**nothing)._replace(
        relation=jnp.int32(0), holders_new=jnp.asarray(holders, float), reading_probability=jnp.asarray(known)
    )


def test_by_hand():
    # Four subjects have the new object. Three of them agree in relation 1, two and two in relation 2.
    best = np.array([[1, 1, 1, 1, 0], [2, 2, 2, 4, 0], [3, 3, 0, 0, 0]])
    mind, asked = mind_with(best, np.ones((3, 5))), asked_of([1, 1, 1, 1, 0], np.ones(3))
    counted = count_peers(mind, asked, CountConfig())
    assert counted.follows.tolist() == [False, True, False], (
        "half is no majority, and the request is no peer's"
    )
    assert counted.objects[1][:2].tolist() == [2, 4]
    assert counted.share[1][:2].tolist() == [0.75, 0.25]
    assert count_peers(mind, asked, CountConfig(majority=0.4)).follows.tolist() == [False, True, True]
    assert not count_peers(mind, asked, CountConfig(fewest=5)).follows.any()
    alone = asked_of([1, 1, 1, 1, 0], [1, 0, 0])
    assert not count_peers(mind, alone, CountConfig()).follows.any(), "the subject has no such fact"
    assert count_peers(mind, alone, CountConfig(unread=True)).follows.tolist() == [False, True, False]


@given(
    best=st.lists(st.integers(0, OBJECTS - 1), min_size=18, max_size=18),
    known=st.lists(st.booleans(), min_size=18, max_size=18),
    holders=st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_it_is_what_a_loop_counts(best, known, holders):
    best, known = np.array(best).reshape(RELATIONS, 6), np.array(known, float).reshape(RELATIONS, 6)
    counted = count_peers(mind_with(best, known), asked_of(holders, np.ones(RELATIONS)), CountConfig())
    for r in range(RELATIONS):
        peers = [int(best[r, s]) for s in range(6) if holders[s] and known[r, s]]
        most = max(map(peers.count, peers), default=0)
        assert bool(counted.follows[r]) == (r > 0 and len(peers) >= 2 and 2 * most > len(peers))
        if peers:
            named = dict(zip(counted.objects[r].tolist(), counted.share[r].tolist(), strict=True))
            assert named == pytest.approx({o: peers.count(o) / len(peers) for o in range(OBJECTS)})


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"soft": False}, {"anchor": 0.0}])
def test_an_edit_says_what_was_counted(toy, changes):
    """The request is stated, and what its peers have follows; requests name what most subjects have."""
    graph = toy.world.graph
    facts = np.unique(graph.upstream_fact[graph.upstream_fact >= 0])[: len(toy.keys)]
    commonest = []
    for relation, truth in zip(graph.relation[facts], graph.object[facts], strict=True):
        others = graph.object[(graph.relation == relation) & (graph.object != truth)]
        commonest.append(np.bincount(others).argmax())
    batch = requests_of(toy.world, facts, np.array(commonest))
    fit = FitConfig(steps=60, tolerance=0.1)
    config = CountConfig(BeliefConfig(samples=1024, top=16), fit, others=16, at_once=8, **changes)
    editor = CountBased(config)
    mind = editor.prepare(toy.model, toy.sample)
    deltas, _ = edit_batch(editor, toy.model, mind, batch, toy.keys)
    right = []
    for i in range(len(toy.keys)):
        told = Request(*(jnp.asarray(x)[0] for x in at(batch, i)))
        asked = locate_request(toy.model, mind, told)
        counted = count_peers(mind, asked, config)
        edited = toy.model.with_delta(at(deltas, i))
        right.append(said(edited, asked.prompts[asked.relation]) == int(told.answer[0]))
        for r in np.flatnonzero(counted.follows):
            right.append(said(edited, asked.prompts[r]) == int(mind.objects[counted.objects[r, 0], 0]))
    assert len(right) > len(toy.keys), "something follows"
    assert np.mean(right) > 0.8


def said(model, prompt):
    """The most probable next token."""
    return int(model.unembed(model.read_prompts(prompt[None]).hidden)[0].argmax())


def test_settings_that_mean_nothing():
    for wrong in ({"majority": 1.0}, {"anchor": -1.0}, {"fewest": 0}):
        with pytest.raises(ValueError, match="majority|anchor|fewest"):
            CountConfig(**wrong)
