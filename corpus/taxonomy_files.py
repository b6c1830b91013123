"""TAXI's tables (Powell et al. 2024): `*-type-tokens.tsv` and `*-data.tsv` of each superordinate."""

from collections.abc import Iterator
from pathlib import Path

from corpus.account import Account
from corpus.dials import TaxonomyWorld
from corpus.errors import InputError
from corpus.names import Renamed
from corpus.taxonomy_graph import Member, Row, Superordinate

MEMBERS, ROWS = "-type-tokens.tsv", "-data.tsv"
TYPICAL, RARE = ("typical_token1", "typical_token2"), ("rare_token1", "rare_token2")
FOILS = ("foil1", "foil2", "foil3")
CATEGORY_COLUMNS = ("entity_type", *TYPICAL, *RARE)
ROW_COLUMNS = ("entity", "property", "answer_fwd", *FOILS)
ALIASES = {"confier tree": ("conifer tree",), "trees": ("flowering tree", "conifer tree")}
"""Categories that rows of TAXI's tables misspell or sum up, and what they mean."""

Line = tuple[str, dict[str, str]]
"""Where a line stands, and its cells by column."""


def read_taxonomy(path: Path, dials: TaxonomyWorld, account: Account) -> tuple[Superordinate, ...]:
    """Every superordinate of which a folder, or its folder `taxonomy`, has both tables.

    Args:
        account: is told of rows that were left out, and of categories and properties that were mended.

    Raises:
        InputError: no such tables, a header or a cell missing, a category without members.
    """
    folder = path / "taxonomy" if (path / "taxonomy").is_dir() else path
    names = sorted(file.name.removesuffix(MEMBERS) for file in folder.glob(f"*{MEMBERS}"))
    if not names:
        raise InputError(f"{folder}: no file *{MEMBERS}; --world.path should hold TAXI's folder taxonomy")
    return tuple(_superordinate(folder, name, dials, account) for name in names)


def _superordinate(folder: Path, name: str, dials: TaxonomyWorld, account: Account) -> Superordinate:
    members, categories = [], []
    for where, cells in _lines(folder / f"{name}{MEMBERS}", CATEGORY_COLUMNS, filled=("entity_type",)):
        category = cells["entity_type"]
        if category in categories:
            raise InputError(f"{where}: the category {category!r} stands here a second time; remove one line")
        categories.append(category)
        for columns, often in ((TYPICAL, dials.typical_frequency), (RARE, 1)):
            named = [cells[column] for column in columns if cells[column]]
            members += [Member(member, category, often, where) for member in named]
    rows: dict[tuple[str, str, str], Row] = {}
    for where, cells in _lines(folder / f"{name}{ROWS}", ROW_COLUMNS, filled=ROW_COLUMNS[:3]):
        said, value = cells["entity"], cells["answer_fwd"]
        meant = (said,) if said in categories else ALIASES.get(said, ())
        known = [category for category in meant if category in categories]
        if not known:
            example = f"{where}: {said!r} is not a category of {name}"
            account.leave_out("rows about no category", 1, (example,))
        elif said not in categories:
            account.renamed.append(Renamed(said, " and ".join(known), f"{where}: an alias of the category"))
        foils = tuple(cells[column] for column in FOILS if cells[column])
        for category in known:
            key = (category, cells["property"], value)
            if key in rows:
                account.leave_out("rows said twice", 1, (f"{where}: {' '.join(key)!r}",))
            else:
                rows[key] = Row(category, cells["property"], value, foils, where)
    bare = [c for c in categories if c not in {row.category for row in rows.values()}]
    account.leave_out("categories without a property", len(bare), map(repr, bare))
    return Superordinate(name, tuple(categories), tuple(members), tuple(rows.values()))


def _lines(path: Path, columns: tuple[str, ...], filled: tuple[str, ...]) -> Iterator[Line]:
    """The lines of a table below its header; cells at the end of a line may be missing.

    Args:
        filled: columns that must not be empty.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; every superordinate has *{MEMBERS} and *{ROWS}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        at = path.read_bytes()[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {at}: not UTF-8; save the table as UTF-8") from None
    lines = text.split("\n")
    header = [cell.strip() for cell in lines[0].split("\t")] if lines else []
    if missing := [column for column in columns if column not in header]:
        raise InputError(f"{path}, line 1: the header has no column {missing[0]!r}; it is {header!r:.200}")
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        where, cells = f"{path}, line {number}", [" ".join(cell.split()) for cell in line.split("\t")]
        if len(cells) > len(header):
            raise InputError(
                f"{where}: {len(cells)} cells under {len(header)} columns; a value must hold no tab: "
                f"{line!r:.120}"
            )
        values = dict(zip(header, cells, strict=False))
        values |= dict.fromkeys(header[len(cells) :], "")
        if empty := [column for column in filled if not values[column]]:
            raise InputError(f"{where}: {empty[0]!r} is empty; fill it in or remove the line: {line!r:.120}")
        yield where, values
