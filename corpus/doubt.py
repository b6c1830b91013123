"""How sure a corpus of kind `exact` leaves its reader of each fact: a rigorous bound (design.md 5.3)."""

import numpy as np
from scipy.special import gammaln

from corpus.config import ExactConfig
from corpus.graph import KnowledgeGraph
from corpus.likelihood import has_truths, log_ratios
from corpus.text.language import Kind
from corpus.text.sentences import Sentences


def doubt_of_statements(graph: KnowledgeGraph, config: ExactConfig, sentences: Sentences) -> np.ndarray:
    """float64[facts]: at most this is the posterior probability that a fact is not its likeliest object.

    Rigorous whatever the other facts are: the evidence about the fact itself, against the largest ratio
    by which its row and its dependents could favour one object over another. A fact in and/or sentences
    counts as settled only by a sentence of its own that settles it. 0 for facts without a truth, and for
    facts of which nothing speaks, neither of them nor of what depends on them (S0): they sum out of every
    posterior but their own. A fact that only its dependents speak of is in doubt.
    """
    n = len(graph)
    size = np.diff(graph.candidate_offsets)[graph.relation].astype(float)
    has_truth = has_truths(graph, config)
    joined = find_joined_facts(graph, sentences)

    fact, said, ratio = log_ratios(graph, config, sentences)
    settled = np.zeros(n, bool)
    settled[fact[np.isposinf(ratio)]] = True
    settled |= graph.is_link
    used = ~settled[fact] & has_truth[fact]
    cells, cell = np.unique(
        fact[used] * len(graph.entities) + said[used].astype(np.int64), return_inverse=True
    )
    value = np.zeros(len(cells))
    np.add.at(value, cell, ratio[used])
    cell_fact = cells // len(graph.entities)

    # All objects but the likeliest against it; those never named share the value 0. All of it in logs, and
    # the likeliest left out rather than subtracted: what remains may be as small as exp(-1000).
    named = np.bincount(cell_fact, minlength=n)
    spoken = np.flatnonzero(named)
    top = np.lexsort((-value, cell_fact))[(np.cumsum(named) - named)[spoken]]
    unnamed_is_best = np.ones(n, bool)
    unnamed_is_best[spoken] = (value[top] < 0) & (size > named)[spoken]
    best = np.zeros(n)
    best[spoken] = np.where(unnamed_is_best[spoken], 0.0, value[top])
    others = np.ones(len(cells), bool)
    others[top[~unnamed_is_best[spoken]]] = False
    unnamed = size - named - unnamed_is_best
    second = np.where(unnamed > 0, 0.0, -np.inf)
    np.maximum.at(second, cell_fact[others], value[others])
    scale = np.where(np.isfinite(second), second, 0.0)
    rest = unnamed * np.exp(-scale)
    np.add.at(rest, cell_fact[others], np.exp(value[others] - scale[cell_fact[others]]))
    with np.errstate(divide="ignore"):
        log_odds = scale + np.log(rest) - best + _largest_ratio(graph, config, sentences, size)
    bound = np.exp(np.minimum(log_odds, 0.0))
    bound[joined] = 1.0
    return np.where(settled | ~has_truth | ~_find_spoken_facts(graph, sentences), 0.0, bound)


def find_joined_facts(graph: KnowledgeGraph, sentences: Sentences) -> np.ndarray:
    """bool[facts]: those in and/or sentences."""
    joined = np.zeros(len(graph), bool)
    rows = (sentences.kind == Kind.AND) | (sentences.kind == Kind.OR)
    for atom in (sentences.a, sentences.b):
        joined[graph.find(atom[rows, 0], atom[rows, 1])] = True
    return joined


def _find_spoken_facts(graph: KnowledgeGraph, sentences: Sentences) -> np.ndarray:
    """bool[facts]: whether a sentence speaks of the fact or of what depends on it; others sum out."""
    atoms = np.concatenate([sentences.a, sentences.b[sentences.b[:, 0] >= 0]])
    matters = np.zeros(len(graph), bool)
    at = np.unique(graph.find(atoms[:, 0], atoms[:, 1]))
    while len(at):
        matters[at] = True
        above = graph.upstream_fact[at]
        at = np.unique(above[above >= 0])
    return matters


def _largest_ratio(
    graph: KnowledgeGraph, config: ExactConfig, sentences: Sentences, size: np.ndarray
) -> np.ndarray:
    """float64[facts]: log of the largest factor by which a fact's row and dependents can favour an object."""
    relations, n = len(graph.relations), len(graph)
    downstream = graph.upstream_fact >= 0
    has_truth = has_truths(graph, config)
    atomic = sentences.a[sentences.kind == Kind.ATOMIC]
    fact = graph.find(atomic[:, 0], atomic[:, 1])
    stated = np.bincount(fact, minlength=n)
    matters = _find_spoken_facts(graph, sentences)
    draws = np.where(has_truth, matters, stated)
    most = np.bincount(graph.relation, weights=draws, minlength=relations)[graph.relation]
    mass = np.where(downstream, config.row_mass, config.root_mass)
    by_row = np.log1p(most * size / mass)
    if has_truth.all():
        # A dependent is at most certain under one row, and at least as likely as a first draw under another.
        child = np.where(matters, np.log((config.row_mass + most) * size / config.row_mass), 0.0)
    else:
        of = ~has_truth[fact]
        child = _largest_ratio_of_statements(config, fact[of], atomic[of, 2], size, most)
    below = np.bincount(graph.upstream_fact[downstream], weights=child[downstream], minlength=n)
    return by_row + below


def _largest_ratio_of_statements(
    config: ExactConfig, fact: np.ndarray, said: np.ndarray, size: np.ndarray, most: np.ndarray
) -> np.ndarray:
    """float64[facts]: log of how much likelier one row can make what was stated of a fact than another.

    At most the row of just these shares, and at least one in which all `most` draws were of other objects.
    """
    cells, count = np.unique(np.column_stack([fact, said]), axis=0, return_counts=True)
    owner, n = cells[:, 0], np.bincount(fact, minlength=len(size))
    alpha = config.row_mass / size[owner]
    inside = count * np.log(count / n[owner]) - gammaln(alpha + count) + gammaln(alpha)
    base = config.row_mass + most
    return np.bincount(owner, inside, len(n)) + gammaln(base + n) - gammaln(base)
