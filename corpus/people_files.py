"""Seesaw-CF's tables: race and region of ethnic groups, fields of work, continents, countries of places."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from corpus.errors import InputError

ETHNIC_GROUPS = ("P101_ethnic_groups.csv", "P103_ethnic_groups.csv")
ETHNIC_HEADER = ("Code", "Frequency", "Name", "Geo Group", "Racial Group")
FIELDS, FIELDS_HEADER = "fow.csv", ("Code", "String", "Category")
CONTINENTS, COUNTRIES, PLACES = "P27_cats.csv", "country_codes.csv", "city_to_country.csv"
NOWHERE = "None"
"""The continent of the stateless in the authors' table."""
_ID = re.compile(r"Q[1-9]\d{0,8}")


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
        for _, code, (_, _, where, what) in _rows(folder / name, ETHNIC_HEADER):
            # One row writes "black".
            race.setdefault(code, spelt.setdefault(what.casefold(), what))
            region.setdefault(code, where)
    field = {}
    for line, code, (_, category) in _rows(folder / FIELDS, FIELDS_HEADER):
        field[code] = _filled(category, line, "field")
    continent, called = {}, {}
    for line, code, (_, of) in _rows(folder / CONTINENTS, width=3):
        continent[code] = _filled(of, line, "continent")
    for line, code, (name, of) in _rows(folder / COUNTRIES, width=3, at=1):
        called[_filled(name, line, "country")] = code
        continent.setdefault(code, _filled(of, line, "continent"))
    # What stands behind the country is a list of its own.
    country = {code: _filled(of, line, "country") for line, code, (of, *_) in _rows(folder / PLACES, width=2)}
    continent = {code: of for code, of in continent.items() if of != NOWHERE}
    return Tags(race, region, field, continent, country, called)


def _filled(cell: str, line: str, what: str) -> str:
    if not cell:
        raise InputError(f"{line}: no {what}; fill it in or remove the line")
    return cell


def _rows(
    path: Path, header: tuple[str, ...] = (), width: int = 0, at: int = 0
) -> Iterator[tuple[str, int, list[str]]]:
    """Where a line stands, the number of the id in it, and the other cells, stripped.

    Args:
        header: names of all columns, in the first line; without any, the table has none.
        width: cells that a line of a table without a header has at least.
        at: the column of the id.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; --world.people.tags should hold Seesaw-CF's tables")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: not UTF-8; save the table as UTF-8") from None
    table = csv.reader(lines)
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
