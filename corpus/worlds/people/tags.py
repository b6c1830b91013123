"""Seesaw-CF's tags of what real people have: race and region, field of work, continent, country of birth.

The authors' tables come first. Where they know no country or continent, Wikidata's own statements do: the
only one, or the only one about a country of the tables. Their table of fields has few occupations; where it
knows no field of one, a table of ours does.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus.errors import InputError
from corpus.worlds.account import Account
from corpus.worlds.people import BORN, CITIZENSHIP, WORK
from corpus.worlds.rawfiles import read_table_text
from corpus.worlds.selection import Facts

ARTS = """
    actor 33999, animator 266569, architect 42973, bassist 584301, character actor 948329, cinematographer
    222344, comedian 245068, composer 36834, conductor 158852, costume designer 1323191, dancer 5716684,
    disc jockey 130857, drummer 386854, film actor 10800557, film director 2526255, film producer 3282637,
    film score composer 1415090, guitarist 855091, illustrator 644687, model 4610556, musician 639669,
    painter 1028181, photographer 33231, pianist 486748, record producer 183945, scenographer 2707485,
    screenwriter 28389, sculptor 1281618, singer 177220, singer-songwriter 488205, songwriter 753110,
    television presenter 947873, television producer 578109, voice actor 2405480
"""
HUMANITIES = """
    author 482980, essayist 11774202, journalist 1930187, linguist 14467526, news presenter 270389,
    novelist 6625963, philosopher 4964182, playwright 214917, poet 49757, theologian 1234713, writer 36180
"""
SCIENCE = """
    astronomer 11063, biologist 864503, chemist 593644, computer scientist 82594, engineer 81096,
    geologist 520549, inventor 205375, mathematician 170790, naturalist 18805, physician 39631, physicist
    169470, scientist 901
"""
SOCIAL_SCIENCE = """
    businessperson 43845, diplomat 193391, economist 188094, entrepreneur 131524, historian 201788, judge
    16533, lawyer 40348, politician 82955, psychologist 212980, spokesperson 17221, teacher 37226,
    university teacher 1622272
"""
FIELD_OF = {
    int(occupation.split()[-1]): field
    for field, occupations in (
        ("arts", ARTS),
        ("humanities", HUMANITIES),
        ("science", SCIENCE),
        ("social science", SOCIAL_SCIENCE),
    )
    for occupation in occupations.split(",")
}


ETHNIC_GROUPS = ("P101_ethnic_groups.csv", "P103_ethnic_groups.csv")
ETHNIC_HEADER = ("Code", "Frequency", "Name", "Geo Group", "Racial Group")
FIELDS, FIELDS_HEADER = "fow.csv", ("Code", "String", "Category")
CONTINENTS, COUNTRIES, PLACES = "P27_cats.csv", "country_codes.csv", "city_to_country.csv"
NOWHERE = "None"
"""The continent of the stateless in the authors' table."""
_ID = re.compile(r"Q[1-9]\d{0,8}")
COUNTRY, CONTINENT, FIELD = 17, 30, 425
Objects = dict[int, list[int]]
"""Of each subject its objects of one relation, in the order of the source."""


class Tags(NamedTuple):
    """The authors' tags, by the number of the Wikidata entity that they are of.

    Attributes:
        race, region: of ethnic groups; "" where the authors give none.
        field: of fields of work.
        continent: of countries.
        country: of birthplaces, by name.
        called: the number of each country by that name.
    """

    race: dict[int, str]
    region: dict[int, str]
    field: dict[int, str]
    continent: dict[int, str]
    country: dict[int, str]
    called: dict[str, int]


def read_tags(folder: Path) -> Tags:
    """Read the tables of a folder, or of its folder `data`.

    Where tables differ, the first one counts.

    Raises:
        InputError: a missing table, a header or cell that is not as expected.
    """
    folder = folder / "data" if (folder / "data").is_dir() else folder
    race: dict[int, str] = {}
    region: dict[int, str] = {}
    spelt: dict[str, str] = {}
    for name in ETHNIC_GROUPS:
        for _, code, (_, _, where, what) in _read_rows(folder / name, ETHNIC_HEADER):
            # One row writes "black".
            race.setdefault(code, spelt.setdefault(what.casefold(), what))
            region.setdefault(code, where)
    field = {}
    for line, code, (_, category) in _read_rows(folder / FIELDS, FIELDS_HEADER):
        field[code] = _require_cell(category, line, "field")
    continent, called = {}, {}
    for line, code, (_, of) in _read_rows(folder / CONTINENTS, width=3):
        continent[code] = _require_cell(of, line, "continent")
    for line, code, (name, of) in _read_rows(folder / COUNTRIES, width=3, at=1):
        called[_require_cell(name, line, "country")] = code
        continent.setdefault(code, _require_cell(of, line, "continent"))
    # What stands behind the country is a list of its own.
    country = {
        code: _require_cell(of, line, "country")
        for line, code, (of, *_) in _read_rows(folder / PLACES, width=2)
    }
    continent = {code: of for code, of in continent.items() if of != NOWHERE}
    return Tags(race, region, field, continent, country, called)


def _require_cell(cell: str, line: str, what: str) -> str:
    if not cell:
        raise InputError(f"{line}: no {what}; fill it in or remove the line")
    return cell


def _read_rows(
    path: Path, header: tuple[str, ...] = (), width: int = 0, at: int = 0
) -> Iterator[tuple[str, int, list[str]]]:
    """Where a line stands, the number of the id in it, and the other cells, stripped.

    Args:
        header: names of all columns, in the first line; without any, the table has none.
        width: cells that a line of a table without a header has at least.
        at: the column of the id.
    """
    text = read_table_text(path, "--world.people.tags should hold Seesaw-CF's tables")
    table = csv.reader(text.splitlines())
    try:
        rows = [[cell.strip() for cell in row] for row in table]
    except csv.Error as error:
        raise InputError(
            f"{path}, line {table.line_num}: this is not a line of a CSV table ({error})"
        ) from None
    for number, cells in enumerate(rows, start=1):
        where = f"{path}, line {number}"
        if number == 1 and header:
            if tuple(cells) != header:
                raise InputError(f"{where}: the header should be {','.join(header)}; it is {cells!r:.200}")
        elif any(cells):
            if len(cells) < (width or len(header)):
                raise InputError(f"{where}: {len(cells)} cells are too few: {cells!r:.200}")
            if not _ID.fullmatch(cells[at]):
                raise InputError(f"{where}: expected an id such as Q145, got {cells[at]!r:.80}")
            yield where, int(cells[at][1:]), [*cells[:at], *cells[at + 1 :]]


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
        return Category(self._find_continent(country))

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
            name = self.names.get(number) or self._find_label(number)
        return Category(name, "" if number is None else self._find_continent(number))

    def _find_continent(self, country: int) -> str:
        stated = self.continents.get(country, [])
        return self.tags.continent.get(country) or (self._find_label(stated[0]) if len(stated) == 1 else "")

    def _find_label(self, one: int) -> str:
        return labels_of(self.facts, [one])[one]
