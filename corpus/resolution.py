"""Until no fact is in doubt: what is said besides in a world of kind `exact`, so that facts are resolved.

A fact that its evidence leaves in doubt gets a certificate, a sentence that settles it. What is to stay open
to correction gets further statements instead, noisy as all are: enough to be resolved, and nothing for
certain, so that another certificate can say otherwise. Where rows are given nobody's doubt touches anybody
else, and nothing is added.
"""

from dataclasses import dataclass

import numpy as np

from corpus.config import ExactConfig
from corpus.doubt import doubt_of_statements, find_joined_facts
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.text.language import Kind
from corpus.text.sentences import Sentences, concatenate_sentences

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


def state_again(
    graph: KnowledgeGraph,
    truth: np.ndarray,
    config: ExactConfig,
    sentences: Sentences,
    rng: np.random.Generator,
) -> Sentences:
    """The sentences, and further statements of facts that stay correctable until none is in doubt.

    As noisy as all others. When to stop depends on nothing but what was said, so that Bayes' rule, which
    reads all of it, need not know of it.

    Raises:
        InputError: the noise is such that doubt remains.
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
        said = _draw_with_noise(graph, truth[facts], graph.relation[facts], config.noise, rng)
        atoms = np.column_stack([graph.subject[facts], graph.relation[facts], said])
        sentences = _merge_by_subject(sentences, _make_sentences(Kind.ATOMIC, atoms))
    raise InputError(
        f"{len(facts) // config.statements:,} facts are in doubt however often they are stated; lower "
        "--exact.noise, or settle them (--exact.correctable False)"
    )


def _draw_with_noise(
    graph: KnowledgeGraph, truth: np.ndarray, relation: np.ndarray, noise: float, rng: np.random.Generator
) -> np.ndarray:
    """int32[n]: the truths, or with probability `noise` another candidate of each relation."""
    said = truth.copy()
    for wrong in np.flatnonzero(rng.random(len(truth)) < noise):
        others = graph.candidates_of(relation[wrong])
        said[wrong] = rng.choice(others[others != truth[wrong]])
    return said


def _make_sentences(kind: Kind, atoms: np.ndarray) -> Sentences:
    """Sentences of one atom; "is false", where they have a label."""
    n = len(atoms)
    return Sentences(
        kind=np.full(n, kind, np.int8),
        label=np.zeros(n, bool),
        about=atoms[:, 0].astype(np.int32),
        a=atoms.astype(np.int32),
        b=np.full((n, 3), -1, np.int32),
        phrasing=np.zeros(n, np.int16),
    )


def _merge_by_subject(sentences: Sentences, more: Sentences) -> Sentences:
    """The sentences of both, those about one subject next to each other."""
    both = concatenate_sentences(sentences, more)
    return both.take(np.argsort(both.about, kind="stable"))


def _fact_tolerance(graph: KnowledgeGraph) -> float:
    """How much doubt one fact may leave, so that no subject's facts leave more than TOLERANCE."""
    return TOLERANCE / np.bincount(np.searchsorted(graph.subjects, graph.subject)).max()


def certify_facts(
    graph: KnowledgeGraph,
    truth: np.ndarray,
    open_facts: np.ndarray,
    config: ExactConfig,
    sentences: Sentences,
) -> tuple[Sentences, Resolution]:
    """The sentences, and one that settles each fact that they leave in doubt; and how sure all are then.

    Where rows are given nobody counts on others' facts, so that doubt does no harm; only facts in and/or
    sentences, of which the agent reads none, are settled still.

    Raises:
        InputError: there are such facts and `config.certify` is off.
    """
    bound = np.where(open_facts, 0.0, doubt_of_statements(graph, config, sentences))
    if config.rows == "given":
        bound *= find_joined_facts(graph, sentences)
    unsure = bound > _fact_tolerance(graph)
    certified = np.zeros(len(graph), bool)
    if config.certify:
        certified = unsure
        bound = np.where(unsure, 0.0, bound)
        facts = np.flatnonzero(unsure)
        atoms = np.column_stack([graph.subject[facts], graph.relation[facts], truth[facts]])
        sentences = _merge_by_subject(sentences, _make_sentences(Kind.NOT, atoms))
    per_subject = np.bincount(np.searchsorted(graph.subjects, graph.subject), weights=bound)
    if (per_subject > TOLERANCE).any():
        raise InputError(
            f"the evidence leaves facts of {int((per_subject > TOLERANCE).sum()):,} subjects in doubt "
            f"(beyond {TOLERANCE:g}), so that no posterior would be exact; add --exact.certify, or state "
            "facts more often (--exact.statements, --exact.strata)"
        )
    return sentences, Resolution(certified, per_subject)
