"""Peers who are like the subject: causes that tell nothing alone, and facts that tell the same."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm.editors.self_bayes.beliefs import Beliefs
from lm.editors.self_bayes.peers import MOST, PRIOR, find_relevance, hangs_together, weigh_peers
from lm.editors.self_bayes.reasoning import Mind, RequestContext, ask_peers

NOBODY = jnp.zeros((1, 1), jnp.int32)
SIZE = 4


def square_world(seed, subjects=96):
    """int[4, S]: two causes, what both decide in a Latin square, and a fact on which nothing depends."""
    rng = np.random.default_rng(seed)
    first, second, other = rng.integers(0, SIZE, (3, subjects))
    return np.stack([first, SIZE + second, 2 * SIZE + (first + second) % SIZE, 3 * SIZE + other])


def beliefs_of(facts, known):
    shape = facts.shape
    return Beliefs(NOBODY, NOBODY, facts[..., None], np.ones((*shape, 1)), np.where(known, 1.0, 1e-4))


def mind_of(facts, known, relevance):
    relations, objects = len(facts), 4 * SIZE
    possible = np.arange(objects) // SIZE == np.arange(relations)[:, None]
    read = jnp.asarray(known, jnp.float32)
    return Mind(
        relations=NOBODY, words=NOBODY, subjects=NOBODY, objects=jnp.arange(objects)[:, None],
        possible=jnp.asarray(possible), top=jnp.asarray(facts)[..., None],
        p=jnp.ones((*facts.shape, 1)), reading_probability=read, share=read, counts=read,
        kappa=jnp.ones((relations, relations)), persists=jnp.ones(relations), seldom=jnp.float32(0.1),
        depends=jnp.zeros((relations, relations)), reach=jnp.zeros((relations, 1, 2), jnp.int32),
        relevance=jnp.asarray(relevance), together=jnp.asarray(hangs_together(relevance)),
    )  # fmt: skip


def request_of(facts, known, subject, relation, new):
    is_subject = jnp.arange(facts.shape[1]) == subject
    read = jnp.asarray(known[:, subject], jnp.float32)
    return RequestContext(
        jnp.int32(relation), NOBODY, is_subject, jnp.arange(4 * SIZE) == new, None, None, read, read,
        jnp.asarray(facts[:, subject], jnp.int32), jnp.zeros(len(facts)),
    )  # fmt: skip


def test_two_causes_that_tell_nothing_alone_tell_their_effect_together():
    facts = square_world(0)
    known = np.ones(facts.shape, bool)
    silent = np.arange(24)
    known[2, silent] = False
    relevance = find_relevance(beliefs_of(facts, known), 0.03)
    assert relevance[2, :2].min() > 1 > 20 * relevance[2, 3]
    mind, right = mind_of(facts, known, relevance), 0
    for s in silent.tolist():
        new = (facts[0, s] + 1) % SIZE
        said = ask_peers(mind, request_of(facts, known, s, 0, new))
        assert np.asarray(said.relation)[np.asarray(said.real)].tolist() == [2]
        assert said.moves[0] > 0.99
        right += int(said.objects[0, 0]) == 2 * SIZE + (new + facts[1, s]) % SIZE
    assert right == len(silent)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.floats(0.3, 1.0))
def test_relevances_are_bounded(seed, share):
    rng = np.random.default_rng(seed)
    facts = square_world(seed, 40)
    known = rng.random(facts.shape) < share
    relevance = find_relevance(beliefs_of(facts, known), 0.03)
    assert relevance.min() >= 0
    assert relevance.max() <= MOST
    assert not np.diag(relevance).any()


@pytest.mark.parametrize("seed", range(3))
def test_the_same_fact_told_twice_counts_once(seed):
    """Its weight is shared out: no fit is better with a copy, and none is needed."""
    facts = square_world(seed)
    known = np.ones(facts.shape, bool)
    once = find_relevance(beliefs_of(facts[:3], known[:3]), 0.03)
    twice = find_relevance(beliefs_of(facts[[0, 1, 2, 0]], known), 0.03)
    np.testing.assert_allclose(twice[2, 0] + twice[2, 3], once[2, 0], atol=0.1)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_peers_weight_is_the_product_of_what_it_agrees_in(seed):
    rng = np.random.default_rng(seed)
    facts, known = rng.integers(0, 3, (3, 7)), rng.random((3, 7)) < 0.7
    relevance, told, answers = rng.random((3, 3)) * 3, rng.random(3) < 0.7, rng.integers(0, 3, 3)
    weight, prior = weigh_peers(*map(jnp.asarray, (relevance, answers, told, facts, known)))
    for r in range(3):
        by_hand = np.ones(7)
        for f in np.flatnonzero(told):
            alike = (facts[f] == answers[f]) & known[f]
            share = alike.sum() / max(known[f].sum(), 1)
            by_hand *= np.exp(relevance[r, f] * np.where(known[f], alike, share))
        np.testing.assert_allclose(weight[r] / prior[r], by_hand / PRIOR, rtol=1e-4)
