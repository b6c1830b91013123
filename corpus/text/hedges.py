"""Hedged statements: who says so, or how sure somebody is (design.md 5.3).

    according to A s r o          a source A, who is right with a probability of its own
    with probability 0.8 s r o    somebody who is right in 0.8 of such statements

A hedge stands before a statement (`corpus.text.language.Phrasing`): behind the relation it would take its
share of what follows there from the object.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.text.language import Kind, Phrasing
from corpus.text.sentences import Sentences, make_sentences

BY_SOURCE, WITH_PROBABILITY = "according to ", "with probability "
"""How hedges begin: of what somebody says, and of what somebody is sure of to a degree."""
SOURCES = ("Corvin", "Delmar", "Estrid", "Folke", "Gerda", "Halvor", "Isolde", "Jorund")
"""What sources are called."""
DEGREES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Probabilities that are stated."""


def list_hedges(config: ExactConfig) -> list[tuple[str, float]]:
    """The hedges of a corpus: the words, and how often such statements are right."""
    sources = [(f"{BY_SOURCE}{name}", p) for name, p in zip(SOURCES, config.sources, strict=False)]
    rated = [(f"{WITH_PROBABILITY}{p}", p) for p in DEGREES if config.rated]
    return [*sources, *rated]


def find_phrasing(phrasings: Sequence[Phrasing], hedge: str) -> int:
    """The number of the phrasing that is a hedge, as sentences have it.

    Raises:
        InputError: the language has no such hedge.
    """
    for number, way in enumerate(phrasings, start=1):
        if way.is_hedge and way.words == hedge:
            return number
    raise InputError(f"nobody in this corpus says anything {hedge!r}; see --exact.sources and --exact.rated")


def is_hedged(graph: KnowledgeGraph) -> np.ndarray:
    """bool[1 + phrasings]: whether statements in each phrasing are hedged."""
    return np.array([False, *(way.is_hedge for way in graph.phrasings)])


def draw_hedged(
    graph: KnowledgeGraph, truth: np.ndarray, facts: np.ndarray, config: ExactConfig, rng: np.random.Generator
) -> Sentences:
    """Hedged statements about some facts: `said` and `rated` of each, right as often as their hedges say.

    Args:
        truth: int[facts of the graph].
        facts: int[n], which are spoken of.
    """
    probability = np.array([p for _, p in list_hedges(config)])
    of_sources, of_degrees = np.split(np.arange(len(probability)), [len(config.sources)])
    spoken = [
        (fact, rng.choice(among, len(fact)))
        for among, times in ((of_sources, config.said), (of_degrees, config.rated))
        if times
        for fact in [np.repeat(facts, times)]
    ]
    fact, hedge = (np.concatenate(column) for column in zip(*spoken, strict=True))
    objects = truth[fact].copy()
    for wrong in np.flatnonzero(rng.random(len(fact)) >= probability[hedge]):
        others = graph.candidates_of(int(graph.relation[fact[wrong]]))
        objects[wrong] = rng.choice(others[others != truth[fact[wrong]]])
    atoms = np.column_stack([graph.subject[fact], graph.relation[fact], objects])
    # Hedges stand behind all other phrasings.
    phrasing = 1 + len(graph.phrasings) - len(probability) + hedge
    return replace(make_sentences(Kind.ATOMIC, atoms), phrasing=phrasing.astype(np.int16))
