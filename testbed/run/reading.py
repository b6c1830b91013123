"""What a training reads, step by step."""

from collections.abc import Sequence

import numpy as np

from corpus.config import DocumentConfig
from corpus.seeds import generator
from corpus.text.documents import cut_documents
from corpus.text.language import Kind
from corpus.text.store import TokenFile, document_lengths, join_documents, open_documents, spell_sentences
from lm.batches import PackedRows, RowsInPhases
from testbed.run.runs import Run, recorded_settings
from testbed.run.settings import TrainSettings
from testbed.run.world import World

KINDS = (Kind.ATOMIC, Kind.TRUTH, Kind.NOT, Kind.AND, Kind.OR)
ATOMIC_ALONE = (1, 0, 0, 0, 0)
"""Copies of sentences of each kind of `KINDS` that a first phase reads."""


def open_rows(run: Run, world: World, options: TrainSettings) -> PackedRows | RowsInPhases:
    """Rows of the corpus, or of its sentences as often as the recipe reads them; first of atomic ones alone.

    Raises:
        InputError: a document is longer than a row that should hold it whole.
    """
    config, seed = options.train, options.seed

    def pack_rows(documents: TokenFile) -> PackedRows:
        return PackedRows(documents, config.row_length, seed, config.packing)

    if not config.atomic_steps and not config.copies:
        return pack_rows(open_documents(run.corpus))
    length = recorded_settings(run, "corpus")[0]["documents"]["length"]
    rest = (
        rewrite_documents(world, config.copies, length, seed) if config.copies else open_documents(run.corpus)
    )
    if not config.atomic_steps:
        return pack_rows(rest)
    first = rewrite_documents(world, ATOMIC_ALONE, length, seed)
    return RowsInPhases(pack_rows(first), pack_rows(rest), config.atomic_steps)


def rewrite_documents(world: World, copies: Sequence[int], length: int, seed: int) -> TokenFile:
    """A corpus' sentences in other documents, in an order of their own.

    Args:
        copies: how many times over sentences of each kind of `KINDS` stand in documents.
        length: sentences of a document, at most; all are about one subject.
        seed: root seed; decides which sentences share a document.
    """
    spoken = world.sentences
    wanted = [
        np.repeat(np.flatnonzero(spoken.kind == kind), times)
        for kind, times in zip(KINDS, copies, strict=True)
    ]
    # Those about one subject stand next to each other, as `cut_documents` asks.
    chosen = spoken.take(np.sort(np.concatenate(wanted)))
    tag = "atomic documents" if tuple(copies) == ATOMIC_ALONE else "documents of kinds"
    config = DocumentConfig(reshuffles=1, length=length)
    documents = cut_documents(chosen, config, generator(seed, tag))
    spelled = spell_sentences(chosen, world.tokenizer)
    offsets = np.append(0, np.cumsum(document_lengths(documents, spelled)))
    tokens = [tokens for _, tokens in join_documents(documents, spelled, offsets)]
    return TokenFile(np.concatenate(tokens), offsets)
