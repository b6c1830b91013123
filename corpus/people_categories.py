"""The coarser categories of what real people have: fields of work, continents, countries of birthplaces.

Seesaw-CF's tables come first. Where they know no country or continent, Wikidata's own statements do: the only
one, or the only one about a country of the tables. Where the tables know no field of an occupation,
`corpus.occupations` does.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from corpus.account import Account
from corpus.occupations import FIELD_OF
from corpus.people import BORN, CITIZENSHIP, WORK
from corpus.people_files import Tags
from corpus.selection import Facts

COUNTRY, CONTINENT, FIELD = 17, 30, 425

Objects = dict[int, list[int]]
"""Of each subject its objects of one relation, in the order of the source."""


class Category(NamedTuple):
    """A coarser category, and the one that it is part of."""

    name: str
    wider: str = ""


def objects_of(facts: Facts, relation: int) -> Objects:
    """Who has what by a relation."""
    objects: Objects = {}
    for s, _, o in facts.triples[facts.triples[:, 1] == relation].tolist():
        objects.setdefault(s, []).append(o)
    return objects


def labels_of(facts: Facts, ids: Sequence[int]) -> dict[int, str]:
    """What some ids are called."""
    return dict(zip(ids, facts.entities.of(np.array(ids, int)), strict=True))


def categories_of(
    held: Mapping[str, Counter[int]], facts: Facts, tags: Tags, account: Account
) -> dict[int, Category]:
    """The category of each object that has one.

    Args:
        held: of citizenship, work and birthplace, how many people have each object.
        account: is told of objects without a category.
    """
    categories = _Categories(facts, tags)
    by_object: dict[int, Category] = {}
    for r, of, what in (
        (CITIZENSHIP, categories.of_country, "countries without a continent"),
        (WORK, categories.of_work, "occupations without a field"),
        (BORN, categories.of_place, "birthplaces without a country"),
    ):
        known = {one: of(one) for one, _ in held[r].most_common()}
        without = labels_of(facts, [one for one, category in known.items() if not category.name])
        named = [f"{name} ({held[r][one]:,})" for one, name in without.items()]
        account.leave_out_named(what, named)
        by_object |= {one: category for one, category in known.items() if category.name}
    return by_object


class _Categories:
    def __init__(self, facts: Facts, tags: Tags) -> None:
        self.facts, self.tags = facts, tags
        self.countries, self.continents = objects_of(facts, COUNTRY), objects_of(facts, CONTINENT)
        self.fields = objects_of(facts, FIELD)
        self.names = {number: name for name, number in tags.called.items()}

    def of_country(self, country: int) -> Category:
        return Category(self._continent(country))

    def of_work(self, one: int) -> Category:
        fields = [self.tags.field[o] for o in (one, *self.fields.get(one, [])) if o in self.tags.field]
        return Category(fields[0] if fields else FIELD_OF.get(one, ""))

    def of_place(self, place: int) -> Category:
        if place in self.tags.country:
            name = self.tags.country[place]
            number = self.tags.called.get(name)
        else:
            stated = self.countries.get(place, [])
            known = [one for one in stated if one in self.tags.continent] or stated
            if len(known) != 1:
                return Category("")
            number = known[0]
            name = self.names.get(number) or self._label(number)
        return Category(name, "" if number is None else self._continent(number))

    def _continent(self, country: int) -> str:
        stated = self.continents.get(country, [])
        return self.tags.continent.get(country) or (self._label(stated[0]) if len(stated) == 1 else "")

    def _label(self, one: int) -> str:
        return labels_of(self.facts, [one])[one]
