"""Rows of packed documents; a batch is a pure function of (seed, step), so that resuming needs no state."""

from functools import lru_cache

import numpy as np

from corpus.errors import InputError
from corpus.seeds import generator
from corpus.store import TokenFile
from corpus.tokenizer import PAD


class PackedRows:
    """All documents of a corpus, in one shuffled order, packed whole into rows.

    Args:
        documents: the corpus.
        row_length: tokens of a row.
        seed: root seed; decides which documents share a row and the order of rows in each epoch.

    Raises:
        InputError: a document is longer than a row.
    """

    def __init__(self, documents: TokenFile, row_length: int, seed: int) -> None:
        lengths = np.diff(documents.offsets)
        if lengths.max() > row_length:
            raise InputError(
                f"the longest document has {lengths.max()} tokens and a row {row_length}; "
                f"raise --train.row-length to {lengths.max()} or more"
            )
        self.documents = documents
        self.row_length = row_length
        self.seed = seed
        self.order = generator(seed, "packing").permutation(len(lengths))
        self.starts = _next_fit(lengths[self.order], row_length)
        self._epoch = lru_cache(maxsize=2)(self._permute)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def batch(self, step: int, rows: int) -> np.ndarray:
        """int32[rows, row_length]: the rows of one step, padded with PAD."""
        tokens = np.full((rows, self.row_length), PAD, np.int32)
        for i, place in enumerate(range(step * rows, (step + 1) * rows)):
            epoch, within = divmod(place, len(self))
            row = self._epoch(epoch)[within]
            at = 0
            for document in self.order[self.starts[row] : self.starts[row + 1]]:
                low, high = self.documents.offsets[document : document + 2]
                tokens[i, at : at + high - low] = self.documents.tokens[low:high]
                at += high - low
        return tokens

    def _permute(self, epoch: int) -> np.ndarray:
        return generator(self.seed, f"rows of epoch {epoch}").permutation(len(self))


def _next_fit(lengths: np.ndarray, row_length: int) -> np.ndarray:
    """Bounds of rows over consecutive documents: a new row begins where a document no longer fits."""
    ends = np.cumsum(lengths)
    starts, full = [0], row_length
    while starts[-1] < len(lengths):
        following = int(np.searchsorted(ends, full, side="right"))
        starts.append(following)
        full = row_length + (int(ends[following - 1]) if following else 0)
    return np.array(starts)
