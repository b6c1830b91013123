"""Bayes' rule on beliefs: the exact agent's answers, where beliefs are what the exact agent has resolved."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes.exact import fit_exact
from bayes.request import EditRequest
from corpus.config import ExactConfig
from corpus.text.language import Kind
from lm.editors.self_bayes.reasoning import (
    DOUBT,
    Consequences,
    Mind,
    RequestContext,
    dependence_walks,
    infer_consequences,
    sharpen_consequences,
)
from tests.test_exact_agent import tiny_world

NOBODY = jnp.zeros((1, 1), jnp.int32)


def mind_of(graph, config, counts, resolved):
    """A mind that knows every fact as the agent does; subjects and objects are named by their numbers.

    Args:
        counts: [facts, K], statements of each object, or one for the object of a resolved fact.
        resolved: bool[facts], whether anything was said of it.
    """
    relations, subjects, objects = len(graph.relations), graph.subjects, graph.objects
    shape = (relations, len(subjects), len(objects))
    p, known, weight = np.zeros(shape), np.zeros(shape[:2]), np.zeros(shape[:2])
    at = graph.relation, np.searchsorted(subjects, graph.subject)
    total = counts.sum(axis=1)
    p[at] = counts / np.maximum(total, 1)[:, None]
    known[at], weight[at] = resolved, total
    top = np.argsort(-p, axis=2, kind="stable")
    linked = graph.upstream == np.arange(relations)[:, None]
    possible = np.array([np.isin(objects, graph.candidates_of(r)) for r in range(relations)])
    facts_persist = np.where(graph.upstream >= 0, config.persistence == "fact", True)
    return Mind(
        relations=NOBODY, words=NOBODY, subjects=NOBODY, objects=NOBODY, possible=jnp.array(possible),
        top=jnp.array(top), p=jnp.array(np.take_along_axis(p, top, axis=2)),
        reading_probability=jnp.array(known),
        share=jnp.array(weight),
        counts=jnp.array(weight),
        kappa=jnp.full((relations, relations), config.row_mass), seldom=jnp.float32(0.1),
        persists=jnp.array(facts_persist, jnp.float32),
        depends=jnp.array(linked, jnp.float32),
        reach=jnp.array(dependence_walks(graph.upstream, linked | linked.T)),
    )  # fmt: skip


def counted(graph, config, sentences, agent):
    """Statements of each object of each fact; what persists counts once, as what it most probably is."""
    spoken = sentences.take(sentences.kind == Kind.ATOMIC)
    fact = graph.find(spoken.a[:, 0], spoken.a[:, 1])
    counts = np.zeros((len(graph), len(graph.objects)))
    np.add.at(counts, (fact, np.searchsorted(graph.objects, spoken.a[:, 2])), 1)
    spoken_of = graph.find(sentences.a[:, 0], sentences.a[:, 1])
    resolved = np.isin(np.arange(len(graph)), spoken_of)
    persists = (graph.upstream_fact < 0) | (config.persistence == "fact")
    for f in np.flatnonzero(persists):
        counts[f] = 0
        if resolved[f]:
            best = agent.predict(int(graph.subject[f]), int(graph.relation[f])).mode()
            counts[f, np.searchsorted(graph.objects, best)] = 1
    return counts, resolved


@pytest.mark.parametrize("persistence", ["sentence", pytest.param("fact", marks=pytest.mark.slow)])
@settings(max_examples=6)
@given(seed=st.integers(0, 10**6), mass=st.sampled_from([0.3, 1.0, 4.0]))
def test_consequences_are_the_exact_agents(persistence, seed, mass):
    config = ExactConfig(
        persistence=persistence, row_mass=mass, statements=8, strata=(0.5, 0.2, 0.3), logical=0.0
    )
    graph, _, sentences = tiny_world(seed, config, ())
    agent = fit_exact(graph, config, sentences)
    counts, resolved = counted(graph, config, sentences, agent)
    mind = mind_of(graph, config, counts, resolved)
    rng = np.random.default_rng(seed)
    below = np.flatnonzero(graph.upstream_fact >= 0)
    for f in rng.permutation(below)[:3]:
        up = graph.upstream_fact[f]
        s, r, child = int(graph.subject[up]), int(graph.relation[up]), int(graph.relation[f])
        target = int(rng.choice(graph.candidates_of(r)))
        subject = graph.subjects == s
        holds = mind.top[r, :, 0] == np.searchsorted(graph.objects, target)
        facts = graph.find(np.full(len(graph.relations), s), np.arange(len(graph.relations)))
        share = np.where(facts >= 0, counts[facts].sum(axis=1), 0)
        known = np.where(facts >= 0, resolved[facts], 0).astype(np.float32)
        holders = mind.reading_probability[r] * holds * ~subject
        requested = jnp.array(graph.objects == target, jnp.float32)
        asked = RequestContext(
            jnp.int32(r), NOBODY, jnp.array(subject), requested, holders, 0 * holders, jnp.array(share),
            jnp.array(known), jnp.zeros(len(known), int), jnp.zeros(len(known)),
        )  # fmt: skip
        implied = infer_consequences(mind, asked)
        (at,) = np.flatnonzero(np.asarray(implied.relation) == child)
        # With its truth settled, whatever was said of the request itself does not matter.
        settled = without(sentences, up, graph)
        edited = fit_exact(graph, config, settled).with_edit(EditRequest(s, r, target, np.inf, "correction"))
        wanted = edited.distributions(np.array([s]), np.array([child]))[0]
        row = np.zeros(len(graph.objects))
        row[np.asarray(implied.objects[at])] = np.asarray(implied.row[at])
        before = counts[f] / max(counts[f].sum(), 1)
        moves = float(implied.moves[at])
        if persistence == "fact" and resolved[f]:
            assert moves == 0
            assert graph.objects[wanted.argmax()] == graph.objects[before.argmax()]
        else:
            np.testing.assert_allclose(moves * row + (1 - moves) * before, wanted, atol=1e-5)


def without(sentences, fact, graph):
    """The sentences that do not speak of a fact."""
    return sentences.take(
        ~((sentences.a[:, 0] == graph.subject[fact]) & (sentences.a[:, 1] == graph.relation[fact]))
    )


@settings(max_examples=6)
@given(seed=st.integers(0, 10**6), chance=st.floats(0, 1))
def test_doubt_about_which_is_the_cause_is_carried_into_what_moves(seed, chance):
    """What moves is the mean over both directions, where the request's is improbable or sure."""
    rng = np.random.default_rng(seed)
    subjects, objects = 12, 4
    top = rng.permuted(np.tile(np.arange(objects), (2, subjects, 1)), axis=2)
    p = -np.sort(-rng.dirichlet(np.ones(objects), (2, subjects)), axis=2)
    known = rng.random((2, subjects))
    persists = rng.random(2)

    def moves(forwards):
        depends = np.array([[0, forwards], [1 - forwards, 0]])
        mind = Mind(
            relations=NOBODY, words=NOBODY, subjects=NOBODY, objects=NOBODY,
            possible=jnp.ones((2, objects), bool), top=jnp.array(top), p=jnp.array(p),
            reading_probability=jnp.array(known), share=jnp.array(known), counts=jnp.array(known),
            kappa=jnp.ones((2, 2)), seldom=jnp.float32(0.1), persists=jnp.array(persists),
            depends=jnp.array(depends), reach=jnp.array(dependence_walks(np.array([-1, 0]), np.ones((2, 2)))),
        )  # fmt: skip
        asked = RequestContext(
            jnp.int32(0), NOBODY, jnp.arange(subjects) == 0, jnp.eye(objects)[seed % objects],
            jnp.zeros(subjects), jnp.zeros(subjects), jnp.array(known[:, 0]), jnp.array(known[:, 0]),
            jnp.zeros(2, int), jnp.zeros(2),
        )  # fmt: skip
        return float(infer_consequences(mind, asked).moves[0])

    # A dependence that is in doubt is acted on.
    acted_on = 1.0 if np.float32(chance) >= np.float32(DOUBT) else chance
    assert moves(chance) == pytest.approx(acted_on * moves(1.0) + (1 - acted_on) * moves(0.0), abs=1e-5)
    assert moves(0.0) == pytest.approx(1 - known[1, 0], abs=1e-5), "what was read of a cause stays"


def told_mind(objects, subjects):
    """Two relations, the second depends on the first; three subjects of each object, all read, all sure."""
    modes = jnp.arange(subjects) % objects
    row = jnp.ones((2, subjects))
    linked = jnp.array([[0.0, 1.0], [0.0, 0.0]])
    return Mind(
        relations=NOBODY, words=NOBODY, subjects=NOBODY, objects=jnp.arange(objects)[:, None],
        possible=jnp.ones((2, objects), bool), top=jnp.tile(modes[None, :, None], (2, 1, 1)),
        p=row[..., None], reading_probability=row, share=row, counts=row, kappa=jnp.full((2, 2), 0.1),
        seldom=jnp.float32(0.1), persists=jnp.zeros(2), depends=linked,
        reach=jnp.array(dependence_walks(np.array([-1, 0]), np.asarray(linked))),
    )  # fmt: skip


@pytest.mark.parametrize("persists", [0.0, 1.0])
def test_what_an_earlier_edit_told_stays_and_what_only_followed_from_one_follows_again(persists):
    """The cause becomes object 2. Its effect is 1 now.

    Where the cause was 0, the effect was told. Where the cause was 1, it only followed.
    """
    objects, subjects = 4, 13
    mind = told_mind(objects, subjects)._replace(persists=jnp.full(2, persists))
    share = jnp.full(2, 1.0 if persists == 0 else 0.1)
    read = jnp.full(2, 0.0)

    def moves(answers, changed):
        holders = jnp.zeros(subjects)
        request = RequestContext(
            jnp.int32(0), NOBODY, jnp.arange(subjects) == 12, jnp.eye(objects)[2], holders, holders,
            share, read, jnp.array(answers), jnp.array(changed),
        )  # fmt: skip
        return float(infer_consequences(mind, request).moves[0])

    unedited = moves([0, 0], [0.0, 0.0])
    told, followed = moves([0, 1], [0.0, 0.95]), moves([1, 1], [0.9, 0.95])
    assert told < 0.25
    assert followed == pytest.approx(unedited, abs=0.01 if persists else 0.1)
    assert unedited > 0.7


@given(st.integers(2, 7), st.integers(0, 10**6))
def test_walks_reach_what_hangs_together_once_and_directly_where_it_may(relations, seed):
    rng = np.random.default_rng(seed)
    parent = np.array([-1] + [int(rng.integers(-1, r)) for r in range(1, relations)])
    forest = parent == np.arange(relations)[:, None]
    doubt = np.triu(rng.random((relations, relations)) < 0.2, 1) * 2 * DOUBT
    linked = np.maximum(forest | forest.T, doubt + doubt.T)
    for start, walk in enumerate(dependence_walks(parent, linked)):
        reached = walk[walk[:, 0] >= 0]
        assert len(set(reached[:, 0])) == len(reached), "nothing twice"
        assert start not in reached[:, 0]
        assert set(np.flatnonzero(linked[start] >= DOUBT)) - {start} == set(
            reached[reached[:, 1] == start, 0]
        )
        for place, (_, near) in enumerate(reached):
            assert near == start or near in reached[:place, 0], "by way of what was reached before"


@given(st.lists(st.floats(0.001, 0.999), min_size=2, max_size=8), st.floats(1, 5))
def test_sharper_is_surer_and_says_the_same(chances, sharpness):
    moves = jnp.array(sorted(chances))
    nothing = jnp.zeros(len(chances))
    said = Consequences(nothing, nothing, moves, nothing, nothing)
    np.testing.assert_allclose(sharpen_consequences(said, 1.0).moves, moves, rtol=1e-4)
    sharp = np.asarray(sharpen_consequences(said, sharpness).moves)
    assert (np.diff(sharp) >= -1e-6).all()
    assert (np.abs(sharp - 0.5) >= np.abs(np.asarray(moves) - 0.5) - 1e-5).all()
    assert ((sharp - 0.5) * (np.asarray(moves) - 0.5) >= -1e-6).all()
