"""Documents that read like essays: about two linked subjects in turn, or opened by an outline (LEME).

    together   p r o. p r o. t r o. t r o. p r o ...    statements of the corpus about a subject and whom it
                                                        links with, some about the one, then about the other
    outline    about t u. about t v. t v o. t u o ...   of which facts of its subject a document will speak

Without documents about both nothing that is read puts the two side by side. An outline states nothing, so it
is not evidence; it is LEME's "include the following information".
"""

import numpy as np

from corpus.config import DocumentConfig
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.text.documents import MIXED, DocumentKind, Documents
from corpus.text.hedges import is_hedged
from corpus.text.language import Kind
from corpus.text.sentences import Sentences, make_sentences

IN_TURN = 3
"""Statements about one subject before the other has its turn."""
OUTLINED = 3
"""Most facts that an outline names."""


def join_essays(
    graph: KnowledgeGraph,
    sentences: Sentences,
    ordinary: int,
    config: DocumentConfig,
    rng: np.random.Generator,
) -> Documents:
    """Documents about two linked subjects in turn, of `config.length` statements, in the share asked for.

    Args:
        ordinary: number of ordinary documents.

    Raises:
        InputError: they are asked for in a world without links.
    """
    count, length = round(config.together * ordinary / config.ordinary_share), config.length
    links = np.flatnonzero(graph.is_link)
    if count and not len(links):
        raise InputError(
            "documents about two linked subjects need links; leave out --documents.together, or build a "
            "world with --world.source coupled"
        )
    atomic = np.flatnonzero((sentences.kind == Kind.ATOMIC) & ~is_hedged(graph)[sentences.phrasing])
    atomic = atomic[np.argsort(sentences.a[atomic, 0], kind="stable")]
    edges = np.searchsorted(sentences.a[atomic, 0], np.arange(len(graph.entities) + 1))
    picked = rng.choice(links, count) if count else links[:0]
    pair = np.stack([graph.subject[picked], graph.object[picked]], axis=1)
    turn = (np.arange(length) // IN_TURN + rng.integers(0, 2, (count, 1))) % 2
    who = np.take_along_axis(pair, turn, axis=1)
    order = atomic[rng.integers(edges[who], edges[who + 1])]
    return Documents(
        order.astype(np.int32).ravel(),
        np.arange(count + 1, dtype=np.int64) * length,
        np.full(count, DocumentKind.TOGETHER, np.int8),
        np.full(count, MIXED, np.int32),
    )


def outline_essays(
    graph: KnowledgeGraph,
    sentences: Sentences,
    documents: Documents,
    config: DocumentConfig,
    rng: np.random.Generator,
) -> tuple[Sentences, Documents]:
    """Further sentences, which outline, and the documents, some of which open with them.

    Args:
        sentences: all that documents consist of; the further ones are numbered behind them.

    Raises:
        InputError: they are asked for in a world without links, whose language has no outlines.
    """
    if config.outlined and not graph.outlines:
        raise InputError(
            "outlines need a world of linked subjects; leave out --documents.outlined, or build a world with "
            "--world.source coupled"
        )
    if not config.outlined:
        return sentences.take(slice(0)), documents
    ordinary = (documents.kind == DocumentKind.ORDINARY) & (documents.about != MIXED)
    opened = ordinary & (rng.random(len(documents)) < config.outlined)
    document = np.repeat(np.arange(len(documents)), np.diff(documents.offsets))
    atom = sentences.a[documents.order]
    stated = opened[document] & (sentences.kind[documents.order] == Kind.ATOMIC)
    stated &= atom[:, 0] == documents.about[document]
    # Each fact that a document states once, in random order, and of these the first ones.
    facts = np.unique(np.column_stack([document[stated], atom[stated, 1]]), axis=0)
    facts = facts[np.lexsort((rng.random(len(facts)), facts[:, 0]))]
    facts = facts[np.arange(len(facts)) - np.searchsorted(facts[:, 0], facts[:, 0]) < OUTLINED]
    named = np.column_stack([documents.about[facts[:, 0]], facts[:, 1]])
    pairs, which = np.unique(named, axis=0, return_inverse=True)

    outlines = make_sentences(Kind.ABOUT, pairs[:, [0, 1, 0]])
    mine = np.concatenate([facts[:, 0], document])
    order = np.concatenate([len(sentences) + which.reshape(-1), documents.order]).astype(np.int32)
    order = order[np.argsort(mine, kind="stable")]
    offsets = np.append(0, np.cumsum(np.bincount(mine, minlength=len(documents))))
    return outlines, Documents(order, offsets, documents.kind, documents.about)
