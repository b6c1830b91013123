"""What further documents are made of: statements of the corpus, found by what they are about, and lines."""

from typing import NamedTuple

import numpy as np

from corpus.graph import KnowledgeGraph
from corpus.language import Kind
from corpus.sentences import Sentences


class Lines(NamedTuple):
    """Sentences of documents in the making, of smaller rank first.

    `old` is the index of a sentence of the corpus, or -1 for a new one of the given kind and atom.
    """

    document: np.ndarray
    rank: np.ndarray
    old: np.ndarray
    kind: np.ndarray
    atom: np.ndarray


def repeat(document: np.ndarray, rank: int, old: np.ndarray) -> Lines:
    """Lines that repeat sentences of the corpus."""
    n = len(document)
    return Lines(document, np.full(n, rank), old, np.full(n, Kind.ATOMIC), np.zeros((n, 3), np.int32))


def say(document: np.ndarray, rank: int, kind: Kind, *atom: np.ndarray) -> Lines:
    """Lines that nobody has said yet; `atom` is subject, relation and object."""
    n = len(document)
    return Lines(document, np.full(n, rank), np.full(n, -1), np.full(n, kind), np.column_stack(atom))


class Statements:
    """Atomic sentences by fact, and by what the subject's upstream object is."""

    def __init__(self, graph: KnowledgeGraph, truth: np.ndarray, sentences: Sentences) -> None:
        self.rows = np.flatnonzero(sentences.kind == Kind.ATOMIC)
        fact = graph.find(sentences.a[self.rows, 0], sentences.a[self.rows, 1])
        order = np.argsort(fact, kind="stable")
        self.rows, fact = self.rows[order], fact[order]
        self.edges = np.searchsorted(fact, np.arange(len(graph) + 1))
        self.object = sentences.a[:, 2]
        self.width = len(graph.entities)

        below = np.flatnonzero(graph.upstream_fact[fact] >= 0)
        key = self.key(graph.relation[fact[below]], truth[graph.upstream_fact[fact[below]]])
        order = np.argsort(key, kind="stable")
        self.followers = self.rows[below[order]]
        self.keys, first = np.unique(key[order], return_index=True)
        self.follower_edges = np.append(first, len(order))

    def key(self, relation: np.ndarray | int, upstream_object: np.ndarray) -> np.ndarray:
        """One number for a relation and an upstream object."""
        return np.asarray(relation, np.int64) * self.width + upstream_object

    def stated_fact(self, facts: np.ndarray) -> np.ndarray:
        """Whether each fact is stated at all."""
        return self.edges[facts + 1] > self.edges[facts]

    def about(self, facts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A random statement of each fact, as a sentence index; the facts are stated."""
        return self.rows[rng.integers(self.edges[facts], self.edges[facts + 1])]

    def follows(self, relation: np.ndarray, upstream_object: np.ndarray) -> np.ndarray:
        """Where in `keys` what follows from an upstream object stands, -1 where nothing was ever said."""
        wanted = self.key(relation, upstream_object)
        at = np.minimum(np.searchsorted(self.keys, wanted), max(len(self.keys) - 1, 0))
        return np.where(self.keys[at] == wanted, at, -1) if len(self.keys) else np.full(len(wanted), -1)

    def following(self, at: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The object of a random statement of each group of `keys`."""
        return self.object[self.followers[rng.integers(self.follower_edges[at], self.follower_edges[at + 1])]]
