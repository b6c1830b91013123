"""Few widths for requests of many lengths: each is a program more to compile, and less padding to compute."""

from collections.abc import Sequence

import numpy as np

from corpus.text.tokenizer import Tokenizer

MOST = 3
"""Widths of a sweep."""
EDITS = 100
"""That have a width of their own at least: for fewer, compiling costs more than it saves."""
LESS = 0.85
"""Of the next width's tokens that a width has at most."""


def lengths_of(tokenizer: Tokenizer, facts: Sequence[tuple[int, int, int]]) -> np.ndarray:
    """int[2]: tokens of the longest prompt of some facts, and of their longest answer with its ending."""
    prompts = [len(tokenizer.prompt(*pair)) for pair in {fact[:2] for fact in facts}]
    answers = [1 + len(tokenizer.entity(o)) for o in {fact[2] for fact in facts}]
    return np.array([max(prompts, default=0), max(answers, default=0)])


def widths_for(lengths: np.ndarray) -> list[np.ndarray]:
    """What requests are padded to, ascending; the last holds all of them.

    Args:
        lengths: int[requests, 2], tokens of prompts and of answers.

    Returns:
        int[2] each: tokens of a prompt, and of an answer.
    """
    tokens = lengths.sum(axis=1)
    widths = [lengths.max(axis=0)]
    parts = min(MOST, len(lengths) // EDITS)
    for part in range(parts - 1, 0, -1):
        shorter = lengths[tokens <= np.quantile(tokens, part / parts, method="lower")].max(axis=0)
        if shorter.sum() <= LESS * widths[0].sum():
            widths.insert(0, shorter)
    return widths


def narrowest_width(widths: Sequence[np.ndarray], lengths: np.ndarray) -> np.ndarray:
    """The first width that holds a prompt and an answer of int[2] tokens, as the last one must."""
    return next(width for width in widths if (width >= lengths).all())
