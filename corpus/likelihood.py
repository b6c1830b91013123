"""What the sentences of a world of kind `exact` say of a fact: log-likelihood ratios (design.md 5.3)."""

import numpy as np

from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.text.hedges import list_hedges
from corpus.text.language import Kind
from corpus.text.sentences import Sentences


def log_ratios(
    graph: KnowledgeGraph, config: ExactConfig, sentences: Sentences
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What each statement, truth and not sentence says of its fact (design.md 5.3, points 5 and 6).

    And/or sentences are left out: facts in them are settled by a sentence of their own.

    Returns:
        fact int64[n], object int32[n], and float64[n] the log-likelihood ratio of that object against
        any other: plus infinity where the sentence settles the fact, minus where it rules the object out.
    """
    rows = sentences.kind <= Kind.NOT
    kind, label, atom = sentences.kind[rows], sentences.label[rows], sentences.a[rows]
    fact = graph.find(atom[:, 0], atom[:, 1])
    others = np.diff(graph.candidate_offsets)[atom[:, 1]] - 1.0
    with np.errstate(divide="ignore"):
        labelled = np.log(1 - config.label_noise) - np.log(config.label_noise)
    # A mention is the truth with some chance, else one of the others; a right label says which.
    chance = mention_chance(config, others + 1)
    reliability = hedged_reliability(graph, config)[sentences.phrasing[rows]]
    mentioned = np.log(chance * others / (1 - chance))
    stated = np.where(
        np.isnan(reliability), statement_strength(config, others), source_strength(reliability, others)
    )
    ratio = np.select(
        [kind == Kind.ATOMIC, kind == Kind.TRUTH, label],
        [stated, mentioned + np.where(label, labelled, -labelled), -np.inf],
        np.inf,
    )
    return fact, atom[:, 2], ratio


def hedged_reliability(graph: KnowledgeGraph, config: ExactConfig) -> np.ndarray:
    """float64[1 + phrasings]: how often statements in each phrasing are right; NaN without a hedge."""
    known = dict(list_hedges(config))
    of_ways = [known.get(way.words, np.nan) if way.is_hedge else np.nan for way in graph.phrasings]
    return np.array([np.nan, *of_ways])


def statement_strength(config: ExactConfig, others: np.ndarray | int) -> np.ndarray:
    """lambda: log-likelihood ratio of one statement, of the object it names against any of `others` many."""
    return np.log((1 - config.noise) * others / config.noise)


def source_strength(reliability: np.ndarray | float, others: np.ndarray | int) -> np.ndarray:
    """Log-likelihood ratio of a statement by who is right with this probability, else names any other object.

    Negative where the source is wrong more often than chance is; infinite where it is always right or wrong.
    """
    with np.errstate(divide="ignore"):
        return np.log(reliability) - np.log1p(-reliability) + np.log(others)


def mention_chance(config: ExactConfig, size: np.ndarray) -> np.ndarray:
    """Probability that a truth, not, and, or sentence mentions the fact's object, of `size` candidates."""
    return np.full(len(size), 0.5) if config.mention == "coin" else 1.0 / size


def has_truths(graph: KnowledgeGraph, config: ExactConfig) -> np.ndarray:
    """bool[facts]: whether a fact is drawn once, not once per statement."""
    return (graph.upstream_fact < 0) | (config.persistence == "fact")


def check_noise(graph: KnowledgeGraph, config: ExactConfig) -> None:
    """Refuse relations in which a statement would be no evidence for what it states.

    Raises:
        InputError: such a relation.
    """
    for r in np.unique(graph.relation):
        size = len(graph.candidates_of(r))
        if size < 2:
            raise InputError(f"the relation {graph.relations[r]!r} has one object only; noise needs a second")
        if config.noise >= (size - 1) / size:
            raise InputError(
                f"with noise {config.noise} a statement of {graph.relations[r]!r}, which has {size} objects, "
                f"is not evidence; choose --exact.noise below {(size - 1) / size:.3g}"
            )
