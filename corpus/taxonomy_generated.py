"""A generated taxonomy of the shape of TAXI's: pronounceable kinds, categories, members and values."""

import numpy as np

from corpus.builtin import FreshNames
from corpus.dials import TaxonomyWorld
from corpus.taxonomy_graph import Member, Row, Superordinate

_PART = "bark body coat core crown edge face frame heart shell side skin stem surface voice".split()
_ASPECT = "color flavor form grain habit home origin season shape size smell sound taste texture use".split()
WHERE = "the generated taxonomy"


def generate_taxonomy(dials: TaxonomyWorld, rng: np.random.Generator) -> tuple[Superordinate, ...]:
    """Superordinates whose categories have each property with probability `has`.

    Categories get their values one after another: that of a random earlier one with probability `shares`,
    else a new one. Every category has a property at least.
    """
    fresh = FreshNames(rng)
    pick = fresh.pick
    superordinates = []
    for _ in range(dials.superordinates):
        name = fresh.take(1, lambda: fresh.word(2).lower())[0]
        categories = fresh.take(dials.categories, lambda: fresh.word(2).lower())
        members = [
            Member(member, category, dials.typical_frequency if i < (dials.members + 1) // 2 else 1, WHERE)
            for category in categories
            for i, member in enumerate(fresh.take(dials.members, lambda: fresh.word(2)))
        ]
        properties = fresh.take(dials.properties, lambda: f"{pick(_PART)} {pick(_ASPECT)}")
        has = rng.random((dials.categories, dials.properties)) < dials.has
        lacking = ~has.any(axis=1)
        has[lacking, rng.integers(0, dials.properties, lacking.sum())] = True
        rows = [
            row for p, one in enumerate(properties) for row in _rows(one, categories, has[:, p], dials, fresh)
        ]
        superordinates.append(Superordinate(name, tuple(categories), tuple(members), tuple(rows)))
    return tuple(superordinates)


def _rows(
    name: str, categories: list[str], has: np.ndarray, dials: TaxonomyWorld, fresh: FreshNames
) -> list[Row]:
    values: list[str] = []
    for _ in range(int(has.sum())):
        copies = values and fresh.rng.random() < dials.shares
        values.append(fresh.pick(values) if copies else fresh.take(1, lambda: fresh.word(2).lower())[0])
    distinct = list(dict.fromkeys(values))
    alternatives = distinct + fresh.take(dials.alternatives - len(distinct), lambda: fresh.word(2).lower())
    having = [category for category, one in zip(categories, has, strict=True) if one]
    return [
        Row(category, name, value, tuple(a for a in alternatives if a != value), WHERE)
        for category, value in zip(having, values, strict=True)
    ]
