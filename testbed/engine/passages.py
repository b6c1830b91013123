"""Texts that a model writes where cases ask for passages."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from lm.attention import Array
from lm.decoding import Sampling, write
from lm.delta import Delta
from lm.language_model import LanguageModel
from lm.prompts import left_pad
from lm.scoring import text_log_probability
from testbed.protocol import Case, texts_of

LOGITS_AT_ONCE = 2**26
"""More are not held, but for those of one case."""


class TextShape(NamedTuple):
    """Sizes that hold every case of a sweep, so that one program serves all its batches.

    Attributes:
        texts: of the case with most of them; 0 where none is asked for.
        opening, longest: tokens of the longest opening and text.
        most_k: the largest top_k.
    """

    texts: int
    opening: int
    longest: int
    most_k: int


class Openings(NamedTuple):
    """What texts of E cases begin with; a leading axis E on every array, then one line a text.

    Attributes:
        prompts: int32[E, texts, P], left-padded; all PAD where a case has fewer texts.
        sampling: of each text.
        drawn_by: uint32[E, texts, 4], seed, case, passage and sample: a key for each text.
    """

    prompts: Array
    sampling: Sampling
    drawn_by: Array


class Texts(NamedTuple):
    """What a model writes for E cases.

    Attributes:
        tokens: int32[E, texts, longest], PAD from the end of the document on.
        log_p: float32[E, texts], log-probability of the text under the unedited model.
    """

    tokens: Array
    log_p: Array


def text_shape(cases: Sequence[Case]) -> TextShape:
    """The shape that the given cases need."""
    passages = [passage for case in cases for passage in case.passages]
    return TextShape(
        texts=max(len(list(texts_of(case))) for case in cases),
        opening=max((len(p.opening) for p in passages), default=1),
        longest=max((p.longest for p in passages), default=1),
        most_k=max((p.top_k for p in passages), default=1),
    )


def build_openings(cases: Sequence[Case], numbers: Sequence[int], seed: int, shape: TextShape) -> Openings:
    """Arrays for the given cases, padded to `shape`.

    Args:
        numbers: of the cases in their sweep, which their texts are drawn by.
    """
    nothing, lead = np.empty(0, np.int32), (len(cases), shape.texts)
    prompts, rules = [], np.zeros((*lead, 4))
    drawn_by = np.zeros((*lead, 4), np.uint32)
    for i, (case, number) in enumerate(zip(cases, numbers, strict=True)):
        texts = list(texts_of(case))
        for j, (at, p, sample) in enumerate(texts):
            rules[i, j] = p.temperature, p.top_k, p.top_p, p.longest
            drawn_by[i, j] = seed, number, at, sample
        prompts += [*(p.opening for _, p, _ in texts), *[nothing] * (shape.texts - len(texts))]
    temperature, top_k, top_p, longest = np.moveaxis(rules, -1, 0)
    return Openings(
        left_pad(prompts, shape.opening).reshape(*lead, shape.opening),
        Sampling(
            temperature.astype(np.float32),
            top_k.astype(np.int32),
            top_p.astype(np.float32),
            longest.astype(np.int32),
        ),
        drawn_by,
    )


@partial(jax.jit, static_argnames=("longest", "most_k"))
def write_texts(model: LanguageModel, deltas: Delta, openings: Openings, longest: int, most_k: int) -> Texts:
    """Texts of E cases, each case under its own delta, some cases at once.

    Args:
        deltas: leaves lead with E; nothing where the model is as it is.
    """

    def text_key(drawn_by: jax.Array) -> jax.Array:
        seed, *more = drawn_by
        folded = jax.random.key(seed)
        for number in more:
            folded = jax.random.fold_in(folded, number)
        return folded

    def write_case(pair: tuple[Delta, Openings]) -> Texts:
        delta, (prompts, sampling, drawn_by) = pair
        edited = model.with_delta(delta)
        tokens = write(
            edited,
            edited.read_prompts(prompts),
            jax.vmap(text_key)(jax.numpy.asarray(drawn_by)),
            sampling,
            longest,
            most_k,
        )
        return Texts(tokens, text_log_probability(model, prompts, tokens, sampling.longest))

    cases, texts, width = openings.prompts.shape
    # On CPUs keys and values of one case fit the processor's cache, and those of many cases do not.
    alone = jax.default_backend() == "cpu"
    at_once = 1 if alone else max(1, LOGITS_AT_ONCE // (texts * (width + longest) * model.vocabulary))
    return jax.lax.map(write_case, (deltas, openings), batch_size=min(at_once, cases))
