"""In which words statements are made: synonyms of a relation, and its inverse (design.md 3).

A statement says the same in any phrasing, so phrasings are chosen after everything else about a corpus, by a
stream of their own: with other shares its sentences state the same facts, in the same places.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from corpus.config import DocumentConfig
from corpus.errors import InputError
from corpus.text.language import Kind, Phrasing
from corpus.text.sentences import Sentences


def phrasings_of(relation: int, name: str, synonym: str = "", inverse: str = "") -> list[Phrasing]:
    """A synonym and the inverse of a relation, made of its name by rule where they are not given."""
    return [
        Phrasing(relation, synonym or f"has the {name}", inverse=False),
        Phrasing(relation, inverse or f"is the {name} of", inverse=True),
    ]


def rephrase_sentences(
    sentences: Sentences, phrasings: Sequence[Phrasing], config: DocumentConfig, rng: np.random.Generator
) -> Sentences:
    """The same sentences, of which statements are made in other phrasings, in the shares asked for.

    Relations that are said in one way only keep it, where others have such phrasings.

    Raises:
        InputError: a share is asked for, and no relation has such a phrasing.
    """
    if not config.inverse + config.synonyms:
        return sentences
    drawn = rng.random(len(sentences))
    statement = (sentences.kind == Kind.ATOMIC) & (sentences.phrasing == 0)
    bounds = (config.inverse, config.inverse + config.synonyms)
    phrasing = sentences.phrasing.copy()
    for inverse, chosen in (
        (True, statement & (drawn < bounds[0])),
        (False, statement & (drawn >= bounds[0]) & (drawn < bounds[1])),
    ):
        if chosen.any() and not any(way.inverse == inverse for way in phrasings):
            raise InputError(
                "relations of this world are said in one way only; leave out --documents.synonyms and "
                "--documents.inverse, or build a world with --world.source taxonomy"
            )
        for relation in np.unique(sentences.a[chosen, 1]).tolist():
            ways = [i for i, one in enumerate(phrasings, 1) if one[::2] == (relation, inverse)]
            if not ways:
                continue
            rows = np.flatnonzero(chosen & (sentences.a[:, 1] == relation))
            phrasing[rows] = rng.choice(ways, len(rows))
    return replace(sentences, phrasing=phrasing)
