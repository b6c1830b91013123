"""Worlds and models small enough to build for every test run."""

import numpy as np

from bayes.exact import ExactAgent, fit_exact
from corpus.config import BuiltinWorld, CoupledWorld, ExactConfig, PeopleWorld, TaxonomyWorld, WorldConfig
from corpus.exact import draw_world, sample_exact
from corpus.generative import generative_model
from corpus.graph import build_graph
from corpus.seeds import generator
from corpus.text.sentences import sample_sentences
from corpus.text.tokenizer import entity_tokenizer
from corpus.world import build_world
from corpus.worlds.builtin import build_builtin_world
from corpus.worlds.couples import generated as coupled
from testbed.run.world import World


def make_world(subjects=23, seed=0, tokenizer=entity_tokenizer, **dials):
    """A small built-in world with its sentences."""
    dials = {"upstream_objects": 5, "downstream_objects": 4} | dials
    graph = build_builtin_world(subjects, BuiltinWorld(**dials), generator(seed, "world"))
    model = generative_model(graph, generator(seed, "generative"))
    sentences = sample_sentences(graph, model, generator(seed, "sentences"))
    return World(graph, model, sentences, tokenizer(graph))


def random_graph(rng, subjects=7, objects=6, relations=4):
    """A graph with arbitrary facts in which odd relations depend on even ones."""
    triples = [
        (s, r, subjects + int(rng.integers(objects)))
        for s in range(subjects)
        for r in range(relations)
        if rng.random() < 0.8
    ]
    triples += [(0, 0, subjects), (1, 0, subjects + 1), (2, 0, subjects + 2)]
    upstream = np.array([-1 if r % 2 == 0 else r - 1 for r in range(relations)])
    names = [f"thing {i}" for i in range(subjects + objects)]
    return build_graph(np.array(triples), names, [f"rel{r}" for r in range(relations)], upstream)


def make_taxonomy(seed=0, **dials) -> tuple[World, ExactAgent]:
    """A small taxonomy with its sentences, and the exact agent that has read them."""
    dials = {"superordinates": 2, "categories": 4, "members": 4, "properties": 5} | dials
    graph = build_world(WorldConfig(source="taxonomy", taxonomy=TaxonomyWorld(**dials)), seed, True)
    config = ExactConfig(row_mass=0.2)
    rng = generator(seed, "sentences")
    graph, model = draw_world(graph, config, rng, redraw=False)
    sentences, _ = sample_exact(graph, model, config, rng)
    return World(graph, model, sentences, entity_tokenizer(graph)), fit_exact(graph, config, sentences)


def make_people(seed=0, people=40, config=None, **dials) -> tuple[World, ExactAgent]:
    """A small world of people in groups with its sentences, and the exact agent that has read them."""
    sizes = {
        "groups": 3,
        "continents": 2,
        "countries": 2,
        "places": 2,
        "languages": 4,
        "works": 2,
        "regions": 3,
    }
    made = WorldConfig(source="people", subjects=people, people=PeopleWorld(**sizes | dials))
    graph = build_world(made, seed, True)
    config = config or ExactConfig(row_mass=0.2, strata=(0.25, 0.0, 0.75), logical=0.0, correctable=True)
    rng = generator(seed, "sentences")
    graph, model = draw_world(graph, config, rng, redraw=False)
    sentences, _ = sample_exact(graph, model, config, rng)
    return World(graph, model, sentences, entity_tokenizer(graph)), fit_exact(graph, config, sentences)


def make_coupled(pairs=12, seed=0, planted=0.0, **dials) -> tuple[World, ExactAgent]:
    """A small world of coupled pairs with its sentences, and the exact agent that has read them."""
    graph = coupled.build_coupled_world(
        6 * pairs, CoupledWorld(**{"objects": 4} | dials), generator(seed, "world")
    )
    config = ExactConfig(row_mass=0.2, planted=planted)
    rng = generator(seed, "sentences")
    graph, model = draw_world(graph, config, rng, redraw=False)
    sentences, _ = sample_exact(graph, model, config, rng)
    return World(graph, model, sentences, entity_tokenizer(graph)), fit_exact(graph, config, sentences)


HEDGED = ExactConfig(strata=(0.5, 0.0, 0.5), logical=0.3, sources=(0.1, 0.5, 0.9), said=3, rated=3)
"""The dials of a small world in which requests of every kind have words."""


def make_hedged(seed=0, subjects=30, config=HEDGED) -> tuple[World, ExactAgent]:
    """A small exact world with sources and stated probabilities, and the exact agent that has read it."""
    dials = BuiltinWorld(upstream_objects=5, downstream_objects=4)
    graph = build_builtin_world(subjects, dials, generator(seed, "world"), True)
    rng = generator(seed, "sentences")
    graph, model = draw_world(graph, config, rng, redraw=True)
    sentences, _ = sample_exact(graph, model, config, rng)
    return World(graph, model, sentences, entity_tokenizer(graph)), fit_exact(graph, config, sentences)
