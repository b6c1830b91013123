"""Whom a model speaks of: every name with which it begins to state a fact, found without a sample.

What a document may begin with is read token by token, and what is probable enough goes on: a search in the
tree of all beginnings. A beginning is a name as far as the name of a relation follows it, and what follows it
as a relation is no part of a name. Where one relation's name begins another's, the longer one is meant.
"""

from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from corpus.text.tokenizer import BOS, EOS, PAD, SEP
from lm.language_model import LanguageModel
from lm.name_search import NameTree, name_probabilities, name_tree, widest_level
from lm.progress import tell_progress
from lm.prompts import left_pad

ROWS_AT_ONCE = 512
FAINT = 0.03
"""A name is a slip that is so much less probable than the one that half of what is said is about."""
FIRST, LAST = 1e-4, 1e-9
"""Least probability of a beginning, in the first search and in any."""
MARGIN = 2.0
"""A search goes so much further down than slips begin, since it finds what is said seldom as well."""
MOST_BEGINNINGS = 2**18
"""Of one length that are read on: the likeliest."""
NARROWEST = 8
"""Tokens of the narrowest prompts, so that most names are read by one program."""

Name = tuple[int, ...]


class SubjectsFound(NamedTuple):
    """S names in the order of their tokens.

    Attributes:
        prompts: int32[S, N], "<s> s", padded on the left.
        relation_probability: float32[S, R], p(r | s), whatever follows but the rest of a longer relation.
    """

    prompts: np.ndarray
    relation_probability: np.ndarray


class Beginnings(NamedTuple):
    """n of them, of any lengths.

    Attributes:
        tokens: int32[n, longest], padded on the left.
        p: float32[n], probability that a document begins so.
        relation_probability: float32[n, R], that each relation's name follows, and no longer one.
    """

    tokens: np.ndarray
    p: np.ndarray
    relation_probability: np.ndarray

    @property
    def fact_probability(self) -> np.ndarray:
        """float32[n]: the probability of each beginning with a relation behind it."""
        return self.p * self.relation_probability.sum(axis=1)


def find_subjects(
    model: LanguageModel, relations: list[Name], words: set[int], longest: int, most: int | None
) -> SubjectsFound:
    """The subjects that a model speaks of; none where it states nothing.

    Args:
        relations: their names.
        words: of the grammar, which are in no name.
        longest: most tokens of a name.
        most: keep the likeliest, so many; None keeps all.
    """
    least = FIRST
    while True:
        found = search_beginnings(model, relations, words, longest, least)
        usual = usual_probability(found.fact_probability)
        if FAINT * usual >= least or least <= LAST:
            break
        least = max(LAST, FAINT * usual / MARGIN if usual > least else least / 10)
    chosen = np.flatnonzero(found.fact_probability >= max(FAINT * usual, LAST))
    chosen = np.sort(chosen[np.argsort(-found.fact_probability[chosen], kind="stable")[:most]])
    names = [tuple(row[row != PAD].tolist()) for row in found.tokens[chosen]]
    order = sorted(range(len(names)), key=names.__getitem__)
    rows = [np.array([BOS, *names[i]], np.int32) for i in order]
    prompts = left_pad(rows, max(map(len, rows), default=1))
    return SubjectsFound(prompts, found.relation_probability[chosen][order])


def longer_relations(relations: list[Name]) -> list[list[int]]:
    """By relation those whose names begin with its own.

    >>> longer_relations([("country",), ("country", "of", "citizenship"), ("sport",)])
    [[1], [], []]
    """
    return [
        [i for i, name in enumerate(relations) if name != own and name[: len(own)] == own]
        for own in relations
    ]


def usual_probability(said: np.ndarray) -> float:
    """The probability of the name that half of what is said is about, by float[n] of each name; 0 of none."""
    order = np.argsort(said)
    weight = np.cumsum(said[order])
    return float(said[order[np.searchsorted(weight, weight[-1] / 2)]]) if len(said) else 0.0


def search_beginnings(
    model: LanguageModel, relations: list[Name], words: set[int], longest: int, least: float
) -> Beginnings:
    """All that a document begins with so probably, but for what goes on as a relation or holds a word.

    Args:
        least: probability of a beginning, greater than 0.
    """
    tree = name_tree(relations)
    longer = longer_relations(relations)
    # The longest names first, so that each loses what its own longer ones have left.
    by_length = sorted(range(len(relations)), key=lambda r: -len(relations[r]))
    no_name = np.array([*words, PAD, BOS, EOS, SEP])
    first = [name[0] for name in relations]
    tokens, p = np.full((1, longest), PAD, np.int32), np.ones(1)
    levels: list[Beginnings] = []
    for length in range(longest + 1):
        relation_p, children = [], []
        for at in tell_progress(f"names of {length} tokens", range(0, len(p), ROWS_AT_ONCE)):
            piece, own = tokens[at : at + ROWS_AT_ONCE], p[at : at + ROWS_AT_ONCE]
            follows, of_relations = _read_beginnings(model, _open_rows(piece, length), tree, len(relations))
            follows, of_relations = (np.array(x)[: len(piece)] for x in (follows, of_relations))
            for r in by_length:
                of_relations[:, r] -= np.minimum(of_relations[:, longer[r]].sum(axis=1), of_relations[:, r])
            relation_p.append(of_relations)
            follows[:, no_name] = 0
            for opening, of_one in zip(first, of_relations.T, strict=True):
                follows[:, opening] -= of_one
            follows *= own[:, None]
            row, token = np.nonzero(follows >= least)
            grown = np.concatenate([piece[row, 1:], token[:, None].astype(np.int32)], axis=1)
            children.append((grown, follows[row, token]))
        levels.append(Beginnings(tokens, p, np.concatenate(relation_p)))
        tokens, p = (np.concatenate(parts) for parts in zip(*children, strict=True))
        likeliest = np.argsort(-p, kind="stable")[:MOST_BEGINNINGS]
        tokens, p = tokens[likeliest], p[likeliest]
        if not len(p):
            break
    found = Beginnings(*(np.concatenate(parts) for parts in zip(*levels, strict=True)))
    is_some = (found.tokens != PAD).any(axis=1)
    return Beginnings(*(column[is_some] for column in found))


def _open_rows(tokens: np.ndarray, length: int) -> np.ndarray:
    """int32[ROWS_AT_ONCE, P]: beginnings of one length as prompts; of few widths, which are compiled."""
    width = NARROWEST
    while width < 1 + length:
        width *= 2
    rows = np.full((ROWS_AT_ONCE, width), PAD, np.int32)
    rows[:, -1 - length] = BOS
    if length:
        rows[: len(tokens), -length:] = tokens[:, -length:]
        rows[len(tokens) :, -length:] = BOS
    return rows


@partial(jax.jit, static_argnames="count")
def _read_beginnings(
    model: LanguageModel, prompts: jax.Array, tree: NameTree, count: int
) -> tuple[jax.Array, jax.Array]:
    """What follows prompts: float32[B, V] of the next token, and float32[B, count] of names in a tree."""
    follows = jax.nn.softmax(model.unembed(model.read_prompts(prompts).hidden), axis=-1)
    scores, _ = name_probabilities(model, prompts, tree, count, widest_level(tree), with_ending=False)
    return follows, scores
