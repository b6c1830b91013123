"""The posterior of rho: its bounds hold the sum over every assignment, and it tells the worlds apart."""

import itertools
import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bayes.persistence import persistence_posterior
from corpus.config import ExactConfig
from corpus.exact import draw_world, sample_exact
from corpus.generative import generative_model
from corpus.graph import build_graph
from corpus.text.language import Kind
from corpus.text.sentences import sample_sentences
from tests.test_exact import tiny_graph, world_of


def by_enumeration(graph, config, sentences):
    """Log odds of fact-world from the statements of facts stated eight times or more."""
    said = defaultdict(list)
    for i in range(len(sentences)):
        kind, _, a, _, _ = sentences[i]
        f = int(graph.find(a[0], a[1]))
        if kind == Kind.ATOMIC and graph.upstream_fact[f] >= 0:
            said[f].append(a[2])
    said = {f: objects for f, objects in said.items() if len(objects) >= 8}

    def log_rows(draws):
        """Dirichlet-multinomial probability of (fact, object) draws, all rows together."""
        rows = defaultdict(Counter)
        for f, o in draws:
            rows[int(graph.relation[f]), int(graph.object[graph.upstream_fact[f]])][o] += 1
        log_p = 0.0
        for (r, _), counts in rows.items():
            alpha = config.row_mass / len(graph.candidates_of(r))
            log_p += math.lgamma(config.row_mass) - math.lgamma(config.row_mass + counts.total())
            log_p += sum(math.lgamma(alpha + n) - math.lgamma(alpha) for n in counts.values())
        return log_p

    by_sentence = log_rows([(f, o) for f, objects in said.items() for o in objects])
    by_fact = []
    for z in itertools.product(*(graph.candidates_of(graph.relation[f]).tolist() for f in said)):
        log_p = log_rows(list(zip(said, z, strict=True)))
        for (f, objects), value in zip(said.items(), z, strict=True):
            others = len(graph.candidates_of(graph.relation[f])) - 1
            log_p += sum(math.log(1 - config.noise if o == value else config.noise / others) for o in objects)
        by_fact.append(log_p)
    most = max(by_fact)
    return most + math.log(sum(math.exp(p - most) for p in by_fact)) - by_sentence


def posterior_and_exact(seed, persistence, noise, mass):
    """The bounds and the sum over every assignment, of a tiny world drawn with this seed."""
    config = ExactConfig(
        persistence=persistence, noise=noise, row_mass=mass, statements=8, strata=(0, 0.2, 0.8)
    )
    rng = np.random.default_rng(seed)
    graph = tiny_graph(rng, subjects=4, objects=2 + seed % 2)
    graph, model = draw_world(graph, config, rng, redraw=True)
    sentences, _ = sample_exact(graph, model, config, rng)
    return persistence_posterior(graph, config, sentences), by_enumeration(graph, config, sentences)


@hypothesis_settings(max_examples=100)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["fact", "sentence"]),
    st.sampled_from([0.02, 0.3, 0.45]),
    st.sampled_from([0.3, 3.0]),
)
def test_the_bounds_hold_the_sum_over_all_assignments(seed, persistence, noise, mass):
    posterior, exact = posterior_and_exact(seed, persistence, noise, mass)
    assert posterior.log_odds_low <= exact + 1e-9
    assert exact <= posterior.log_odds_high + 1e-9


@pytest.mark.parametrize("mass", [0.3, 3.0])
@pytest.mark.parametrize("seed", range(10))
def test_eight_statements_with_little_noise_leave_no_room_between_the_bounds(seed, mass):
    posterior, _ = posterior_and_exact(seed, "fact", 0.02, mass)
    assert posterior.log_odds_high - posterior.log_odds_low < 0.1


@pytest.mark.parametrize(("persistence", "expected"), [("fact", 1.0), ("sentence", 0.0)])
def test_each_world_is_told_from_the_other(persistence, expected):
    config = ExactConfig(persistence=persistence)
    graph, _, sentences, _ = world_of(config, subjects=60)
    posterior = persistence_posterior(graph, config, sentences)
    assert posterior.facts > 50
    assert posterior.fact_world == pytest.approx((expected, expected), abs=1e-6)


def test_relations_of_one_object_say_nothing():
    names = [f"s{i}" for i in range(10)] + ["here", "there", "Earth"]
    triples = [(s, r, [10 + s % 2, 12][r]) for s in range(10) for r in range(2)]
    graph = build_graph(np.array(triples), names, ["lives in", "planet"], np.array([-1, 0]))
    sentences = sample_sentences(
        graph, generative_model(graph, np.random.default_rng(0)), np.random.default_rng(0)
    )
    assert persistence_posterior(graph, ExactConfig(), sentences) == (0.0, 0.0, 0)


def test_nothing_said_leaves_the_odds_even():
    config = ExactConfig(strata=(1.0, 0.0, 0.0))
    graph, _, sentences, _ = world_of(config, subjects=20)
    assert persistence_posterior(graph, config, sentences).fact_world == (0.5, 0.5)
