"""What a model believes, read out of the model alone: whom it speaks of, and p(object | subject, relation).

Nothing here sees a corpus, a graph or a truth. Subjects are those of whom the model begins to state a fact
(`subjects`); objects are those that it names when it goes on; the language's vocabulary tells where a
relation's name stands between them. How often the model itself says a fact, p(relation, object | subject),
tells how often it has read it.
"""

from collections import Counter
from collections.abc import Callable, Sequence
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
from lm.editors.self_bayes.subjects import ROWS_AT_ONCE, Name, find_subjects, longer_relations
from lm.keeping import Arrays, Keep
from lm.language_model import LanguageModel
from lm.name_search import Beginnings, NameTree, name_probabilities, name_tree
from lm.progress import tell_progress

TRIES = 2
"""Objects that are sampled for a subject and relation, besides the most probable one."""
SAMPLED = 2048
"""Subjects for whom objects are sampled, at least: of more, those at equal distances."""
NARROW = 8
"""Beginnings of names that are read on at first."""
UNREAD, MENTIONED = 0.01, 0.1
"""A belief is read again, with more beginnings, where more than so much of its probability was not read and
the model mentions the relation at least at this share of the subject's most frequent one."""


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


def want_names(tree: NameTree, is_wanted: np.ndarray) -> NameTree:
    """The same tree, in which only some names are asked about: bool[K]."""
    levels: list[Beginnings] = []
    goes_on: np.ndarray | None = None
    for level in reversed(tree):
        is_name = (level.name >= 0) & is_wanted[level.name]
        wanted = is_name.copy()
        if goes_on is not None:
            wanted[goes_on] = True
        levels.append(level._replace(name=np.where(is_name, level.name, -1), is_wanted=wanted))
        goes_on = np.asarray(level.before)[wanted]
    return tuple(reversed(levels))


def read_beliefs(
    model: LanguageModel, vocabulary: Vocabulary, config: BeliefConfig, keep: Keep = lambda _, read: read()
) -> Beliefs:
    """Whom the model speaks of, and what it believes about them.

    Args:
        keep: keeps the parts of the reading, such as one relation, so that a killed one can go on.

    Raises:
        InputError: the model names nobody or nothing.
    """
    relations = [tuple(row[row != PAD].tolist()) for row in np.asarray(vocabulary.relations)]
    words = set(np.asarray(vocabulary.words).tolist())
    subjects, relation_probability = keep(
        "subjects", lambda: find_subjects(model, relations, words, config.longest, config.subjects)
    )
    prompts = [np.asarray(side_by_side(subjects, name[None])) for name in relations_of(vocabulary)]
    is_mentioned = relation_probability >= MENTIONED * relation_probability.max(axis=1, keepdims=True)
    said = sample_objects(model, relations, words, config)
    relation_names = []
    if len(subjects):
        relation_names = name_objects(model, prompts, is_mentioned, said, config.seed, keep)
    relation_names = [
        [name for name in names if not any(name[: len(rest)] == rest for rest in rests)]
        for names, rests in zip(relation_names, name_rests(relations), strict=len(subjects) > 0)
    ]
    object_names = sorted(set().union(*relation_names))
    if not object_names:
        raise InputError("the model states no fact twice, so there are no beliefs to read; train it longer")
    place = {name: i for i, name in enumerate(object_names)}
    tree = name_tree(object_names)

    shape = (len(relations), len(subjects), config.top)
    top, p = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    for r, prompt_rows in tell_progress("beliefs of relations", [*enumerate(prompts)]):
        is_named = np.zeros(len(object_names), bool)
        is_named[[place[name] for name in relation_names[r]]] = True
        rank = partial(
            _best_names, model, tree=want_names(tree, is_named), count=len(object_names), top=config.top
        )
        best, probability = keep(
            f"beliefs of {r}", partial(_rank_twice, rank, prompt_rows, is_mentioned[:, r], config.top)
        )
        top[r, :, : best.shape[1]], p[r, :, : best.shape[1]] = best, probability
    return Beliefs(subjects, table_of_names(object_names), top, p, relation_probability.T * p[:, :, 0])


def _rank_twice(
    rank: Callable, prompts: np.ndarray, is_mentioned: np.ndarray, top: int
) -> tuple[np.ndarray, np.ndarray]:
    """The most probable names after each prompt, and their probability; read again where much is unread."""
    best, probability, unread = rank(prompts, width=min(NARROW, top))
    again = np.flatnonzero((unread > UNREAD) & is_mentioned)
    if len(again):
        # Repeated until they fill a batch, so that one program does for all relations.
        again = np.resize(again, ROWS_AT_ONCE * -(-len(again) // ROWS_AT_ONCE))
        best[again], probability[again], _ = rank(prompts[again], width=top)
    return best, probability


def table_of_names(names: Sequence[Name]) -> np.ndarray:
    """int32[n, A]: names with their ending, padded on the right."""
    table = np.full((len(names), 1 + max(map(len, names), default=0)), PAD, np.int32)
    for row, name in zip(table, names, strict=True):
        row[: len(name) + 1] = [*name, SEP]
    return table


def name_rests(relations: list[Name]) -> list[list[Name]]:
    """By relation what is behind its own name in those that begin with it: of these the model speaks then.

    >>> name_rests([("country",), ("country", "of", "citizenship"), ("sport",)])
    [[('of', 'citizenship')], [], []]
    """
    longer = longer_relations(relations)
    return [[relations[i][len(own) :] for i in of_one] for own, of_one in zip(relations, longer, strict=True)]


def sample_objects(
    model: LanguageModel, relations: list[Name], words: set[int], config: BeliefConfig
) -> list[Counter[Name]]:
    """What a model says of each relation, and how often, when it begins documents as it likes."""
    start = np.full((config.samples, 1), BOS, np.int32)
    named: list[Counter[Name]] = [Counter() for _ in relations]
    longer = longer_relations(relations)
    key = jax.random.fold_in(jax.random.key(config.seed), 0)
    # Nothing is read off a sentence with a word of the grammar, whatever comes behind it.
    sentences = Counter(_name_each(model, start, config.longest, key, tuple(sorted(words))))
    for sentence, times in sentences.items():
        if words & set(sentence):
            continue
        mentions = [
            (at, r)
            for r, name in enumerate(relations)
            for at in range(1, len(sentence) - len(name))
            if sentence[at : at + len(name)] == name
        ]
        longest = [(at, r) for at, r in mentions if not any((at, i) in mentions for i in longer[r])]
        if len(longest) == 1:
            at, r = longest[0]
            named[r][sentence[at + len(relations[r]) :]] += times
    return named


def name_objects(
    model: LanguageModel,
    prompts: Sequence[np.ndarray],
    is_mentioned: np.ndarray,
    said: list[Counter[Name]],
    seed: int,
    keep: Keep,
) -> list[list[Name]]:
    """By relation the objects that the model names more than once: what is named once may be a slip.

    Where so many are spoken of that of most nothing is sampled, what is likeliest counts twice of these, if
    the model mentions the relation of them.

    Args:
        prompts: by relation int32[S, P], "<s> s r" of every subject.
        is_mentioned: bool[S, R].
        said: by relation what was sampled, and how often.
        keep: see `read_beliefs`.
    """
    key, count = jax.random.key(seed), len(is_mentioned)
    longest = 1 + max((len(name) for named in said for name, times in named.items() if times > 1), default=0)
    sampled = np.unique(np.linspace(0, count - 1, min(count, SAMPLED)).astype(int))
    counts_twice = is_mentioned.copy()
    counts_twice[sampled] = False

    def read_table(r: int) -> Arrays:
        likeliest = _name_each(model, prompts[r], longest, None)
        named = said[r] + Counter(likeliest)
        named.update(name for name, twice in zip(likeliest, counts_twice[:, r], strict=True) if twice)
        for attempt in range(1, TRIES + 1):
            pick = jax.random.fold_in(key, 1 + r * TRIES + attempt)
            named.update(_name_each(model, prompts[r][sampled], longest, pick))
        return (table_of_names(sorted(name for name, times in named.items() if name and times > 1)),)

    by_relation = []
    for r in tell_progress("objects of relations", range(len(prompts))):
        (table,) = keep(f"objects of {r}", partial(read_table, r))
        by_relation.append([tuple(row[: row.index(SEP)]) for row in table.tolist()])
    return by_relation


def _name_each(
    model: LanguageModel,
    prompts: np.ndarray,
    longest: int,
    key: jax.Array | None,
    last: tuple[int, ...] = (),
) -> list[Name]:
    """What is said after each prompt, sampled or without a key most probable; nothing if it is too long.

    Args:
        last: tokens behind which nobody reads on.
    """
    names: list[Name] = []
    for i, piece in tell_progress("what is said", [*enumerate(_split_rows(prompts))]):
        rows = _continue(model, piece, longest, None if key is None else jax.random.fold_in(key, i), last)
        names += [tuple(row[: row.index(PAD)]) if PAD in row else () for row in np.asarray(rows).tolist()]
    return names[: len(prompts)]


def _split_rows(rows: np.ndarray) -> list[np.ndarray]:
    """The rows in parts of one shape; the last one is filled up by padding."""
    padding = -len(rows) % min(ROWS_AT_ONCE, len(rows))
    padded_rows = np.pad(rows, ((0, padding), (0, 0)), constant_values=BOS)
    return np.split(padded_rows, max(1, len(padded_rows) // ROWS_AT_ONCE))


@partial(jax.jit, static_argnames=("longest", "last"))
def _continue(
    model: LanguageModel, prompts: jax.Array, longest: int, key: jax.Array | None, last: tuple[int, ...]
) -> jax.Array:
    return generate(model, model.read_prompts(prompts), longest, key, last)


def _best_names(
    model: LanguageModel, prompts: np.ndarray, tree: NameTree, *, count: int, top: int, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The most probable names after each prompt: which, their probability, and that of what was not read."""
    pieces = tell_progress("beliefs of a relation", _split_rows(prompts))
    parts = [_rank_names(model, piece, tree, count, width, min(top, count)) for piece in pieces]
    best, p, unread = (np.concatenate(x)[: len(prompts)] for x in zip(*parts, strict=True))
    return best, p, unread


@partial(jax.jit, static_argnames=("count", "width", "most"))
def _rank_names(
    model: LanguageModel, prompts: jax.Array, tree: NameTree, count: int, width: int, most: int
) -> tuple[jax.Array, jax.Array, jax.Array]:
    probability, unread = name_probabilities(model, prompts, tree, count, width)
    p, best = jax.lax.top_k(probability, most)
    return best, p, unread
