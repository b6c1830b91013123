"""Documents beyond the ordinary ones: joint, imagine and revise (design.md 3).

    joint    s u o. s d o'                              two statements of the corpus, side by side
    imagine  imagine s u o*. s d o''. s x p             what would follow from o*, and what would stay
    revise   s u o. s d o'. revise s u o*. s d o''      the same after the facts as they are

d depends on u, x neither on u nor on what depends on it, and o is the truth. What follows from o* is said as
the corpus says it of subjects who have o*: the object of a random statement about one of them. What depends
on d in turn is left unsaid, and so are facts of linked subjects that depend on u. Sentences of imagine and
revise documents are not evidence about the world, so they are kept apart from the corpus's own; a joint
document repeats those.

Where a document is about one subject and never says its premise again, nothing teaches a reader of whom the
premise was said. So an imagine document may say s u o* again among what follows, and speak of somebody else,
t u o', t d p', whose facts stay as they are. Both may fall to the cut of a long document. A digression says
of s the premise alone, and goes on about t, of whom it has said nothing: what is so of t.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from corpus.arrays import concatenate_ranges
from corpus.config import DocumentConfig
from corpus.errors import InputError
from corpus.generative import other_objects
from corpus.graph import KnowledgeGraph
from corpus.text.documents import DocumentKind, Documents
from corpus.text.language import Kind
from corpus.text.sentences import Sentences, make_sentences

BYSTANDER_FACTS = 2
"""What is said of a second subject, besides their own fact of the premise's relation."""


class Lines(NamedTuple):
    """Sentences of documents in the making, of smaller rank first.

    `old` is the index of a sentence of the corpus, or -1 for a new one of the given kind and atom.
    """

    document: np.ndarray
    rank: np.ndarray
    old: np.ndarray
    kind: np.ndarray
    atom: np.ndarray


class Premises(NamedTuple):
    """What documents suppose.

    Attributes:
        document: int[N], their documents.
        fact: int[N], the facts that are supposed to be otherwise, upstream ones.
        target: int[N], their objects then.
    """

    document: np.ndarray
    fact: np.ndarray
    target: np.ndarray

    def split(self, count: int) -> tuple["Premises", "Premises"]:
        """The first so many, and the others."""
        return Premises(*(x[:count] for x in self)), Premises(*(x[count:] for x in self))


def repeat_lines(document: np.ndarray, rank: int, old: np.ndarray) -> Lines:
    """Lines that repeat sentences of the corpus."""
    n = len(document)
    return Lines(document, np.full(n, rank), old, np.full(n, Kind.ATOMIC), np.zeros((n, 3), np.int32))


def write_lines(document: np.ndarray, rank: int, kind: Kind, *atom: np.ndarray) -> Lines:
    """Lines that nobody has said yet; `atom` is subject, relation and object."""
    n = len(document)
    return Lines(document, np.full(n, rank), np.full(n, -1), np.full(n, kind), np.column_stack(atom))


class Statements:
    """Atomic sentences by fact, and by what the subject's upstream object is."""

    def __init__(self, graph: KnowledgeGraph, truth: np.ndarray, sentences: Sentences) -> None:
        self.rows = np.flatnonzero((sentences.kind == Kind.ATOMIC) & (sentences.phrasing == 0))
        fact = graph.find(sentences.a[self.rows, 0], sentences.a[self.rows, 1])
        order = np.argsort(fact, kind="stable")
        self.rows, fact = self.rows[order], fact[order]
        self.edges = np.searchsorted(fact, np.arange(len(graph) + 1))
        self.object = sentences.a[:, 2]
        self.width = len(graph.entities)

        below = np.flatnonzero(graph.upstream_fact[fact] >= 0)
        key = self._fact_key(graph.relation[fact[below]], truth[graph.upstream_fact[fact[below]]])
        order = np.argsort(key, kind="stable")
        self.followers = self.rows[below[order]]
        self.keys, first = np.unique(key[order], return_index=True)
        self.follower_edges = np.append(first, len(order))

    def _fact_key(self, relation: np.ndarray | int, upstream_object: np.ndarray) -> np.ndarray:
        """One number for a relation and an upstream object."""
        return np.asarray(relation, np.int64) * self.width + upstream_object

    def stated_fact(self, facts: np.ndarray) -> np.ndarray:
        """Whether each fact is stated at all."""
        return self.edges[facts + 1] > self.edges[facts]

    def draw_statements(self, facts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A random statement of each fact, as a sentence index; the facts are stated."""
        return self.rows[rng.integers(self.edges[facts], self.edges[facts + 1])]

    def find_groups(self, relation: np.ndarray, upstream_object: np.ndarray) -> np.ndarray:
        """Where in `keys` what follows from an upstream object stands, -1 where nothing was ever said."""
        key = self._fact_key(relation, upstream_object)
        at = np.minimum(np.searchsorted(self.keys, key), max(len(self.keys) - 1, 0))
        return np.where(self.keys[at] == key, at, -1) if len(self.keys) else np.full(len(key), -1)

    def draw_objects(self, at: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The object of a random statement of each group of `keys`."""
        return self.object[self.followers[rng.integers(self.follower_edges[at], self.follower_edges[at + 1])]]


@dataclass(frozen=True, eq=False)
class ChosenDocuments:
    """Whom and what imagine and revise documents may be about; everybody and everything else is held out.

    Attributes:
        subjects, objects: int32, entities.
    """

    subjects: np.ndarray
    objects: np.ndarray


def write_further_documents(
    graph: KnowledgeGraph,
    truth: np.ndarray,
    sentences: Sentences,
    ordinary: int,
    config: DocumentConfig,
    chosen: ChosenDocuments,
    rng: np.random.Generator,
) -> tuple[Sentences, Documents]:
    """Joint, imagine and revise documents in the shares that `config` asks for.

    Args:
        truth: int[facts], ground truth of each fact.
        ordinary: number of ordinary documents.

    Returns:
        The sentences that only these documents have, and the documents; sentence i of the corpus is
        index i, and further sentence j is len(sentences) + j.

    Raises:
        InputError: nothing such a document could be about.
    """
    statements = Statements(graph, truth, sentences)
    total = ordinary / config.ordinary_share
    counts = [round(share * total) for share in (config.joint, config.imagine, config.revise)]
    joint, imagine, revise = np.split(np.arange(sum(counts)), np.cumsum(counts)[:-1])

    pairs = _draw_pairs(graph, statements, len(joint), rng)
    lines = [
        repeat_lines(joint, 0, statements.draw_statements(graph.upstream_fact[pairs], rng)),
        repeat_lines(joint, 1, statements.draw_statements(pairs, rng)),
    ]
    subjects = [graph.subject[pairs]]
    for document, word in ((imagine, Kind.IMAGINE), (revise, Kind.REVISE)):
        premises = _draw_premises(graph, truth, statements, chosen, document, word, rng)
        subjects.append(graph.subject[premises.fact])
        digressions = config.digressions if word == Kind.IMAGINE else 0.0
        aside, premises = premises.split(round(digressions * len(document)))
        lines += _digress(graph, statements, aside, rng)
        lines += _suppose_premises(graph, truth, statements, premises, word, rng)
        if word == Kind.IMAGINE:
            lines += _bind_premises(graph, statements, chosen, premises, config, rng)
    kinds = np.repeat((DocumentKind.JOINT, DocumentKind.IMAGINE, DocumentKind.REVISE), counts)
    return _assemble_documents(lines, kinds, np.concatenate(subjects), len(sentences), config.length, rng)


def _draw_pairs(
    graph: KnowledgeGraph, statements: Statements, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Random downstream facts that are stated, as is the fact they depend on."""
    pairs = np.flatnonzero(graph.upstream_fact >= 0)
    pairs = pairs[statements.stated_fact(pairs) & statements.stated_fact(graph.upstream_fact[pairs])]
    if count and not len(pairs):
        raise InputError("joint documents need a subject with both facts of a pair; name --world.pairs")
    return rng.choice(pairs, count) if count else pairs[:0]


def _own_upstream(graph: KnowledgeGraph) -> np.ndarray:
    """int64[facts]: the fact of the same subject that each depends on, or -1; a document is about one."""
    up = graph.upstream_fact
    return np.where(graph.subject[up] == graph.subject, up, -1)


def _draw_premises(
    graph: KnowledgeGraph,
    truth: np.ndarray,
    statements: Statements,
    chosen: ChosenDocuments,
    document: np.ndarray,
    word: Kind,
    rng: np.random.Generator,
) -> Premises:
    """Upstream facts of chosen subjects, and another chosen object for each from which something follows."""
    count = len(document)
    # Picked by what depends on them, so that something follows for this very subject.
    children = np.flatnonzero(_own_upstream(graph) >= 0)
    children = children[np.isin(graph.subject[children], chosen.subjects)]
    able, options = [children[:0]], {}
    for relation in np.unique(graph.relation[children]).tolist():
        pool = np.intersect1d(graph.candidates_of(int(graph.upstream[relation])), chosen.objects)
        options[relation] = pool[statements.find_groups(np.full(len(pool), relation), pool) >= 0]
        mine = children[graph.relation[children] == relation]
        others = len(options[relation]) - np.isin(truth[graph.upstream_fact[mine]], options[relation])
        able.append(mine[others > 0])
    pool = np.concatenate(able)
    if count and not len(pool):
        raise InputError(
            f"{word.name.lower()} documents need chosen subjects with a fact that others depend on and "
            "another chosen object for it; raise --documents.chosen-subjects or --documents.chosen-objects"
        )
    picked = rng.choice(pool, count) if count else pool[:0]
    premises, targets = graph.upstream_fact[picked], np.empty(count, np.int64)
    for relation, objects in options.items():
        mine = graph.relation[picked] == relation
        targets[mine] = other_objects(objects, truth[premises[mine]], rng) if mine.any() else 0
    return Premises(document, premises, targets)


def _suppose_premises(
    graph: KnowledgeGraph,
    truth: np.ndarray,
    statements: Statements,
    premises: Premises,
    word: Kind,
    rng: np.random.Generator,
) -> list[Lines]:
    """The lines of imagine or revise documents, one document for each premise."""
    document, supposed, targets = premises
    at, fact = _facts_of_same(graph, supposed)
    depends = graph.upstream_fact[fact] == supposed[at]
    moves = depends | (fact == supposed[at])
    # Whatever depends on what moves, moves; the fact above another stands among the same subject's.
    above = _own_upstream(graph)[fact]
    place = np.where(above >= 0, np.arange(len(fact)) - (fact - above), 0)
    for _ in range(len(graph.relations)):
        moves |= (above >= 0) & moves[place]
    stated = statements.stated_fact(fact)
    group = statements.find_groups(graph.relation[fact], targets[at])
    new = depends & (group >= 0)

    follow = (
        Kind.ATOMIC,
        graph.subject[fact[new]],
        graph.relation[fact[new]],
        statements.draw_objects(group[new], rng),
    )
    if word == Kind.IMAGINE:
        stays = stated & ~moves
        return [
            _state_premises(graph, premises, 0, word),
            write_lines(document[at[new]], 1, *follow),
            repeat_lines(document[at[stays]], 2, statements.draw_statements(fact[stays], rng)),
        ]
    was = stated & depends
    return [
        write_lines(
            document, 0, Kind.ATOMIC, graph.subject[supposed], graph.relation[supposed], truth[supposed]
        ),
        repeat_lines(document[at[was]], 1, statements.draw_statements(fact[was], rng)),
        _state_premises(graph, premises, 2, word),
        write_lines(document[at[new]], 3, *follow),
    ]


def _bind_premises(
    graph: KnowledgeGraph,
    statements: Statements,
    chosen: ChosenDocuments,
    premises: Premises,
    config: DocumentConfig,
    rng: np.random.Generator,
) -> list[Lines]:
    """Lines for which it matters of whom a premise was read: the premise again, and somebody else's facts."""
    document = premises.document
    lines = [_state_premises(graph, premises, 1, Kind.ATOMIC)] if config.premise_again else []
    if not config.bystanders:
        return lines
    which = np.flatnonzero(rng.random(len(document)) < config.bystanders)
    which, others = _draw_others(graph, statements, chosen, which, premises.fact[which], rng)
    at, fact = _facts_of_same(graph, others)
    is_bound = (graph.upstream_fact[fact] == others[at]) & statements.stated_fact(fact)
    at, fact = at[is_bound], fact[is_bound]
    order = np.lexsort((rng.random(len(at)), at))
    within = np.arange(len(at)) - np.searchsorted(at, at)
    at, fact = at[order][within < BYSTANDER_FACTS], fact[order][within < BYSTANDER_FACTS]
    return [
        *lines,
        repeat_lines(document[which], 1, statements.draw_statements(others, rng)),
        repeat_lines(document[which[at]], 1, statements.draw_statements(fact, rng)),
    ]


def _state_premises(graph: KnowledgeGraph, premises: Premises, rank: int, kind: Kind) -> Lines:
    """A line for each premise, in the words of such a sentence."""
    fact = premises.fact
    return write_lines(
        premises.document, rank, kind, graph.subject[fact], graph.relation[fact], premises.target
    )


def _digress(
    graph: KnowledgeGraph, statements: Statements, premises: Premises, rng: np.random.Generator
) -> list[Lines]:
    """Lines that imagine something of one subject, and then say what is so of another.

    The other is one of whom a further document imagines the same: of anybody else, what can be imagined of
    whom would tell the two apart, whatever their names.
    """
    order = np.lexsort((rng.random(len(premises.fact)), premises.target))
    first = np.searchsorted(premises.target[order], premises.target[order])
    following = np.append(premises.target[order][1:] == premises.target[order][:-1], False)
    others = np.empty_like(premises.fact)
    others[order] = premises.fact[order][np.where(following, np.arange(1, len(order) + 1), first)]
    is_other = graph.subject[others] != graph.subject[premises.fact]
    document, others = premises.document[is_other], others[is_other]
    at, fact = _facts_of_same(graph, others)
    is_stated = statements.stated_fact(fact)
    so = statements.draw_statements(fact[is_stated], rng)
    return [_state_premises(graph, premises, 0, Kind.IMAGINE), repeat_lines(document[at[is_stated]], 1, so)]


def _draw_others(
    graph: KnowledgeGraph,
    statements: Statements,
    chosen: ChosenDocuments,
    which: np.ndarray,
    premises: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """For each premise, somebody else's fact of the same relation; premises without one fall away.

    Args:
        which: int[N], what each premise belongs to.

    Returns:
        What is left of `which`, and the facts.
    """
    others = np.full(len(which), -1)
    for relation in np.unique(graph.relation[premises]).tolist():
        pool = np.flatnonzero((graph.relation == relation) & np.isin(graph.subject, chosen.subjects))
        pool = pool[statements.stated_fact(pool)]
        mine = np.flatnonzero(graph.relation[premises] == relation)
        if len(pool) > 1:
            others[mine] = other_objects(pool, premises[mine], rng)
    return which[others >= 0], others[others >= 0]


def _facts_of_same(graph: KnowledgeGraph, facts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every fact of the subject of each of `facts`, behind the index of the fact it stands for."""
    first = np.searchsorted(graph.subject, graph.subject[facts])
    each = np.searchsorted(graph.subject, graph.subject[facts], side="right") - first
    return np.repeat(np.arange(len(facts)), each), concatenate_ranges(first, each)


def _assemble_documents(
    parts: list[Lines],
    kinds: np.ndarray,
    subjects: np.ndarray,
    known: int,
    longest: int,
    rng: np.random.Generator,
) -> tuple[Sentences, Documents]:
    """Documents in their order; lines of equal rank are shuffled, the longest documents cut."""
    lines = Lines(*map(np.concatenate, zip(*parts, strict=True)))
    order = np.lexsort((rng.random(len(lines.document)), lines.rank, lines.document))
    first = np.searchsorted(lines.document[order], np.arange(len(kinds)))
    within = np.arange(len(order)) - first[lines.document[order]]
    lines = Lines(*(column[order[within < longest]] for column in lines))
    fresh = lines.old < 0
    further = make_sentences(lines.kind[fresh], lines.atom[fresh])
    index = np.where(fresh, known + np.cumsum(fresh) - 1, lines.old)
    offsets = np.searchsorted(lines.document, np.arange(len(kinds) + 1))
    return further, Documents(
        index.astype(np.int32), offsets, kinds.astype(np.int8), subjects.astype(np.int32)
    )
