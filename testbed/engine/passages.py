"""Texts that a model writes where cases ask for passages, before and after an edit."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from corpus.tokenizer import SEP, Tokenizer
from lm.attention import Array
from lm.decoding import Sampling, write
from lm.delta import Delta
from lm.language_model import LanguageModel
from lm.prompts import left_pad
from lm.scoring import text_log_probability
from testbed.engine.probes import LOGITS_AT_ONCE
from testbed.protocol import Case


class Openings(NamedTuple):
    """What E cases want written; a leading axis E on every array, then one line for every text.

    Attributes:
        prompts: int32[E, texts, P], left-padded.
        sampling: of each text.
        key: uint32[E, texts, 4], what each text is drawn by: seed, case, passage and sample.
    """

    prompts: Array
    sampling: Sampling
    key: Array


class Texts(NamedTuple):
    """What a model wrote for E cases; samples of one passage stand together.

    Attributes:
        tokens: int32[E, texts, longest], PAD from the end of the document on.
        log_p: float32[E, texts], log-probability of each text under the unedited model.
    """

    tokens: Array
    log_p: Array


class TextShape(NamedTuple):
    """Sizes that hold every case of a sweep.

    Attributes:
        texts: of the case with most of them; 0 where nobody asks for any.
        opening, longest: tokens of the longest opening and text.
        most_k: the largest top_k.
    """

    texts: int
    opening: int
    longest: int
    most_k: int


def text_shape(cases: Sequence[Case]) -> TextShape:
    """The shape that the given cases need."""
    asked = [passage for case in cases for passage in case.passages]
    return TextShape(
        max(sum(p.samples for p in case.passages) for case in cases),
        max((len(p.opening) for p in asked), default=0),
        max((p.longest for p in asked), default=0),
        max((p.top_k for p in asked), default=0),
    )


def build_openings(
    cases: Sequence[Case], numbers: Sequence[int], seed: int, shape: TextShape, pad_to: int = 1
) -> Openings:
    """Arrays for the given cases, padded to `shape`; a case with fewer texts has its last again, greedily.

    Args:
        numbers: of the cases in their sweep, by which their texts are drawn.
        pad_to: cases that stand together under one edit.
    """
    prompts, rules, keys = [], [], []
    for case, number in zip(cases, numbers, strict=True):
        lines = [
            (p.opening, (p.temperature, p.top_k, p.top_p), (seed, number, at, sample))
            for at, p in enumerate(case.passages)
            for sample in range(p.samples)
        ]
