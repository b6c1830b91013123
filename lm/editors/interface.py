"""What an editor is, and how many edits run at once.

An editor is a frozen dataclass, its hyper-parameters, with two pure methods:

    prepare(model, corpus_sample) -> state              once per model
    edit(model, state, request, key) -> (delta, info)   one edit

`edit` is traced once and vmapped over requests; the model is shared and never changed.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from corpus.tokenizer import PAD, SEP, Tokenizer
from lm.attention import Array
from lm.language_model import LanguageModel
from lm.model import Delta

State = Any
"""Whatever `prepare` returns: a pytree of arrays; {} for most editors."""


class Request(NamedTuple):
    """One edit, or many along a leading axis.

    Attributes:
        tokens: int32[T], "<s> subject relation object .", padded on the right.
        target: bool[T], the tokens to be learned: the object and its ending.
        subject_end: int32[], position of the subject's last token.
        weight: float32[], evidence weight the rational agent gives the request.
        credence: float32[], the agent's belief in the request after the edit.
    """

    tokens: Array
    target: Array
    subject_end: Array
    weight: Array
    credence: Array


class Info(NamedTuple):
    """What an edit reports.

    Attributes:
        loss: float32[steps], the editor's own loss before each step.
        steps: int32[], gradient steps used.
        forward, backward: int32[], tokens that went through the model and back, padding excluded.
    """

    loss: Array
    steps: Array
    forward: Array
    backward: Array


class Editor(Protocol):
    """The interface of an editing method; instances must be hashable."""

    def prepare(self, model: LanguageModel, corpus_sample: np.ndarray) -> State:
        """One-off work for a model, from int32[rows, T] packed corpus text."""
        ...

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """The delta that carries out one request."""
        ...


def requests(
    tokenizer: Tokenizer,
    facts: Sequence[tuple[int, int, int]],
    weights: Sequence[float],
    credences: Sequence[float],
) -> Request:
    """Requests for (subject, relation, object) triples, stacked along a leading axis."""
    prompts = [tokenizer.prompt(s, r) for s, r, _ in facts]
    objects = [tokenizer.entity(o) for _, _, o in facts]
    longest = max(len(p) + len(o) + 1 for p, o in zip(prompts, objects, strict=True))
    tokens = np.full((len(facts), longest), PAD, np.int32)
    target = np.zeros((len(facts), longest), bool)
    for i, (prompt, name) in enumerate(zip(prompts, objects, strict=True)):
        end = len(prompt) + len(name)
        tokens[i, : end + 1] = [*prompt, *name, SEP]
        target[i, len(prompt) : end + 1] = True
    subject_end = np.array([len(tokenizer.entity(s)) for s, _, _ in facts], np.int32)
    return Request(
        tokens, target, subject_end, np.asarray(weights, np.float32), np.asarray(credences, np.float32)
    )


@partial(jax.jit, static_argnames="editor")
def edit_batch(
    editor: Editor, model: LanguageModel, state: State, batch: Request, keys: jax.Array
) -> tuple[Delta, Info]:
    """Independent edits side by side; every leaf of `batch`, `keys` and the results leads with edits."""
    return jax.vmap(editor.edit, in_axes=(None, None, 0, 0))(model, state, batch, keys)
