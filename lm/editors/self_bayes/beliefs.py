"""What a model believes, read out of the model alone: whom it speaks of, and p(object | subject, relation).

Nothing here sees a corpus, a graph or a truth. Subjects and objects are those that the model names when it is
sampled; the language's vocabulary tells where a relation's name stands between them. How often the model
itself says a fact, p(relation, object | subject), tells how often it has read it.
"""

from collections import Counter
from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from corpus.errors import InputError
from corpus.text.tokenizer import BOS, PAD, SEP
from lm.decoding import generate
from lm.editors.asking import relations_of, side_by_side
from lm.editors.interface import Vocabulary
from lm.editors.self_bayes import BeliefConfig
from lm.language_model import LanguageModel
from lm.name_search import name_probabilities, name_tree, want_names, widest_level
from lm.prompts import left_pad

ROWS_AT_ONCE = 512
TRIES = 2
"""Objects that are sampled for each subject and relation, besides the most probable one."""

FAINT = 0.03
"""A name is a slip that is so much less probable than the one that half of what is said is about."""
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
        mention_probability: float32[R, S], p(r, o | s) of the most probable object: how readily the model
        says it unasked.
    """

    subjects: np.ndarray
    objects: np.ndarray
    top: np.ndarray
    p: np.ndarray
    mention_probability: np.ndarray


def read_beliefs(model: LanguageModel, vocabulary: Vocabulary, config: BeliefConfig) -> Beliefs:
    """Whom the model speaks of, and what it believes about them.

    Raises:
        InputError: the model names nobody and nothing when it is sampled.
    """
    relations = [tuple(row[row != PAD].tolist()) for row in np.asarray(vocabulary.relations)]
    key = jax.random.key(config.seed)
    subjects, objects = _sample_names(
        model, relations, set(np.asarray(vocabulary.words).tolist()), config, key
    )
    repeated_names = [name for counted in objects for name, times in counted.items() if times > 1]
    if not subjects or not repeated_names:
        raise InputError(
            "in its samples the model states no fact twice, so there are no beliefs to read; train it longer"
        )
    subject_rows = left_pad([np.array([BOS, *s], np.int32) for s in subjects], 1 + max(map(len, subjects)))
    relation_probability = _score_names(model, subject_rows, relations)
    start = np.array([[BOS]], np.int32)
    parts = [subjects[i : i + ROWS_AT_ONCE] for i in range(0, len(subjects), ROWS_AT_ONCE)]
    opening = np.concatenate([_score_names(model, start, part)[0] for part in parts])
    real = are_spoken_of(opening * relation_probability.sum(axis=1))
    subject_rows, relation_probability = subject_rows[real], relation_probability[real]
    prompts = [np.asarray(side_by_side(subject_rows, name[None])) for name in relations_of(vocabulary)]
    longest = 1 + max(map(len, repeated_names))
    for r, prompt_rows in enumerate(prompts):
        for attempt in range(TRIES + 1):
            pick = jax.random.fold_in(key, 1 + r * TRIES + attempt) if attempt else None
            objects[r].update(map(_cut_ending, _generate_rows(model, prompt_rows, longest, pick).tolist()))
    # What was named once may be a slip.
    relation_names = [
        sorted(name for name, times in counted.items() if name and times > 1) for counted in objects
    ]
    object_names = sorted(set().union(*relation_names))
    width = 1 + max(map(len, object_names))
    table = np.full((len(object_names), width), PAD, np.int32)
    for row, name in zip(table, object_names, strict=True):
        row[: len(name) + 1] = [*name, SEP]
    place = {name: i for i, name in enumerate(object_names)}
    tree, count = name_tree(object_names), min(config.top, len(object_names))

    shape = (len(relations), len(subject_rows), config.top)
    top, p = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    for r, prompt_rows in enumerate(prompts):
        is_named = np.zeros(len(object_names), bool)
        is_named[[place[name] for name in relation_names[r]]] = True
        of_relation = want_names(tree, is_named)
        found = [
            jax.lax.top_k(name_probabilities(model, piece, of_relation, len(object_names), config.top), count)
            for piece in _split_rows(prompt_rows)
        ]
        p[r, :, :count], top[r, :, :count] = (
            np.concatenate(parts)[: len(prompt_rows)] for parts in zip(*found, strict=True)
        )
    return Beliefs(
        subject_rows,
        table,
        top,
        p,
        relation_probability.T * p[:, :, 0],
    )


def are_spoken_of(probability: np.ndarray) -> np.ndarray:
    """bool[S]: whether each name is one that the model has read, and no slip made of parts of others.

    Args:
        probability: float[S], of the name and a relation behind it; of those who are read it differs by how
            often they are, of slips it is far less.
    """
    order = np.argsort(probability)
    weight = np.cumsum(probability[order])
    usual_probability = probability[order[np.searchsorted(weight, weight[-1] / 2)]]
    return probability >= FAINT * usual_probability


def _sample_names(
    model: LanguageModel, relations: list[Name], words: set[int], config: BeliefConfig, key: jax.Array
) -> tuple[list[Name], list[Counter[Name]]]:
    """The subjects the model speaks of most often, and the objects it names with each relation."""
    start = np.full((config.samples, 1), BOS, np.int32)
    samples = _generate_rows(model, start, config.longest, jax.random.fold_in(key, 0))
    rows, count = np.unique(samples, axis=0, return_counts=True)
    subject_counts: Counter[Name] = Counter()
    objects: list[Counter[Name]] = [Counter() for _ in relations]
    for row, times in zip(rows.tolist(), count.tolist(), strict=True):
        sentence = _cut_ending(row)
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
            subject_counts[sentence[:at]] += times
            objects[r][sentence[at + len(relations[r]) :]] += times
    # A few samples lose the thread; what is longer than nearly all names is none.
    lengths = np.repeat([len(name) for name in subject_counts], list(subject_counts.values()))
    usual = np.quantile(lengths, USUAL, method="lower") if subject_counts else 0
    usual_counts = Counter({name: times for name, times in subject_counts.items() if len(name) <= usual})
    return sorted(name for name, _ in usual_counts.most_common(config.subjects)), objects


def _cut_ending(row: list[int]) -> Name:
    """The tokens before the ending; nothing where there is no ending."""
    return tuple(row[: row.index(PAD)]) if PAD in row else ()


def _split_rows(rows: np.ndarray) -> list[np.ndarray]:
    """The rows in parts of one shape; the last one is filled up by padding."""
    padding = -len(rows) % min(ROWS_AT_ONCE, len(rows))
    padded_rows = np.pad(rows, ((0, padding), (0, 0)), constant_values=BOS)
    return np.split(padded_rows, max(1, len(padded_rows) // ROWS_AT_ONCE))


def _generate_rows(
    model: LanguageModel, prompts: np.ndarray, longest: int, key: jax.Array | None
) -> np.ndarray:
    """int32[B, longest]: sampled continuations, or without a key the greedy ones."""
    continuations = []
    for i, piece in enumerate(_split_rows(prompts)):
        continuations.append(
            _continue(model, piece, longest, None if key is None else jax.random.fold_in(key, i))
        )
    return np.concatenate(continuations)[: len(prompts)]


@partial(jax.jit, static_argnames="longest")
def _continue(model: LanguageModel, prompts: jax.Array, longest: int, key: jax.Array | None) -> jax.Array:
    return generate(model, model.read_prompts(prompts), longest, key)


def _score_names(model: LanguageModel, prompts: np.ndarray, names: list[Name]) -> np.ndarray:
    """float32[B, names]: probability of each name after each prompt, whatever follows it."""
    tree = name_tree(names)
    parts = [
        name_probabilities(model, piece, tree, len(names), widest_level(tree), with_ending=False)
        for piece in _split_rows(prompts)
    ]
    return np.concatenate(parts)[: len(prompts)]
