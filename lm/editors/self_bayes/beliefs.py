"""What a model believes, read out of the model alone: whom it speaks of, and p(object | subject, relation).

Nothing here sees a corpus, a graph or a truth. Subjects and objects are those that the model names when it is
sampled; the language's vocabulary tells where a relation's name stands between them. How often the model
itself says a fact, p(relation, object | subject), tells how often it has read it.
"""

from collections import Counter
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from corpus.errors import InputError
from corpus.tokenizer import BOS, PAD, SEP
from lm.decoding import generate
from lm.editors.asking import relations_of, side_by_side
from lm.editors.interface import Vocabulary
from lm.editors.self_bayes import BeliefConfig
from lm.language_model import LanguageModel
from lm.prompts import left_pad
from lm.scoring import (
    CandidateTree,
    candidate_tree,
    next_token_probabilities,
    object_log_probabilities,
    tree_size,
)

ROWS_AT_ONCE = 512
LOGITS_AT_ONCE = 2**26
TRIES = 2
"""Objects that are sampled for each subject and relation, besides the most probable one."""

USUAL = 0.995
"""Share of sampled subjects whose names are no longer than the longest that is kept."""

Name = tuple[int, ...]


class Beliefs(NamedTuple):
    """p(. | s, r) for S subjects and all R relations, the C most probable of K objects each.

    Attributes:
        subjects: int32[S, N], "<s> s", padded on the left.
        objects: int32[K, A], names with their ending, padded on the right.
        top: int32[R, S, C], the most probable objects, as rows of `objects`.
        p: float32[R, S, C], their probability.
        said: float32[R, S], p(r, o | s) of the most probable object: how readily the model says it unasked.
    """

    subjects: np.ndarray
    objects: np.ndarray
    top: np.ndarray
    p: np.ndarray
    said: np.ndarray


def read_beliefs(model: LanguageModel, vocabulary: Vocabulary, config: BeliefConfig) -> Beliefs:
    """Whom the model speaks of, and what it believes about them.

    Raises:
        InputError: the model names nobody and nothing when it is sampled.
    """
    relations = [tuple(row[row != PAD].tolist()) for row in np.asarray(vocabulary.relations)]
    key = jax.random.key(config.seed)
    subjects, objects = _met(model, relations, set(np.asarray(vocabulary.words).tolist()), config, key)
    often = [name for counted in objects for name, times in counted.items() if times > 1]
    if not subjects or not often:
        raise InputError(
            "in its samples the model states no fact twice, so there are no beliefs to read; train it longer"
        )
    alone = left_pad([np.array([BOS, *s], np.int32) for s in subjects], 1 + max(map(len, subjects)))
    prompts = [np.asarray(side_by_side(alone, name[None])) for name in relations_of(vocabulary)]
    longest = 1 + max(map(len, often))
    for r, asked in enumerate(prompts):
        for attempt in range(TRIES + 1):
            pick = jax.random.fold_in(key, 1 + r * TRIES + attempt) if attempt else None
            objects[r].update(map(_until_end, _generated(model, asked, longest, pick).tolist()))
    # What was named once may be a slip.
    named = [sorted(name for name, times in counted.items() if name and times > 1) for counted in objects]
    known = sorted(set().union(*named))
    width = 1 + max(map(len, known))
    table = np.full((len(known), width), PAD, np.int32)
    for row, name in zip(table, known, strict=True):
        row[: len(name) + 1] = [*name, SEP]
    place = {name: i for i, name in enumerate(known)}

    shape = (len(relations), len(subjects), config.top)
    top, p = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    for r, asked in enumerate(prompts):
        probability = _scored(model, asked, named[r])
        best = np.argsort(-probability, axis=1, kind="stable")[:, : config.top]
        places = np.array([place[name] for name in named[r]], int)
        top[r, :, : best.shape[1]] = places[best]
        p[r, :, : best.shape[1]] = np.take_along_axis(probability, best, axis=1)
    return Beliefs(alone, table, top, p, _scored(model, alone, relations, ended=False).T * p[:, :, 0])


def _met(
    model: LanguageModel, relations: list[Name], words: set[int], config: BeliefConfig, key: jax.Array
) -> tuple[list[Name], list[Counter[Name]]]:
    """The subjects the model speaks of most often, and the objects it names with each relation."""
    start = np.full((config.samples, 1), BOS, np.int32)
    said = _generated(model, start, config.longest, jax.random.fold_in(key, 0))
    rows, count = np.unique(said, axis=0, return_counts=True)
    spoken: Counter[Name] = Counter()
    objects: list[Counter[Name]] = [Counter() for _ in relations]
    for row, times in zip(rows.tolist(), count.tolist(), strict=True):
        sentence = _until_end(row)
        if words & set(sentence):
            continue
        mentions = [
            (at, r)
            for r, name in enumerate(relations)
            for at in range(1, len(sentence) - len(name))
            if sentence[at : at + len(name)] == name
        ]
        if len(mentions) == 1:
            at, r = mentions[0]
            spoken[sentence[:at]] += times
            objects[r][sentence[at + len(relations[r]) :]] += times
    # A few samples lose the thread; what is longer than nearly all names is none.
    lengths = np.repeat([len(name) for name in spoken], list(spoken.values()))
    usual = np.quantile(lengths, USUAL, method="lower") if spoken else 0
    kept = Counter({name: times for name, times in spoken.items() if len(name) <= usual})
    return sorted(name for name, _ in kept.most_common(config.subjects)), objects


def _until_end(row: list[int]) -> Name:
    """The tokens before the ending; nothing where there is no ending."""
    return tuple(row[: row.index(PAD)]) if PAD in row else ()


def _pieces(rows: np.ndarray) -> list[np.ndarray]:
    """The rows in parts of one shape; the last one is filled up by padding."""
    lacking = -len(rows) % min(ROWS_AT_ONCE, len(rows))
    whole = np.pad(rows, ((0, lacking), (0, 0)), constant_values=BOS)
    return np.split(whole, max(1, len(whole) // ROWS_AT_ONCE))


def _generated(model: LanguageModel, prompts: np.ndarray, longest: int, key: jax.Array | None) -> np.ndarray:
    """int32[B, longest]: sampled continuations, or without a key the greedy ones."""
    continuations = []
    for i, piece in enumerate(_pieces(prompts)):
        continuations.append(
            _continue(model, piece, longest, None if key is None else jax.random.fold_in(key, i))
        )
    return np.concatenate(continuations)[: len(prompts)]


@partial(jax.jit, static_argnames="longest")
def _continue(model: LanguageModel, prompts: jax.Array, longest: int, key: jax.Array | None) -> jax.Array:
    return generate(model, model.read(prompts), longest, key)


def _scored(model: LanguageModel, prompts: np.ndarray, names: list[Name], ended: bool = True) -> np.ndarray:
    """float32[B, names]: probability of each name after each prompt, with its ending or without.

    A name of one token with which no other begins needs no reading: what follows the prompt says it all.
    """
    begun = Counter(name[0] for name in names)
    short = np.array([len(name) == 1 and begun[name[0]] == 1 for name in names], bool)
    probability = np.empty((len(prompts), len(names)), np.float32)
    for which, ask in ((short, _next), (~short, _spelt)):
        rows = [np.array(names[i], np.int32) for i in np.flatnonzero(which)]
        if rows:
            parts = [ask(model, piece, rows, ended) for piece in _pieces(prompts)]
            probability[:, which] = np.concatenate(parts)[: len(prompts)]
    return probability


def _next(model: LanguageModel, prompts: np.ndarray, rows: list[np.ndarray], ended: bool) -> jax.Array:  # noqa: ARG001
    return _next_probabilities(model, prompts, np.concatenate(rows))


@jax.jit
def _next_probabilities(model: LanguageModel, prompts: jax.Array, tokens: jax.Array) -> jax.Array:
    return next_token_probabilities(model, model.read(prompts), tokens)


def _spelt(model: LanguageModel, prompts: np.ndarray, rows: list[np.ndarray], ended: bool) -> jax.Array:
    return _spelt_probabilities(
        model, prompts, candidate_tree(rows, tree_size(rows), len(rows), max(map(len, rows))), ended
    )


@partial(jax.jit, static_argnames="ended")
def _spelt_probabilities(
    model: LanguageModel, prompts: jax.Array, tree: CandidateTree, ended: bool
) -> jax.Array:
    candidates = jax.tree.map(lambda x: jnp.asarray(x)[None], tree)

    def one(prompt: jax.Array) -> jax.Array:
        scored = object_log_probabilities(model, model.read(prompt[None]), candidates)
        return jnp.exp(scored[0 if ended else 1][0])

    at_once = max(1, LOGITS_AT_ONCE // (model.vocabulary * candidates.tree.tokens.shape[1]))
    return jax.lax.map(one, prompts, batch_size=min(at_once, len(prompts)))
