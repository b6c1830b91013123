"""Dependences, their direction, and persistence, found in the beliefs of a mind that we made up."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from bayes.structure import log_dirichlet_multinomial
from lm.editors.self_bayes import DependenceConfig, dependence
from lm.editors.self_bayes.beliefs import Beliefs
from lm.editors.self_bayes.dependence import (
    MASSES,
    SHARES,
    average_worlds,
    find_dependence,
    normalise,
    reading_probability,
    seldom_share,
    share_of_doubt,
)

SUBJECTS, CAUSES, EFFECTS, NOISE = 300, 30, 8, 0.05
CONFIG = DependenceConfig()


def beliefs(seed, persistence="fact", dependent=True, mass=1.0):
    """Relations 0 and 2 are causes, of 1 and 3; the model believes frequencies of some statements.

    Half of the downstream facts were never read: it says something else of them, and seldom says it.
    """
    rng = np.random.default_rng(seed)
    popular = rng.dirichlet(np.full(CAUSES, 0.5))
    p = np.full((4, SUBJECTS, CAUSES), 0.0)
    said = np.full((4, SUBJECTS), 0.3)
    for up, down in ((0, 1), (2, 3)):
        rows = rng.dirichlet(np.full(EFFECTS, mass / EFFECTS), CAUSES)
        cause = rng.choice(CAUSES, SUBJECTS, p=popular)
        followed = cause if dependent else rng.permutation(cause)
        effects = np.array([rng.choice(EFFECTS, p=rows[a]) for a in followed])
        p[up], p[down] = _surely(cause), _surely(effects)
        if persistence == "sentence":
            draws = np.array([rng.multinomial(16, rows[a]) for a in followed]) / 16
            p[down] = 0
            p[down, :, :EFFECTS] = draws
        unread = rng.random(SUBJECTS) < 0.5
        p[down, unread] = 0
        p[down, unread, :EFFECTS] = rng.dirichlet(np.ones(EFFECTS), unread.sum())
        said[down, unread] = 0.001
    top = np.argsort(-p, axis=2, kind="stable")
    p = np.take_along_axis(p, top, axis=2)
    nobody = np.zeros((SUBJECTS, 1), np.int32)
    return Beliefs(nobody, nobody, top, p.astype(np.float32), said * p[:, :, 0])


def _surely(objects):
    return np.eye(CAUSES)[objects] * (1 - NOISE) + NOISE / CAUSES


@pytest.mark.parametrize("persistence", ["fact", "sentence"])
@pytest.mark.parametrize("seed", range(6))
def test_dependences_and_persistence_are_found(persistence, seed):
    """What most minds show, and these do: in a rare one chance would hide it."""
    forest = find_dependence(beliefs(seed, persistence), CONFIG)
    linked = {frozenset((i, int(up))) for i, up in enumerate(forest.parent) if up >= 0}
    # A further one may be there by chance; the next test but one counts those.
    assert linked >= {frozenset((0, 1)), frozenset((2, 3))}
    if persistence == "sentence":
        # A cause persists, so here the direction is plain; where effects do too, it is a guess.
        assert forest.parent[[1, 3]].tolist() == [0, 2]
        assert forest.persists[[1, 3]].max() < 0.01
    else:
        assert forest.persists.min() > 0.99


def test_what_does_not_depend_is_seldom_said_to():
    """Of 12 pairs in each of 30 minds hardly one: the odds of rows are Bayes factors."""
    minds = [find_dependence(beliefs(seed, dependent=False), CONFIG) for seed in range(30)]
    assert sum((mind.parent >= 0).sum() for mind in minds) <= 5
    assert np.mean([mind.link_probability.sum() / 2 for mind in minds]) < 0.2


def test_a_relation_that_was_never_read_depends_on_nothing():
    """Groups that the corpus never names: the model says nothing of them readily, or nothing at all."""
    mind = beliefs(0)
    silent = mind._replace(p=mind.p.copy(), mention_probability=mind.mention_probability.copy())
    silent.p[1], silent.mention_probability[1] = 0, 0
    forest, whole = find_dependence(silent, CONFIG), find_dependence(mind, CONFIG)
    assert forest.parent[1] == -1
    assert not (forest.parent == 1).any()
    assert forest.parent[[2, 3]].tolist() == whole.parent[[2, 3]].tolist()
    assert np.isfinite(forest.persists).all()


def test_evidence_is_dirichlet_multinomial():
    rng = np.random.default_rng(0)
    rows, drawn = rng.integers(0, 5, 60), rng.integers(0, 7, 60)
    evidence = dependence._log_evidence(rows, drawn, 9)
    wanted = [log_dirichlet_multinomial(rows, drawn, mass, 9) for mass in MASSES]
    np.testing.assert_allclose(evidence, wanted, rtol=1e-9)


@given(*[st.floats(-3000, 3000)] * 2, *[st.floats(0, 0.5)] * 2, *[st.floats(1, 300)] * 2)
def test_the_rest_tells_the_cause_where_it_tells_anything(there, back, share, share_back, x, x_back):
    gain, share = np.array([[np.nan, there], [back, np.nan]]), np.array([[0, share], [share_back, 0]])
    more = share * (gain - gain.T) / 2
    rest = dependence._log_weights(gain, share, np.array([[0, x], [x_back, 0]]), 0.5)[0]
    if max(more[0, 1], more[1, 0]) < min(x, x_back) - 5 and abs(x - x_back) > 0.1:
        assert (rest[0, 1] > rest[1, 0]) == (x > x_back)
    # Where the rest is noise, rows tell.
    noise = dependence._log_weights(gain, share, np.full((2, 2), -1e6), 0.5)[0]
    assert noise[0, 1] - noise[1, 0] == pytest.approx(more[0, 1] - more[1, 0], abs=1e-6)


def test_few_share_a_cause():
    """In a model of 100,000 facts rows favoured the effect, and the rest the cause."""
    gain, share = np.array([[np.nan, 1984], [2424, np.nan]]), np.array([[0, 0.098], [0.064, 0]])
    weights = dependence._log_weights(gain, share, np.array([[0, 47.3], [24.5, 0]]), 0.5)[0]
    assert weights[0, 1] > weights[1, 0] + 20


def is_forest(parent):
    """Whether nothing depends on itself in the end."""
    for start in range(len(parent)):
        at = start
        for _ in parent:
            at = parent[at] if at >= 0 else at
        if at >= 0:
            return False
    return True


@given(st.integers(0, 10**6))
def test_dependence_and_persistence_are_those_of_all_worlds_together(seed):
    """Against the sum over both kinds of worlds, all forests of three, and all ways for them to persist."""
    rng = np.random.default_rng(seed)
    gain, share = rng.normal(0, 3, (3, 3)), rng.random((3, 3)) / 2
    fresh = rng.normal(0, 5, (3, 3))
    np.fill_diagonal(gain, np.nan)
    total, depends, among = 0.0, np.zeros((3, 3)), np.zeros(3)
    for of_all, parent in itertools.product(SHARES, itertools.product([-1, 0, 1, 2], repeat=3)):
        if not is_forest(parent):
            continue
        edges = [(up, down) for down, up in enumerate(parent) if up >= 0]
        for persists in itertools.product([0, 1], repeat=len(edges)):
            weight = 1.0
            for (up, down), one in zip(edges, persists, strict=True):
                back_and_forth = (gain[up, down] + gain[down, up]) / 2
                more = share[up, down] * (gain[up, down] - gain[down, up]) / 2
                nats = back_and_forth + (more if one else fresh[up, down])
                weight *= np.exp(nats) * (of_all if one else 1 - of_all)
            total += weight
            for (up, down), one in zip(edges, persists, strict=True):
                depends[up, down] += weight
                among[down] += weight * one
    found = average_worlds(gain, share, fresh)
    np.testing.assert_allclose(found.depends, depends / total, atol=1e-9)
    is_effect = depends.sum(axis=0) / total > 2 * dependence.LIKELY
    np.testing.assert_allclose(found.persists[is_effect], (among / depends.sum(axis=0))[is_effect], atol=1e-9)
    assert set(found.persists[depends.sum(axis=0) / total < dependence.LIKELY / 2]) <= {1.0}


@given(st.floats(-5, 5))
def test_one_dependence_is_judged_by_itself_and_others_that_agree_make_it_surer(x):
    def judge(dependences):
        size = dependences + 1
        nats = np.full((size, size), x)
        return average_worlds(0 * nats, 0 * nats, nats, (-1, *[0] * dependences)).persists[1]

    assert judge(1) == pytest.approx(expit(-x), abs=1e-9)
    assert (judge(4) - judge(1)) * x <= 1e-9


def test_one_relation_that_looks_otherwise_is_judged_by_the_others():
    """Three effects are surely drawn, and one looks a little like a fact."""
    nats = np.tile([0.0, -1.0, 10, 10, 10], (5, 1))
    assert average_worlds(0 * nats, 0 * nats, nats, (-1, 0, 0, 0, 0)).persists[1:].max() < 0.1


@given(st.integers(0, 10**6))
def test_share_of_doubt_is_that_of_pairs(seed):
    """Against a loop over all pairs of two who share a row."""
    rng = np.random.default_rng(seed)
    rows = np.unique(rng.integers(0, 4, 12), return_inverse=True)[1]
    belief = rng.dirichlet(np.full(5, 0.5), 12)
    own, row = [], []
    for i in range(12):
        peers = [j for j in range(12) if j != i and rows[j] == rows[i]]
        if peers:
            own.append(1 - belief[i] @ belief[i])
            row.append(np.mean([1 - belief[i] @ belief[j] for j in peers]))
    wanted = np.mean(own) / np.mean(row) if row else dependence.OWN_DOUBT
    assert share_of_doubt(rows, order_by_probability(belief)) == pytest.approx(wanted)
    alike = order_by_probability(np.repeat(belief[:1], 12, axis=0))
    assert share_of_doubt(rows, alike) == pytest.approx(1 if row else 0.7)
    sure = order_by_probability(np.eye(5)[rng.integers(0, 5, 12)])
    assert share_of_doubt(rows, sure) in (0, dependence.OWN_DOUBT)


def order_by_probability(belief):
    """Distributions over all objects as the most probable ones first, those without probability dropped."""
    order = np.argsort(-belief, axis=1)
    return normalise(order, np.take_along_axis(belief, order, axis=1))._replace(size=belief.shape[1])


@given(st.integers(0, 10**6))
def test_likeness_of_what_is_left_is_that_of_whole_distributions(seed):
    """Against a loop over subjects and all objects."""
    rng = np.random.default_rng(seed)
    rows = np.unique(rng.integers(0, 4, 12), return_inverse=True)[1]
    belief = rng.dirichlet(np.full(6, 0.3), 12)
    nats = []
    for i in range(12):
        others = [j for j in range(12) if j != i]
        everybody = (belief[others].sum(axis=0) + 1 / 6) / 12
        row = [j for j in others if rows[j] == rows[i]]
        left = np.arange(6) != belief[i].argmax()
        own = belief[i][left] / belief[i][left].sum()
        for p in (belief[row].sum(axis=0) + everybody, everybody):
            nats.append(own @ np.log(p[left] / p[left].sum()))
    peers, everybody = np.reshape(nats, (12, 2)).mean(axis=0)
    wanted = peers - max(everybody, -np.log(5))
    assert dependence._rest_likeness(rows, order_by_probability(belief)) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_facts_persist_though_the_rest_of_beliefs_looks_like_their_row(seed):
    """A model that mixes what is said of others into each fact: how little it doubts tells."""
    mind = beliefs(seed)
    p = np.take_along_axis(mind.p, np.argsort(mind.top, axis=2), axis=2)
    for up, down in ((0, 1), (2, 3)):
        held_by = np.eye(CAUSES)[mind.top[up, :, 0]]
        rows = (held_by.T @ p[down] + 1e-3) / (held_by.T @ p[down] + 1e-3).sum(axis=1, keepdims=True)
        p[down] = 0.85 * p[down] + 0.15 * held_by @ rows
    top = np.argsort(-p, axis=2, kind="stable")
    mixed = mind._replace(top=top, p=np.take_along_axis(p, top, axis=2))
    assert find_dependence(mixed, CONFIG).persists.min() > 0.9


def test_what_is_given_is_taken():
    config = DependenceConfig(given=(-1, -1, -1, 1), persistence=0.25)
    forest = find_dependence(beliefs(0), config)
    assert forest.parent.tolist() == [-1, -1, -1, 1]
    assert forest.persists.tolist() == [1, 1, 1, 0.25]


@given(st.integers(0, 10**6))
def test_how_often_was_it_read(seed):
    said = np.random.default_rng(seed).random((4, 6))
    share, known = reading_probability(said, 0.03)
    assert np.allclose(share.max(axis=0), 1)
    assert ((known >= 0) & (known <= 1)).all()
    # As likely as not at the share that is called seldom; scale and order of relations do not matter.
    np.testing.assert_allclose(reading_probability(np.array([[1.0], [0.03]]), 0.03)[1][1], 0.5, rtol=1e-6)
    np.testing.assert_allclose(reading_probability(3 * said, 0.03)[1], known, rtol=1e-6)
    np.testing.assert_allclose(reading_probability(said[::-1], 0.03)[1], known[::-1], rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_both_causes_of_one_effect_hang_together_with_it_and_neither_follows_the_other(seed):
    """A forest has room for one cause; the other must not seem to be drawn from the effect."""
    rng = np.random.default_rng(seed)
    causes = rng.choice(CAUSES, (2, SUBJECTS), p=rng.dirichlet(np.ones(CAUSES)))
    rows = rng.dirichlet(np.full(EFFECTS, 0.3 / EFFECTS), (2, CAUSES))
    which = (rng.random(SUBJECTS) > 0.6).astype(int)
    drawn = rows[which, causes[which, np.arange(SUBJECTS)]]
    p = np.zeros((4, SUBJECTS, CAUSES))
    p[0], p[1], p[3] = _surely(causes[0]), _surely(causes[1]), _surely(rng.integers(0, CAUSES, SUBJECTS))
    p[2, :, :EFFECTS] = [rng.multinomial(16, row) / 16 for row in drawn]
    top = np.argsort(-p, axis=2, kind="stable")
    nobody = np.zeros((SUBJECTS, 1), np.int32)
    p = np.take_along_axis(p, top, axis=2)
    found = find_dependence(Beliefs(nobody, nobody, top, p.astype(np.float32), 0.25 * p[:, :, 0]), CONFIG)
    assert found.link_probability[0, 2] > 0.9
    assert found.link_probability[1, 2] > 0.9
    # An edit of one moves the other by way of the effect only if that is its cause, and it is a draw.
    by_way = found.depends[2, :2] * (1 - found.persists[:2])
    assert by_way.max() < 0.1, "causes persist"


def test_what_a_model_hardly_mentions_tells_what_it_has_read():
    """A model that blurs speaks more of what it never read; one that read all speaks as often of all."""
    said = np.ones((4, SUBJECTS))

    def seldom(doubt=0.0):
        p = np.broadcast_to(np.float32([1 - doubt, doubt]), (4, SUBJECTS, 2))
        return seldom_share(beliefs(0)._replace(p=p, mention_probability=said * (1 - doubt)), 0.03)

    assert seldom() == seldom(doubt=0.9) == 0.03
    said[3] = 0.004
    assert seldom() == 0.03
    said[3] = 0.08
    assert seldom() == pytest.approx(0.16)
    assert seldom(doubt=0.9) == pytest.approx(0.16)
    known = reading_probability(said, seldom())[1] > 0.5
    assert known[:3].all()
    assert not known[3].any()
    said[3] = 0.29
    assert (reading_probability(said, seldom())[1] > 0.5).all()
