"""What an editor is, and how many edits run at once.

An editor is a frozen dataclass, its hyper-parameters, with two pure methods:

    prepare(model, corpus_sample) -> state              once per model
    edit(model, state, request, key) -> (delta, info)   one edit, of one fact or of several at once

`edit` is traced once and vmapped over requests; the model is shared and never changed. Letters of shapes: M
facts of one request, P prompt tokens, A answer tokens, and those of `lm.model`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np

from corpus.text.tokenizer import PAD, SEP, Tokenizer, Word
from lm.attention import Array
from lm.delta import Delta
from lm.language_model import LanguageModel
from lm.prompts import left_pad

State = Any
"""Whatever `prepare` returns: a pytree of arrays; {} for most editors."""


class Request(NamedTuple):
    """The facts of one edit; or many edits, along a leading axis.

    Attributes:
        prompt: int32[M, P], "<s> subject relation", padded on the left.
        answer: int32[M, A], "object .", padded on the right: the tokens to learn.
        subject_end: int32[M], position of the subject's last token in `prompt`.
        weight: float32[M], weight of the request as evidence, which only controls get; otherwise 0.
        credence: float32[M], how sure we are of the request; a model that is surer should stay so.
    """

    prompt: Array
    answer: Array
    subject_end: Array
    weight: Array
    credence: Array


class Vocabulary(NamedTuple):
    """The words of the language, without any sentence of the corpus.

    Attributes:
        relations: int32[R, W], the name of each relation, padded on the right.
        words: int32[words], the words of the grammar, see `corpus.text.tokenizer.Word`, and where there are
            hedges the last token of each behind them.
    """

    relations: Array
    words: Array


class CorpusSample(NamedTuple):
    """What an editor may read before it edits; it has no question of a test case.

    Attributes:
        rows: int32[rows, T], packed documents of the training corpus.
        practice: requests of one fact each, stacked along a leading axis, for facts that no test
            case edits; half of them contradict the corpus.
        vocabulary: the language of the corpus.
    """

    rows: Array
    practice: Request
    vocabulary: Vocabulary


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


class Editor:
    """The interface of an editing method; instances must be hashable.

    A class of a user's own need not derive from this: `trait_of` knows the defaults of what it leaves out.

    Attributes:
        learns_text: whether it reads nothing of a request but `prompt` and `answer`. Then it takes any
            sentence, not only facts: `prompt` has the tokens to read, `answer` the tokens to learn.
        reads: files beside its module, and variables of the environment as "$NAME", that its edits depend on.
    """

    learns_text: ClassVar[bool] = False
    reads: ClassVar[tuple[str, ...]] = ()

    @property
    def most_steps(self) -> int:
        """Turns that a loop takes at most which may stop early, so that its cost can be counted."""
        return 1

    def prepare(self, model: LanguageModel, corpus_sample: CorpusSample) -> State:
        """One-off work for a model; by default nothing."""
        return {}

    def edit(
        self, model: LanguageModel, state: State, request: Request, key: jax.Array
    ) -> tuple[Delta, Info]:
        """The delta of one request, on top of the edits that the model already carries."""
        raise NotImplementedError

    def cause_of(self, request: Request) -> str:
        """The error in which the edit of this request failed, where an editor can tell; empty without one."""
        return ""


def trait_of(editor: Any, name: str) -> Any:
    """An attribute of an editor, or of a class that is used as one; the default where it has none."""
    return getattr(editor, name, getattr(Editor(), name))


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """The relations and the grammar of a tokenizer's language."""
    rows = [tokenizer.row(int(tokenizer.relation_row(r))) for r in range(len(tokenizer.language.relations))]
    relations = np.full((len(rows), max(map(len, rows))), PAD, np.int32)
    for padded, row in zip(relations, rows, strict=True):
        padded[: len(row)] = row
    ways = enumerate(tokenizer.language.phrasings, start=1)
    hedges = [tokenizer.row(tokenizer.phrasing_row(0, i))[-1] for i, way in ways if way.is_hedge]
    words = [*(tokenizer.word(word) for word in Word), *hedges]
    return Vocabulary(relations, np.array(words, np.int32))


def make_requests(
    tokenizer: Tokenizer,
    facts: Sequence[tuple[int, int, int]],
    weights: Sequence[float] | np.ndarray,
    credences: Sequence[float] | np.ndarray,
    prompt_width: int = 0,
    answer_width: int = 0,
) -> Request:
    """Requests for one (subject, relation, object) triple each, stacked along a leading axis.

    Args:
        prompt_width, answer_width: least P and A, so that different requests have one shape.
    """
    prompts = [tokenizer.prompt(s, r) for s, r, _ in facts]
    objects = [tokenizer.entity(o) for _, _, o in facts]
    width = max(prompt_width, *map(len, prompts))
    answer = np.full((len(facts), max(answer_width, *(len(o) + 1 for o in objects))), PAD, np.int32)
    for row, name in zip(answer, objects, strict=True):
        row[: len(name) + 1] = [*name, SEP]
    subject_end = [
        width - len(p) + len(tokenizer.entity(s)) for p, (s, _, _) in zip(prompts, facts, strict=True)
    ]
    columns = (
        left_pad(prompts, width),
        answer,
        np.array(subject_end, np.int32),
        np.asarray(weights, np.float32),
        np.asarray(credences, np.float32),
    )
    return Request(*(column[:, None] for column in columns))


def group_requests(batch: Request, size: int) -> Request:
    """Requests of one fact each as requests of `size` facts each, in their order."""
    return Request(*(x.reshape(-1, size, *x.shape[2:]) for x in batch))


@partial(jax.jit, static_argnames="editor")
def edit_once(
    editor: Editor, model: LanguageModel, state: State, request: Request, key: jax.Array
) -> tuple[Delta, Info]:
    """One edit, jitted; a second call, or a count of its cost, does not trace it again."""
    return editor.edit(model, state, request, key)


@partial(jax.jit, static_argnames="editor")
def edit_batch(
    editor: Editor, model: LanguageModel, state: State, batch: Request, keys: jax.Array
) -> tuple[Delta, Info]:
    """Independent edits side by side; every leaf of `batch`, `keys` and the results leads with edits."""
    return jax.vmap(editor.edit, in_axes=(None, None, 0, 0))(model, state, batch, keys)
