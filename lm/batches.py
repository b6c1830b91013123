"""Rows of documents; a batch is a pure function of (seed, step), so that resuming needs no state."""

from functools import lru_cache

import numpy as np

from corpus.compiled import choose_kernels
from corpus.errors import InputError
from corpus.kernels import next_fit
from corpus.seeds import generator
from corpus.text.store import TokenFile
from corpus.text.tokenizer import PAD
from lm.config import Packing


class PackedRows:
    """All documents of a corpus, end to end in one shuffled order, cut into rows.

    packed: as many whole documents to a row as fit; stream: rows without padding, which may cut a
    document, each piece then standing on its own; document: one document a row.

    Args:
        documents: the corpus.
        row_length: tokens of a row.
        seed: root seed; decides which documents share a row and the order of rows in each epoch.
        packing: where rows are cut.

    Raises:
        InputError: a document is longer than a row that should hold it whole.
    """

    def __init__(self, documents: TokenFile, row_length: int, seed: int, packing: Packing = "packed") -> None:
        lengths = np.diff(documents.offsets)
        if packing != "stream" and lengths.max() > row_length:
            raise InputError(
                f"the longest document has {lengths.max()} tokens and a row {row_length}; "
                f"raise --train.row-length to {lengths.max()} or more, or use --train.packing stream"
            )
        self.documents = documents
        self.row_length = row_length
        self.seed = seed
        self.order = generator(seed, "packing").permutation(len(lengths))
        # Where each document begins, and where each row is cut, in the shuffled stream of tokens.
        self.begins = np.concatenate([[0], np.cumsum(lengths[self.order])])
        if packing == "stream":
            self.cuts = np.append(np.arange(0, self.begins[-1], row_length), self.begins[-1])
        elif packing == "document":
            self.cuts = self.begins
        else:
            firsts = np.empty(len(lengths) + 1, np.int64)
            rows = choose_kernels(next_fit, len(lengths))(lengths[self.order], row_length, firsts)
            self.cuts = self.begins[firsts[:rows]]
        self._epoch = lru_cache(maxsize=2)(
            lambda epoch: generator(seed, f"rows of epoch {epoch}").permutation(len(self))
        )

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def batch(self, step: int, rows: int) -> np.ndarray:
        """int32[rows, row_length]: the rows of one step, padded with PAD."""
        tokens = np.full((rows, self.row_length), PAD, np.int32)
        for i, place in enumerate(range(step * rows, (step + 1) * rows)):
            epoch, within = divmod(place, len(self))
            row = self._epoch(epoch)[within]
            low, high = self.cuts[row : row + 2]
            at, place_of = low, int(np.searchsorted(self.begins, low, side="right")) - 1
            while at < high:
                begin, end = self.begins[place_of : place_of + 2]
                end = min(end, high)
                first = self.documents.offsets[self.order[place_of]] + at - begin
                tokens[i, at - low : end - low] = self.documents.tokens[first : first + end - at]
                at, place_of = end, place_of + 1
        return tokens


class RowsInPhases:
    """Batches from some documents for the first steps, and from others afterwards.

    Args:
        first: rows of the first `steps` steps.
        rest: rows of all later ones, from their own first batch on.
    """

    def __init__(self, first: PackedRows, rest: PackedRows, steps: int) -> None:
        self.first, self.rest, self.steps = first, rest, steps

    def __len__(self) -> int:
        return len(self.rest)

    def batch(self, step: int, rows: int) -> np.ndarray:
        """int32[rows, row_length]: the rows of one step, padded with PAD."""
        early = step < self.steps
        return self.first.batch(step, rows) if early else self.rest.batch(step - self.steps, rows)
