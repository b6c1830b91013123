"""The exact agent on corpora of kind `published`: an approximation, and it says so.

Published sentences are not written as the model W says (design.md 5.3). The closest of W's worlds is the
sentence-world, since each downstream statement is a fresh draw from its row; noise is what the corpus
shows; and of the labelled sentences only truth sentences about root facts are read, as labels of objects
that were stated already: the others would settle every fact.
"""

from dataclasses import replace

import numpy as np

from bayes.exact import ExactAgent, fit_exact
from bayes.interface import Exactness
from corpus.arrays import find_modes
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.text.language import Kind
from corpus.text.sentences import Sentences

LEAST_NOISE = 1e-3
WHY = "a published corpus is not written as the exact agent's model says"


def fit_approximately(graph: KnowledgeGraph, sentences: Sentences) -> ExactAgent:
    """The exact agent after reading a published corpus, with noise as estimated from it.

    Raises:
        InputError: a relation of which a single object is ever named, or a relation that depends on a
            dependent one.
    """
    if (graph.upstream_fact[graph.upstream_fact[graph.upstream_fact >= 0]] >= 0).any():
        raise InputError("the exact agent reads published corpora about pairs only: no chains of dependence")
    fact = graph.find(sentences.a[:, 0], sentences.a[:, 1])
    root = graph.upstream_fact[fact] < 0
    atomic, truth = sentences.kind == Kind.ATOMIC, (sentences.kind == Kind.TRUTH) & root
    most_said = find_modes(fact[atomic], sentences.a[atomic, 2], len(graph))
    names_it = sentences.a[:, 2] == most_said[fact]
    noise = 1 - names_it[atomic & root].mean() if (atomic & root).any() else LEAST_NOISE
    label_noise = (sentences.label != names_it)[truth].mean() if truth.any() else LEAST_NOISE

    read = sentences.take(atomic | truth)
    relation, objects = read.a[:, 1], read.a[:, 2]
    candidates = [
        np.union1d(graph.candidates_of(r), objects[relation == r]).astype(np.int32)
        for r in range(len(graph.relations))
    ]
    graph = replace(
        graph, candidates=np.concatenate(candidates), candidate_offsets=np.cumsum([0, *map(len, candidates)])
    )
    config = ExactConfig(
        persistence="sentence",
        noise=float(np.clip(noise, LEAST_NOISE, 1 - LEAST_NOISE)),
        label_noise=float(np.clip(label_noise, LEAST_NOISE, 1 - LEAST_NOISE)),
        mention="uniform",
    )
    return fit_exact(graph, config, read, Exactness("approximation", None, WHY))
