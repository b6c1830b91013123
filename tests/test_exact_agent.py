"""The exact agent equals brute-force enumeration of every world, before and after edits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from bayes.exact import fit_exact
from bayes.interface import EditRequest
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.exact import draw_world, sample_exact
from corpus.language import Kind
from corpus.sentences import Sentences, concatenate
from tests import naive
from tests.test_exact import tiny_graph

TOLERANCE = 1e-10


def certificates(graph, model, facts):
    """One sentence that settles each fact."""
    n = len(facts)
    atoms = np.column_stack([graph.subject[facts], graph.relation[facts], model.truth[facts]]).astype(
        np.int32
    )
    none = np.full((n, 3), -1, np.int32)
    return Sentences(np.full(n, Kind.NOT, np.int8), np.zeros(n, bool), graph.subject[facts], atoms, none)


def tiny_world(seed, config, open_subjects):
    """A world whose facts are settled but for those of the open subjects, which say little."""
    rng = np.random.default_rng(seed)
    graph = tiny_graph(rng, subjects=2 + seed % 2, objects=2 + (seed // 2) % 2)
    graph, model = draw_world(graph, config, rng, redraw=True)
    sentences, _ = sample_exact(graph, model, config, rng)
    # Few sentences about each open subject, and no connectives, which would settle it.
    keep = np.ones(len(sentences), bool)
    is_open = np.isin(sentences.about, open_subjects)
    keep[is_open] = (rng.random(is_open.sum()) < 0.15) & (sentences.kind[is_open] <= Kind.TRUTH)
    sentences = sentences.take(keep)
    spoken = np.unique(graph.find(sentences.a[:, 0], sentences.a[:, 1]))
    own = (graph.upstream_fact < 0) | (config.persistence == "fact")
    settled = spoken[own[spoken] & ~np.isin(graph.subject[spoken], open_subjects)]
    # What a settled fact hangs on is settled too.
    above = graph.upstream_fact[np.flatnonzero(~np.isin(graph.subject, open_subjects))]
    settled = np.union1d(settled, above[above >= 0])
    return graph, model, concatenate(sentences, certificates(graph, model, settled))


worlds = st.tuples(
    st.integers(0, 10**6),
    st.builds(
        ExactConfig,
        persistence=st.sampled_from(["fact", "sentence"]),
        noise=st.sampled_from([0.05, 0.3]),
        label_noise=st.sampled_from([0.0, 0.1]),
        root_mass=st.sampled_from([0.5, 4.0]),
        row_mass=st.sampled_from([0.3, 3.0]),
        mention=st.sampled_from(["coin", "uniform"]),
        logical=st.just(0.0),
    ),
)


def assert_equals_enumeration(agent, graph, config, sentences, subjects, extra=(), relations=(0, 1, 2)):
    expected = naive.exact_posterior(graph, config, sentences, extra)
    for f in np.flatnonzero(np.isin(graph.subject, subjects) & np.isin(graph.relation, relations)):
        if f in expected:
            p = agent.predict(int(graph.subject[f]), int(graph.relation[f])).dense()
            want = [expected[f][int(o)] for o in graph.candidates_of(int(graph.relation[f]))]
            np.testing.assert_allclose(p, want, atol=TOLERANCE)


@hypothesis_settings(max_examples=80)
@given(worlds)
def test_equals_enumeration(world):
    seed, config = world
    graph, _, sentences = tiny_world(seed, config, [0])
    assert_equals_enumeration(fit_exact(graph, config, sentences), graph, config, sentences, [0])


def random_edits(draw_from, graph, config, subjects, relations, count):
    """Edits of facts of the given subjects, and the same as further evidence for the enumeration."""
    edits, extra = [], []
    facts = np.flatnonzero(np.isin(graph.subject, subjects) & np.isin(graph.relation, relations))
    for _ in range(count if len(facts) else 0):
        f = int(draw_from.choice(facts))
        s, r = int(graph.subject[f]), int(graph.relation[f])
        o = int(draw_from.choice(graph.candidates_of(r)))
        own = config.persistence == "fact" or graph.upstream_fact[f] < 0
        if own:
            w = float(draw_from.choice([0.3, 1.0, 2.5]))
            others = len(graph.candidates_of(r)) - 1
            extra.append((f, o, w * np.log((1 - config.noise) * others / config.noise)))
        else:
            w = float(draw_from.integers(1, 4))
            extra.append((f, o, int(w)))
        edits.append(EditRequest(s, r, o, w))
    return edits, extra


@hypothesis_settings(max_examples=80)
@given(worlds, st.integers(1, 3))
def test_edits_equal_enumeration(world, count):
    seed, config = world
    graph, _, sentences = tiny_world(seed, config, [0])
    edits, extra = random_edits(np.random.default_rng(seed), graph, config, [0], [0, 1, 2], count)
    agent = fit_exact(graph, config, sentences)
    for edit in edits:
        agent = agent.with_edit(edit)
    assert_equals_enumeration(agent, graph, config, sentences, [0], extra)


@hypothesis_settings(max_examples=80)
@given(worlds, st.integers(1, 2), st.sampled_from([[0, 1], [2]]))
def test_the_ripple_of_an_edit_on_other_subjects_equals_enumeration(world, count, relations):
    seed, config = world
    graph, _, sentences = tiny_world(seed, config, [0, 1])
    edits, extra = random_edits(np.random.default_rng(seed), graph, config, [0], relations, count)
    agent = fit_exact(graph, config, sentences)
    for edit in edits:
        agent = agent.with_edit(edit)
    if edits:
        # Anybody else would be asked with subject 1 resolved, which it is not.
        assert_equals_enumeration(agent, graph, config, sentences, [1], extra, relations)


def beliefs(agent):
    graph = agent.graph
    return [agent.predict(int(s), int(r)).dense() for s, r in zip(graph.subject, graph.relation, strict=True)]


def assert_same(a, b, tolerance=TOLERANCE):
    for p, q in zip(a, b, strict=True):
        np.testing.assert_allclose(p, q, atol=tolerance)


@hypothesis_settings(max_examples=50)
@given(worlds)
def test_beliefs_are_distributions_and_the_order_of_evidence_does_not_matter(world):
    seed, config = world
    graph, _, sentences = tiny_world(seed, config, [0])
    found = beliefs(fit_exact(graph, config, sentences))
    for p in found:
        assert (p >= 0).all()
        assert p.sum() == pytest.approx(1, abs=1e-12)
    order = np.random.default_rng(seed).permutation(len(sentences))
    assert_same(found, beliefs(fit_exact(graph, config, sentences.take(order))))


@hypothesis_settings(max_examples=50)
@given(worlds)
def test_edits_commute_halves_make_a_whole_and_the_fitted_agent_stays(world):
    seed, config = world
    graph, _, sentences = tiny_world(seed, config, [0])
    agent = fit_exact(graph, config, sentences)
    before = beliefs(agent)
    edits, _ = random_edits(np.random.default_rng(seed), graph, config, [0], [0, 1, 2], 2)
    a, b = edits
    assert_same(beliefs(agent.with_edit(a).with_edit(b)), beliefs(agent.with_edit(b).with_edit(a)))
    if agent.has_truth(int(graph.find(a.subject, a.relation))):
        half = a._replace(weight=a.weight / 2)
        assert_same(beliefs(agent.with_edit(half).with_edit(half)), beliefs(agent.with_edit(a)))
        nothing = beliefs(agent.with_edit(a._replace(weight=1e-13)))
        own = [i for i, s in enumerate(graph.subject) if s == 0]
        assert_same([nothing[i] for i in own], [before[i] for i in own])
    for p, q in zip(beliefs(agent), before, strict=True):
        assert (p == q).all()


@hypothesis_settings(max_examples=50)
@given(worlds, st.floats(0.05, 0.99))
def test_the_weight_reaches_the_credence_exactly(world, credence):
    seed, config = world
    graph, _, sentences = tiny_world(seed, config, [0])
    agent = fit_exact(graph, config, sentences)
    for f in np.flatnonzero(graph.subject == 0):
        r = int(graph.relation[f])
        before = agent.predict(0, r).dense()
        if not agent.has_truth(int(f)) or before.min() < 1e-9:
            continue
        target = int(np.argmin(before))
        o = int(graph.candidates_of(r)[target])
        after = agent.with_edit(EditRequest(0, r, o, agent.weight_for(0, r, o, credence)))
        wanted = credence if before[target] < credence else (1 + before[target]) / 2
        assert after.predict(0, r).dense()[target] == pytest.approx(wanted, abs=1e-10)


@hypothesis_settings(max_examples=50)
@given(worlds)
def test_belief_is_a_martingale(world):
    """Averaged over what the agent expects to be told, its posterior is its prior."""
    seed, config = world
    graph, _, sentences = tiny_world(seed, config, [0])
    agent = fit_exact(graph, config, sentences)
    own = [i for i, s in enumerate(graph.subject) if s == 0]
    before = beliefs(agent)
    for f in own:
        r = int(graph.relation[f])
        p = agent.predict(0, r).dense()
        noise = config.noise if agent.has_truth(f) else 0.0
        told = p * (1 - noise) + (1 - p) * noise / (len(p) - 1)
        average = [np.zeros_like(q) for q in before]
        for k, chance in enumerate(told):
            edited = beliefs(agent.with_edit(EditRequest(0, r, int(graph.candidates_of(r)[k]), 1.0)))
            average = [a + chance * q for a, q in zip(average, edited, strict=True)]
        assert_same([average[i] for i in own], [before[i] for i in own])


@hypothesis_settings(max_examples=50)
@given(worlds)
def test_corrections_obey_bayes_rule_both_ways(world):
    """P(d = k | u = a) / P(d = k) = P(u = a | d = k) / P(u = a)."""
    seed, config = world
    graph, _, sentences = tiny_world(seed, config, [0])
    agent = fit_exact(graph, config, sentences)
    if graph.find(0, 1) < 0 or config.persistence == "sentence":
        return
    up, down = agent.predict(0, 0).dense(), agent.predict(0, 1).dense()
    for a, o in enumerate(graph.candidates_of(0)):
        for k, o2 in enumerate(graph.candidates_of(1)):
            if min(up[a], down[k]) > 1e-9:
                given_up = (
                    agent.with_edit(EditRequest(0, 0, int(o), kind="correction")).predict(0, 1).dense()[k]
                )
                given_down = (
                    agent.with_edit(EditRequest(0, 1, int(o2), kind="correction")).predict(0, 0).dense()[a]
                )
                assert given_up / down[k] == pytest.approx(given_down / up[a], rel=1e-8)


@hypothesis_settings(max_examples=30)
@given(worlds, st.sampled_from([0.0, 0.4, 1.0]))
def test_a_change_of_the_world_equals_enumeration(world, redraw):
    seed, config = world
    graph, _, sentences = tiny_world(seed, config, [0])
    agent = fit_exact(graph, config, sentences)
    before = beliefs(agent)
    for place, o in enumerate(graph.candidates_of(0)):
        changed = agent.with_edit(EditRequest(0, 0, int(o), kind="do", redraw=redraw))
        assert changed.predict(0, 0).dense().tolist() == np.eye(len(before[0]))[place].tolist()
        fact = int(graph.find(0, 1))
        for f, (s, r) in enumerate(zip(graph.subject, graph.relation, strict=True)):
            if s != 0 or r == 2:
                np.testing.assert_allclose(changed.predict(int(s), int(r)).dense(), before[f], atol=TOLERANCE)
        if fact >= 0:
            fresh = naive.exact_after_do(graph, config, sentences, 0, int(o), fact)
            want = [redraw * fresh[int(k)] for k in graph.candidates_of(1)] + (1 - redraw) * before[fact]
            np.testing.assert_allclose(changed.predict(0, 1).dense(), want, atol=TOLERANCE)
            with pytest.raises(InputError, match="changed already"):
                changed.with_edit(EditRequest(0, 1, int(graph.candidates_of(1)[0])))


@pytest.mark.parametrize("persistence", ["fact", "sentence"])
def test_credences_are_calibrated(persistence):
    """On worlds drawn from the prior, truths fall where the posterior says (randomised ranks)."""
    config = ExactConfig(persistence=persistence, noise=0.3, logical=0.0, root_mass=2.0, row_mass=1.0)
    ranks = []
    for seed in range(1500):
        graph, model, sentences = tiny_world(seed, config, [0])
        agent = fit_exact(graph, config, sentences)
        rng = np.random.default_rng([7, seed])
        for f in np.flatnonzero(graph.subject == 0):
            if agent.has_truth(int(f)):
                r = int(graph.relation[f])
                p = agent.predict(0, r).dense()
                at = int(np.searchsorted(graph.candidates_of(r), model.truth[f]))
                ranks.append(p[:at].sum() + rng.random() * p[at])
    counts = np.histogram(ranks, 20, (0, 1))[0]
    # A calibrated agent fails once in a million seeds.
    assert chisquare(counts).pvalue > 1e-6


def test_edits_that_make_no_sense_are_refused():
    config = ExactConfig(persistence="sentence", logical=0.0)
    graph, _, sentences = tiny_world(4, config, [0])
    agent = fit_exact(graph, config, sentences)
    r = int(graph.relation[0])
    with pytest.raises(InputError, match="cannot have"):
        agent.with_edit(EditRequest(0, r, 0))
    with pytest.raises(InputError, match="positive"):
        agent.with_edit(EditRequest(0, r, int(graph.candidates_of(r)[0]), -1.0))
    with pytest.raises(InputError, match="no fact"):
        agent.predict(0, 99).dense()


def test_too_many_states_are_refused(monkeypatch):
    monkeypatch.setattr("bayes.exact.MOST_STATES", 1)
    config = ExactConfig(logical=0.0)
    graph, _, sentences = tiny_world(5, config, [0])
    edited = fit_exact(graph, config, sentences).with_edit(
        EditRequest(0, 0, int(graph.candidates_of(0)[0]), 1.0)
    )
    assert edited.predict(0, 0).dense().sum() == pytest.approx(1)
    with pytest.raises(InputError, match="states"):
        edited.predict(1, 0).dense()
