"""Prompts of different lengths as one array: padded on the left, so that they all end together."""

from collections.abc import Sequence

import numpy as np

from corpus.text.tokenizer import PAD


def left_pad(rows: Sequence[np.ndarray], width: int) -> np.ndarray:
    """int32[len(rows), width]: token rows with PAD before them; an empty row is all PAD."""
    padded = np.full((len(rows), width), PAD, np.int32)
    for i, row in enumerate(rows):
        padded[i, width - len(row) :] = row
    return padded
