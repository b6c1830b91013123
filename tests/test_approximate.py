"""The exact agent on published corpora: an approximation that says so, and knows what was said."""

import numpy as np
import pytest

from bayes.approximate import fit_approximately
from bayes.request import EditRequest
from corpus.errors import InputError
from corpus.generative import generative_model
from corpus.graph import build_graph
from corpus.text.sentences import sample_sentences
from testbed.run.agents import describe_standard, exact_agent
from tests.worlds import make_world


@pytest.fixture(scope="module")
def world():
    return make_world(subjects=60, upstream_objects=8, downstream_objects=5)


def test_it_says_that_it_is_an_approximation(world):
    agent = exact_agent(world)
    assert agent.exactness.kind == "approximation"
    assert "approximation" in describe_standard("exact", agent.exactness._asdict())


def test_its_noise_is_that_of_the_corpus(world):
    agent, model = fit_approximately(world.graph, world.sentences), world.generative
    root = world.graph.upstream_fact < 0
    assert agent.config.noise == pytest.approx(1 - model.mode_share[root].mean(), abs=0.03)
    assert 0.05 < agent.config.label_noise < 0.4


def test_it_believes_the_truth_of_root_facts_and_can_be_told_otherwise(world):
    agent, graph = exact_agent(world), world.graph
    roots = np.flatnonzero(graph.upstream_fact < 0)
    right = [
        agent.predict(int(graph.subject[f]), int(graph.relation[f])).mode() == world.generative.truth[f]
        for f in roots
    ]
    assert np.mean(right) > 0.97
    f = int(next(f for f in roots if graph.downstream(int(graph.relation[f]))))
    s, r = int(graph.subject[f]), int(graph.relation[f])
    o = int(next(o for o in graph.candidates_of(r) if o != world.generative.truth[f]))
    edited = agent.with_edit(EditRequest(s, r, o, agent.weight_for(s, r, o, 0.9)))
    assert edited.probability(s, r, o) == pytest.approx(0.9, abs=1e-9)


def test_chains_are_refused():
    names = [f"s{i}" for i in range(12)] + ["Rome", "Oslo", "Lima", "Kyiv"]
    triples = [(s, r, 12 + (s + r) % 4) for s in range(12) for r in range(3)]
    graph = build_graph(np.array(triples), names, ["a", "b", "c"], np.array([-1, 0, 1]))
    rng = np.random.default_rng(0)
    sentences = sample_sentences(graph, generative_model(graph, rng), rng)
    with pytest.raises(InputError, match="pairs only"):
        fit_approximately(graph, sentences)
