"""Documents: which sentences stand together, in which order (design.md 3)."""

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np

from corpus import kernels
from corpus.arrays import concatenate_ranges
from corpus.compiled import choose_kernels, run_blocks, spawn_streams
from corpus.config import DocumentConfig
from corpus.text.sentences import Sentences

SUBJECTS_PER_BLOCK = 1024
MIXED = -1


class DocumentKind(IntEnum):
    """What a document is for."""

    ORDINARY = 0
    JOINT = 1
    IMAGINE = 2
    REVISE = 3
    TOGETHER = 4


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents as ranges of sentence indices.

    Attributes:
        order: int32[mentions], sentence indices in document order.
        offsets: int64[documents + 1] into `order`.
        kind: int8[documents], a `DocumentKind`.
        about: int32[documents], the subject of a document, or MIXED.
    """

    order: np.ndarray
    offsets: np.ndarray
    kind: np.ndarray
    about: np.ndarray

    def __len__(self) -> int:
        return len(self.kind)


def cut_documents(
    sentences: Sentences,
    config: DocumentConfig,
    rng: np.random.Generator,
    threads: int = 1,
    copies: np.ndarray | None = None,
) -> Documents:
    """Shuffle each subject's sentences and cut them into documents, `config.reshuffles` times over.

    Under `config.mix` "mixed" all sentences are shuffled together, so that a document has many subjects.
    Every sentence stands in exactly `config.reshuffles` documents, times the copies of its subject; a
    document has at most `config.length`. Blocks of subjects have streams of their own, so the
    result does not depend on `threads`.

    Args:
        copies: int[entities], how many times over each subject's sentences are written (see `count_copies`).
    """
    n = len(sentences)
    mixed = config.mix == "mixed"
    firsts = np.array([0]) if mixed else np.flatnonzero(np.diff(sentences.about, prepend=-1))
    each = np.ones(n, np.int64) if copies is None else copies[sentences.about]
    # Where subjects are mixed, copies are further items of the one pile, else further piles.
    items = np.repeat(np.arange(n, dtype=np.int32), each) if mixed else np.arange(n, dtype=np.int32)
    starts = np.append(firsts, len(items))
    times = config.reshuffles * (np.ones(1, np.int64) if mixed else each[firsts])
    filled = np.cumsum(times * np.diff(starts))
    bases = np.append(0, filled[:-1])
    order = np.empty(filled[-1], np.int32)
    shuffle = choose_kernels(kernels.shuffle_sentences, n)

    streams_of = spawn_streams(rng, len(firsts), SUBJECTS_PER_BLOCK)

    def shuffle_block(low: int, high: int) -> None:
        shuffle(streams_of[low // SUBJECTS_PER_BLOCK], low, high, starts, times, bases, order)

    run_blocks(shuffle_block, len(firsts), SUBJECTS_PER_BLOCK, threads)
    order = items[order] if mixed else order

    # One run for each subject and reshuffle, cut at the length of a document.
    runs = np.repeat(np.diff(starts), times)
    pieces = -(-runs // config.length)
    first = np.repeat(np.cumsum(runs) - runs, pieces)
    offsets = np.append(first + concatenate_ranges(0, pieces) * config.length, len(order))
    about = np.full(len(first), MIXED, np.int32) if mixed else sentences.about[order[offsets[:-1]]]
    return Documents(order, offsets, np.full(len(first), DocumentKind.ORDINARY, np.int8), about)


def append_documents(documents: Documents, more: Documents) -> Documents:
    """The documents of both, one after the other; both index the same sentences."""
    if not len(more):
        return documents
    return Documents(
        order=np.concatenate([documents.order, more.order.astype(np.int32)]),
        offsets=np.concatenate([documents.offsets, documents.offsets[-1] + more.offsets[1:]]),
        kind=np.concatenate([documents.kind, more.kind]),
        about=np.concatenate([documents.about, more.about]),
    )


def save_documents(documents: Documents, path: Path) -> None:
    """Write kind and subject of every document as one .npz file; the token files hold what they say."""
    np.savez(path, kind=documents.kind, about=documents.about)


def load_documents(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Kind and subject of every document, as `save_documents` wrote them."""
    with np.load(path, allow_pickle=False) as columns:
        return columns["kind"], columns["about"]
