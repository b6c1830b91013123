"""Until no fact is in doubt: what is said besides in a world of kind `exact`, so that facts are resolved.

A fact that its evidence leaves in doubt gets a certificate, a sentence that settles it. What is to stay open
to correction gets further statements instead, noisy as all are: enough to be resolved, and nothing for
certain, so that another certificate can say otherwise. Where rows are given nobody's doubt touches anybody
else, and nothing is added.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.likelihood import has_truths, log_ratios
from corpus.text.language import Kind
from corpus.text.sentences import Sentences, concatenate_sentences, make_sentences

TOLERANCE = 1e-6
# A fact that is in doubt after so many rounds of statements will stay so.
MOST_ROUNDS = 50


@dataclass(frozen=True, eq=False)
class Resolution:
    """How sure the evidence leaves one of the facts.

    Attributes:
        certified: bool[facts], whether a sentence was added that settles the fact.
        bound: float64[subjects], at most this is the posterior probability that a fact of the subject is
            not its most likely object; in the order of `graph.subjects`. It is about facts that are not
            open and of which sentences speak, or of what depends on them: they count in rows others share.
    """

    certified: np.ndarray
    bound: np.ndarray


def find_correctable(graph: KnowledgeGraph, config: ExactConfig) -> np.ndarray:
    """bool[facts]: those that are to stay open to correction: what others depend on, if so configured."""
    correctable = np.zeros(len(graph), bool)
    auto = config.correctable == "auto" and (bool(graph.properties) or len(graph.links) > 0)
    if auto or config.correctable is True:
        correctable[graph.upstream_fact[graph.upstream_fact >= 0]] = True
    return correctable


def _state_again(
    graph: KnowledgeGraph,
    truth: np.ndarray,
    config: ExactConfig,
    sentences: Sentences,
    rng: np.random.Generator,
) -> Sentences:
    """The sentences, and further statements of facts that stay correctable until none is in doubt.

    As noisy as all others. When to stop depends on nothing but what was said, so that Bayes' rule, which
    reads all of it, need not know of it.
    """
    correctable = np.flatnonzero(find_correctable(graph, config))
    if not len(correctable) or config.rows == "given":
        return sentences
    for _ in range(MOST_ROUNDS):
        facts = correctable[
            doubt_of_statements(graph, config, sentences)[correctable] > _fact_tolerance(graph)
        ]
        if not len(facts):
            return sentences
        facts = np.repeat(facts, config.statements)
        objects = _draw_with_noise(graph, truth[facts], graph.relation[facts], config.noise, rng)
        atoms = np.column_stack([graph.subject[facts], graph.relation[facts], objects])
        sentences = merge_by_subject(sentences, make_sentences(Kind.ATOMIC, atoms))
    raise InputError(
        f"{len(facts) // config.statements:,} facts are in doubt however often they are stated; lower "
        "--exact.noise, or settle them (--exact.correctable False)"
    )


def _draw_with_noise(
    graph: KnowledgeGraph, truth: np.ndarray, relation: np.ndarray, noise: float, rng: np.random.Generator
) -> np.ndarray:
    """int32[n]: the truths, or with probability `noise` another candidate of each relation."""
    objects = truth.copy()
    for wrong in np.flatnonzero(rng.random(len(truth)) < noise):
        others = graph.candidates_of(relation[wrong])
        objects[wrong] = rng.choice(others[others != truth[wrong]])
    return objects


def merge_by_subject(sentences: Sentences, more: Sentences) -> Sentences:
    """The sentences of both, those about one subject next to each other."""
    both = concatenate_sentences(sentences, more)
    return both.take(np.argsort(both.about, kind="stable"))


def _fact_tolerance(graph: KnowledgeGraph) -> float:
    """How much doubt one fact may leave, so that no subject's facts leave more than TOLERANCE."""
    return TOLERANCE / np.bincount(np.searchsorted(graph.subjects, graph.subject)).max()


def resolve_facts(
    graph: KnowledgeGraph,
    truth: np.ndarray,
    open_facts: np.ndarray,
    config: ExactConfig,
    sentences: Sentences,
    rng: np.random.Generator,
) -> tuple[Sentences, Resolution]:
    """The sentences, and what settles each fact that they leave in doubt; and how sure all are then.

    What is to stay correctable is stated again, all else gets a certificate. Where rows are given nobody
    counts on others' facts, so that doubt does no harm; only facts in and/or sentences, of which the agent
    reads none, are settled still.

    Raises:
        InputError: the noise is such that doubt remains.
    """
    sentences = _state_again(graph, truth, config, sentences, rng)
    bound = np.where(open_facts, 0.0, doubt_of_statements(graph, config, sentences))
    if config.rows == "given":
        bound *= find_joined_facts(graph, sentences)
    unsure = bound > _fact_tolerance(graph)
    bound = np.where(unsure, 0.0, bound)
    facts = np.flatnonzero(unsure)
    atoms = np.column_stack([graph.subject[facts], graph.relation[facts], truth[facts]])
    sentences = merge_by_subject(sentences, make_sentences(Kind.NOT, atoms))
    per_subject = np.bincount(np.searchsorted(graph.subjects, graph.subject), weights=bound)
    return sentences, Resolution(unsure, per_subject)


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

    fact, objects, ratio = log_ratios(graph, config, sentences)
    settled = np.zeros(n, bool)
    settled[fact[np.isposinf(ratio)]] = True
    settled |= graph.is_link
    used = ~settled[fact] & has_truth[fact]
    cells, cell = np.unique(
        fact[used] * len(graph.entities) + objects[used].astype(np.int64), return_inverse=True
    )
    value = np.zeros(len(cells))
    np.add.at(value, cell, ratio[used])
    cell_fact = cells // len(graph.entities)

    # All objects but the likeliest against it; those never named share the value 0. All of it in logs, and
    # the likeliest left out rather than subtracted: what remains may be as small as exp(-1000).
    named = np.bincount(cell_fact, minlength=n)
    with_names = np.flatnonzero(named)
    top = np.lexsort((-value, cell_fact))[(np.cumsum(named) - named)[with_names]]
    unnamed_is_best = np.ones(n, bool)
    unnamed_is_best[with_names] = (value[top] < 0) & (size > named)[with_names]
    best = np.zeros(n)
    best[with_names] = np.where(unnamed_is_best[with_names], 0.0, value[top])
    others = np.ones(len(cells), bool)
    others[top[~unnamed_is_best[with_names]]] = False
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
    config: ExactConfig, fact: np.ndarray, objects: np.ndarray, size: np.ndarray, most: np.ndarray
) -> np.ndarray:
    """float64[facts]: log of how much likelier one row can make what was stated of a fact than another.

    At most the row of just these shares, and at least one in which all `most` draws were of other objects.
    """
    cells, count = np.unique(np.column_stack([fact, objects]), axis=0, return_counts=True)
    owner, n = cells[:, 0], np.bincount(fact, minlength=len(size))
    alpha = config.row_mass / size[owner]
    inside = count * np.log(count / n[owner]) - gammaln(alpha + count) + gammaln(alpha)
    base = config.row_mass + most
    return np.bincount(owner, inside, len(n)) + gammaln(base + n) - gammaln(base)
