"""Worlds of kind `exact`: drawn from W, spoken about as W says, and never in more doubt than promised."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import binom, chisquare

from corpus.arrays import load_arrays, save_arrays
from corpus.config import BuiltinWorld, ExactConfig
from corpus.errors import InputError
from corpus.exact import BLOCK, FULLY, NEVER, SELDOM, draw_world, sample_exact
from corpus.graph import build_graph
from corpus.kernels import draw_from_urns
from corpus.resolution import TOLERANCE, doubt_of_statements
from corpus.text.language import Kind
from corpus.worlds.builtin import build_builtin_world
from tests import naive
from tests.enumeration import Enumeration

# Each statistical test below is wrong once in a million runs of its seed; seeds are fixed.
FALSE_ALARM = 1e-6
persistence = pytest.mark.parametrize("persistence", ["fact", "sentence"])


def world_of(config, subjects=300, seed=0):
    rng = np.random.default_rng(seed)
    dials = BuiltinWorld(upstream_objects=8, downstream_objects=5)
    graph = build_builtin_world(subjects, dials, rng, all_candidates=True)
    graph, model = draw_world(graph, config, rng, redraw=True)
    return graph, model, *sample_exact(graph, model, config, rng)


def is_binomial(hits, p):
    tails = binom.cdf(hits.sum(), len(hits), p), binom.sf(hits.sum() - 1, len(hits), p)
    return min(tails) > FALSE_ALARM / 2


@persistence
def test_how_often_facts_are_spoken_of(persistence):
    config = ExactConfig(persistence=persistence, strata=(0.3, 0.3, 0.4), open=0.3)
    graph, model, sentences, resolution = world_of(config)
    fact = graph.find(sentences.a[:, 0], sentences.a[:, 1])
    atomic = np.bincount(fact[sentences.kind == Kind.ATOMIC], minlength=len(graph))
    truths = np.bincount(fact[sentences.kind == Kind.TRUTH], minlength=len(graph))
    np.testing.assert_array_equal(atomic, model.statements)
    np.testing.assert_array_equal(truths, model.truths)
    down = graph.upstream_fact >= 0
    assert (model.stratum[~down] == FULLY).all()
    assert {0, 1, 2, 3, config.statements} == set(model.statements[down])
    for stratum, share in enumerate(config.strata):
        assert is_binomial(model.stratum[down] == stratum, share)
    assert (model.statements[model.stratum == NEVER] == 0).all()
    assert np.isin(model.statements[model.stratum == SELDOM], (1, 2, 3)).all()
    has_truth = ~down if persistence == "sentence" else np.ones(len(graph), bool)
    assert (model.truths > 0).tolist() == ((model.stratum == FULLY) & has_truth).tolist()
    assert not (model.logical & (model.truths == 0)).any()
    assert not (model.open & (model.stratum != SELDOM)).any()
    assert (
        is_binomial(model.open[(model.stratum == SELDOM) & has_truth], config.open)
        or persistence == "sentence"
    )
    assert not (resolution.certified & (model.open | ~has_truth)).any()


def test_statements_and_labels_are_as_noisy_as_they_should_be():
    config = ExactConfig(noise=0.2, label_noise=0.15)
    graph, model, s, _ = world_of(config)
    fact = graph.find(s.a[:, 0], s.a[:, 1])
    true = s.a[:, 2] == model.truth[fact]
    assert is_binomial(true[s.kind == Kind.ATOMIC], 1 - config.noise)
    truth = s.kind == Kind.TRUTH
    assert is_binomial(true[truth], 0.5)
    assert is_binomial(true[truth] == s.label[truth], 1 - config.label_noise)
    for mine in (s.kind == Kind.ATOMIC, truth):
        # What is false is uniform over the other candidates of the relation.
        wrong = mine & ~true
        place = np.searchsorted(graph.candidates, s.a[wrong, 2])
        assert np.isin(s.a[wrong, 2], graph.candidates).all()
        for r in range(0, len(graph.relations), 2):
            of = (graph.relation[fact[wrong]] == r) & (model.truth[fact[wrong]] == graph.candidates_of(r)[0])
            counts = np.bincount(place[of] - graph.candidate_offsets[r], minlength=8)
            assert counts[0] == 0
            assert counts.sum() < 20 or chisquare(counts[1:]).pvalue > FALSE_ALARM
        assert (graph.relation[fact[wrong]] == s.a[wrong, 1]).all()


@persistence
def test_not_and_or_are_always_right_and_stay_in_their_block(persistence):
    config = ExactConfig(persistence=persistence)
    graph, model, s, _ = world_of(config)
    rank = {int(x): i for i, x in enumerate(graph.subjects)}
    joined = 0
    for i in np.flatnonzero(s.kind >= Kind.NOT):
        kind, label, a, b, _ = s[i]
        holds = [model.truth[graph.find(x[0], x[1])] == x[2] for x in (a, b) if x]
        assert label == {Kind.NOT: not all(holds), Kind.AND: all(holds), Kind.OR: any(holds)}[kind]
        if b:
            joined += 1
            assert rank[a[0]] // BLOCK == rank[b[0]] // BLOCK
            assert a[:2] != b[:2]
            assert model.logical[graph.find(*a[:2])]
            assert model.logical[graph.find(*b[:2])]
    assert joined > 100


@pytest.mark.parametrize("mass", [0.3, 4.0])
def test_an_urn_is_a_dirichlet_categorical_table(mass):
    runs, draws, objects = 40_000, 3, np.array([4, 5, 6], np.int32)
    out = np.empty(runs * draws, np.int32)
    starts = np.arange(0, runs * draws + 1, draws)
    given = np.full(runs * draws, -1, np.int32)
    draw_from_urns(np.random.default_rng(0), starts, np.full(runs, mass), objects, given, out)
    outcome = ((out.reshape(runs, draws) - 4) * 3 ** np.arange(draws)).sum(axis=1)
    sequences = np.array([[(i // 3**j) % 3 for j in range(draws)] for i in range(3**draws)])
    counts = np.stack([(sequences == k).sum(axis=1) for k in range(3)], axis=1)
    alpha = mass / 3
    log_p = gammaln(mass) - gammaln(mass + draws) + (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=1)
    assert chisquare(np.bincount(outcome, minlength=27), runs * np.exp(log_p)).pvalue > FALSE_ALARM


def test_under_sentence_a_downstream_fact_has_no_truth_of_its_own():
    graph, model, s, _ = world_of(ExactConfig(persistence="sentence", root_mass=20.0))
    down = graph.upstream_fact >= 0
    fact = graph.find(s.a[:, 0], s.a[:, 1])
    assert (s.kind[down[fact]] == Kind.ATOMIC).all()
    key = list(zip(graph.relation, model.truth[graph.upstream_fact], strict=True))
    rows = {}
    for i in np.flatnonzero(down[fact]):
        rows.setdefault(key[fact[i]], []).append(int(s.a[i, 2]))
    for f in np.flatnonzero(down):
        said = rows.get(key[f])
        if said:
            assert model.truth[f] == min(set(said), key=lambda o: (-said.count(o), o))


@persistence
def test_objects_of_a_given_graph_are_kept(persistence):
    graph = build_builtin_world(60, BuiltinWorld(), np.random.default_rng(0))
    config = ExactConfig(persistence=persistence)
    kept, model = draw_world(graph, config, np.random.default_rng(1), redraw=False)
    has_truth = graph.upstream_fact < 0 if persistence == "sentence" else np.ones(len(graph), bool)
    np.testing.assert_array_equal(model.truth[has_truth], graph.object[has_truth])
    np.testing.assert_array_equal(kept.object, model.truth)


def tiny_graph(rng, subjects, objects, upstream=(-1, 0, -1)):
    """A few relations, by default one pair and one apart, with facts missing at random."""
    relations = range(len(upstream))
    triples = [
        (s, r, subjects + r * objects + int(rng.integers(objects)))
        for s in range(subjects)
        for r in relations
        if rng.random() < 0.7 or (s, r) in ((0, 0), (1, 0))
    ]
    candidates = [np.arange(subjects + r * objects, subjects + (r + 1) * objects) for r in relations]
    names = [f"thing {i}" for i in range(subjects + len(relations) * objects)]
    relation_names = list("udxy")[: len(relations)]
    return build_graph(np.array(triples), names, relation_names, np.array(upstream), None, candidates)


@hypothesis_settings(max_examples=80)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["fact", "sentence"]),
    st.sampled_from([0.0, 0.05, 0.3]),
    st.sampled_from([0.02, 0.2]),
    st.sampled_from([0.3, 5.0]),
)
def test_nothing_is_in_more_doubt_than_its_bound(seed, kind, label_noise, noise, mass):
    """The bound of every fact against the posterior found by enumerating all worlds."""
    rng = np.random.default_rng(seed)
    config = ExactConfig(
        persistence=kind,
        noise=noise,
        label_noise=label_noise,
        row_mass=mass,
        root_mass=2 * mass,
        logical=0.4,
        mention=("coin", "uniform")[seed % 2],
    )
    graph = tiny_graph(rng, subjects=2 + seed % 2, objects=2 if seed % 2 else 3)
    graph, model = draw_world(graph, config, rng, redraw=True)
    # Few statements, so that there is something to doubt.
    few = replace(model, statements=np.minimum(model.statements, 2), truths=np.minimum(model.truths, 1))
    sentences, resolution = sample_exact(graph, few, config, rng)
    before = sentences.take(~_certificates(graph, sentences, resolution))
    for said, certified in ((before, False), (sentences, True)):
        bound = doubt_of_statements(graph, config, said)
        posterior = Enumeration(graph, config, said).posterior()
        spoken = {tuple(atom[:2]) for atom in (*said.a, *said.b[said.b[:, 0] >= 0])}
        for f, p in posterior.items():
            if (graph.subject[f], graph.relation[f]) in spoken:
                assert 1 - max(p.values()) <= bound[f] + 1e-9
            if certified and resolution.certified[f]:
                assert p[int(few.truth[f])] == pytest.approx(1, abs=1e-12)


@hypothesis_settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(["fact", "sentence"]))
def test_what_only_its_dependents_speak_of_is_in_doubt(seed, kind):
    """Nothing is said of subject 0's upstream fact, but perhaps of what depends on it."""
    rng = np.random.default_rng(seed)
    config = ExactConfig(persistence=kind, noise=0.05, logical=0.0, strata=(0.2, 0.0, 0.8))
    graph = tiny_graph(rng, subjects=2, objects=3)
    graph, model = draw_world(graph, config, rng, redraw=True)
    sentences, _ = sample_exact(graph, model, config, rng)
    sentences = sentences.take((sentences.a[:, 0] != 0) | (sentences.a[:, 1] != 0))
    bound, said = (
        doubt_of_statements(graph, config, sentences),
        graph.find(sentences.a[:, 0], sentences.a[:, 1]),
    )
    unsaid = int(graph.find(0, 0))
    assert bound[unsaid] == (graph.find(0, 1) in said)
    for f, p in Enumeration(graph, config, sentences).posterior().items():
        if f in said or (f == unsaid and bound[f]):
            assert 1 - max(p.values()) <= bound[f] + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_the_evidence_of_each_fact_is_weighed_precisely(seed, monkeypatch):
    """However small what is left beside the likeliest object: exp(-80) is not 0 when ratios are large."""
    # Up to 200 statements: likelihood ratios beyond the range of exp.
    config = ExactConfig(
        logical=0.2, label_noise=0.2, statements=(10, 40, 200)[seed], mention=("coin", "uniform")[seed % 2]
    )
    graph, _, sentences, _ = world_of(config, subjects=40, seed=seed)
    expected = naive.log_doubt(graph, config, sentences.take(sentences.kind <= Kind.NOT))
    large = np.array([-expected.get(f, 0.0) - 3.0 for f in range(len(graph))])
    large[~np.isfinite(large)] = 0.0
    # Ratios that bring every doubt to exp(-3), wherever it was.
    monkeypatch.setattr("corpus.resolution._largest_ratio", lambda *_: large)
    plain = sentences.take(sentences.kind <= Kind.NOT)
    bound = doubt_of_statements(graph, config, plain)
    assert min(v for v in expected.values() if v > -np.inf) < (-36, -200, -800)[seed]
    for f in range(len(graph)):
        want = np.exp(-3.0) if expected.get(f, -np.inf) > -np.inf else 0.0
        np.testing.assert_allclose(bound[f], want, rtol=1e-9)


def test_a_fact_in_an_and_or_sentence_is_settled_only_by_its_own():
    config = ExactConfig()
    graph, _, sentences, resolution = world_of(config)
    before = sentences.take(~_certificates(graph, sentences, resolution))
    bound = doubt_of_statements(graph, config, before)
    fact = graph.find(before.a[:, 0], before.a[:, 1])
    settled = np.zeros(len(graph), bool)
    settled[fact[(before.kind == Kind.NOT) & ~before.label]] = True
    atoms = np.concatenate([before.a[before.b[:, 0] >= 0], before.b[before.b[:, 0] >= 0]])
    joined = np.unique(graph.find(atoms[:, 0], atoms[:, 1]))
    np.testing.assert_array_equal(bound[joined], np.where(settled[joined], 0.0, 1.0))
    assert not settled[joined].all()


def _certificates(graph, sentences, resolution):
    """bool[n]: the last "not ... is false" of every certified fact."""
    fact = graph.find(sentences.a[:, 0], sentences.a[:, 1])
    last = {f: i for i, f in enumerate(fact) if sentences.kind[i] == Kind.NOT and not sentences.label[i]}
    certificates = np.zeros(len(sentences), bool)
    certificates[[last[f] for f in np.flatnonzero(resolution.certified)]] = True
    return certificates


def test_what_is_left_in_doubt_is_certified():
    graph, _, _, resolution = world_of(ExactConfig())
    assert resolution.certified.any()
    assert resolution.bound.max() <= TOLERANCE
    assert len(resolution.bound) == len(graph.subjects)
    # Facts stated often enough, and nothing else, need no certificate.
    plain = ExactConfig(strata=(0.3, 0.0, 0.7), logical=0.0, statements=40, label_noise=0.02)
    assert not world_of(plain)[3].certified.any()


def test_impossible_worlds_are_refused():
    names = [f"thing {i}" for i in range(8)]
    chain = np.array([(s, r, 2 + 2 * r + s) for s in range(2) for r in range(3)])
    graph = build_graph(chain, names, ["a", "b", "c"], np.array([-1, 0, 1]))
    draw_world(graph, ExactConfig(), np.random.default_rng(0), redraw=True)
    with pytest.raises(InputError, match="pairs"):
        draw_world(graph, ExactConfig(persistence="sentence"), np.random.default_rng(0), redraw=True)
    lone = np.array([(0, 0, 2), (1, 0, 2), (0, 1, 3), (1, 1, 4)])
    graph = build_graph(lone, names, ["a", "b"], np.array([-1, -1]))
    with pytest.raises(InputError, match="'a' has one object only"):
        draw_world(graph, ExactConfig(), np.random.default_rng(0), redraw=False)
    even = build_graph(np.array([(0, 0, 2), (1, 0, 3), (0, 1, 4), (1, 1, 5)]), names, ["a", "b"], [-1, -1])
    with pytest.raises(InputError, match=r"statement of 'a', which has 2 objects.*below 0\.5"):
        draw_world(even, ExactConfig(noise=0.5), np.random.default_rng(0), redraw=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"noise": 0.0}, {"label_noise": 1.0}, {"root_mass": 0.0}, {"row_mass": float("inf")},
        {"statements": 7}, {"strata": (0.5, 0.6, 0.1)}, {"strata": (1.2, -0.2, 0.0)}, {"open": 2.0},
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match="must|are"):
        ExactConfig(**wrong)


def test_saved_and_loaded(tmp_path):
    _, model, _, resolution = world_of(ExactConfig(persistence="sentence"), subjects=20)
    for kept in (model, resolution):
        save_arrays(kept, tmp_path / "x.npz")
        again = load_arrays(type(kept), tmp_path / "x.npz")
        for name in vars(kept):
            np.testing.assert_array_equal(getattr(again, name), getattr(kept, name))
