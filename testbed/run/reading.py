"""What a training reads, step by step."""

import numpy as np

from corpus.config import DocumentConfig
from corpus.seeds import generator
from corpus.text.documents import cut_documents
from corpus.text.language import Kind
from corpus.text.store import (
    TokenFile,
    document_lengths,
    join_documents,
    open_documents,
    spell_sentences,
)
from lm.batches import PackedRows, RowsInPhases
from testbed.run.runs import Run, recorded_settings
from testbed.run.settings import TrainSettings
from testbed.run.world import World


def open_rows(run: Run, world: World, options: TrainSettings) -> PackedRows | RowsInPhases:
    """Rows of the corpus; where the recipe says so, of its atomic sentences alone for the first steps.

    Raises:
        InputError: a document is longer than a row that should hold it whole.
    """
    config, seed = options.train, options.seed
    rows = PackedRows(open_documents(run.corpus), config.row_length, seed, config.packing)
    if not config.atomic_steps:
        return rows
    length = recorded_settings(run, "corpus")[0]["documents"]["length"]
    first = PackedRows(atomic_documents(world, length, seed), config.row_length, seed, config.packing)
    return RowsInPhases(first, rows, config.atomic_steps)


def atomic_documents(world: World, length: int, seed: int) -> TokenFile:
    """Documents of a corpus' atomic sentences, each once.

    Args:
        length: sentences of a document, at most; all are about one subject.
        seed: root seed; decides which sentences share a document.
    """
    spoken = world.sentences
    atomic = spoken.take(np.flatnonzero(spoken.kind == Kind.ATOMIC))
    config = DocumentConfig(reshuffles=1, length=length)
    documents = cut_documents(atomic, config, generator(seed, "atomic documents"))
    spelled = spell_sentences(atomic, world.tokenizer)
    offsets = np.append(0, np.cumsum(document_lengths(documents, spelled)))
    tokens = [tokens for _, tokens in join_documents(documents, spelled, offsets)]
    return TokenFile(np.concatenate(tokens), offsets)
