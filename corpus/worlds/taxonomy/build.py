"""From TAXI's tables, or a generated taxonomy of their shape, to a graph (Powell et al. 2024).

Of each superordinate there are the tables `*-type-tokens.tsv` and `*-data.tsv`; `corpus.worlds.taxonomy` says
what the graph holds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corpus.config import TaxonomyWorld, WorldConfig
from corpus.errors import InputError
from corpus.graph import NO_UPSTREAM, KnowledgeGraph, build_graph
from corpus.text.language import Phrasing
from corpus.text.names import NameChange, make_readable
from corpus.text.phrasings import phrasings_of
from corpus.worlds.account import Account
from corpus.worlds.builtin import FreshNames
from corpus.worlds.rawfiles import read_table_text

ROOT = "is a"
MEMBERS, ROWS = "-type-tokens.tsv", "-data.tsv"
TYPICAL, RARE = ("typical_token1", "typical_token2"), ("rare_token1", "rare_token2")
FOILS = ("foil1", "foil2", "foil3")
CATEGORY_COLUMNS = ("entity_type", *TYPICAL, *RARE)
ROW_COLUMNS = ("entity", "property", "answer_fwd", *FOILS)
ALIASES = {"confier tree": ("conifer tree",), "trees": ("flowering tree", "conifer tree")}
"""Categories that rows of TAXI's tables misspell or sum up, and what they mean."""
Line = tuple[str, dict[str, str]]
"""Where a line stands, and its cells by column."""
_PART = "bark body coat core crown edge face frame heart shell side skin stem surface voice".split()
_ASPECT = "color flavor form grain habit home origin season shape size smell sound taste texture use".split()
WHERE = "the generated taxonomy"
TYPICAL_FREQUENCY = 10
"""How often typical members are mentioned for each mention of a rare one (see --documents.copies)."""


@dataclass(frozen=True)
class Member:
    """A member of a category; how often it is spoken of; where the source says so."""

    name: str
    category: str
    frequency: int
    where: str


@dataclass(frozen=True)
class Row:
    """What members of a category have: a value of a property, and other values it might have had."""

    category: str
    property: str
    value: str
    foils: tuple[str, ...]
    where: str


@dataclass(frozen=True)
class Superordinate:
    """A kind of thing.

    Attributes:
        categories: their names, those without a row included.
    """

    name: str
    categories: tuple[str, ...]
    members: tuple[Member, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class _Relation:
    """One value of each category that is named in `values`; `why` it is not called as its property is."""

    superordinate: int
    property: str
    label: str
    values: dict[str, str]
    candidates: tuple[str, ...]
    key: str
    why: str


def build_taxonomy_graph(
    config: WorldConfig, rng: np.random.Generator, account: Account, exact: bool = False
) -> KnowledgeGraph:
    """The graph of a taxonomy: one "is a" fact of each member, and a fact of each property it has.

    Args:
        account: is told what was left out, split and renamed.
        exact: for worlds of kind `exact`: properties with one object only are left out, and those that a
            category lacks are kept as silent facts.

    Raises:
        InputError: no tables, a header or a cell missing; a category without members, a member of two, or a
            property that cannot be split.
    """
    superordinates = (
        _read_taxonomy(Path(config.path), account)
        if config.path
        else _generate_taxonomy(config.taxonomy, rng)
    )
    relations = _keep_relations(superordinates, account, exact)
    speakers = _list_subjects(superordinates, config.taxonomy, account)
    categories = [category for one in superordinates for category in one.categories]
    pools = [categories, *(r.candidates for r in relations)]
    place = {label: i for i, label in enumerate(dict.fromkeys(_list_labels(speakers, pools)))}
    entities, names, phrasings = _make_names([*place], relations, account)
    if config.strict:
        account.check_totals(config.path or "the generated taxonomy")

    group, frequency = np.zeros(len(place), np.int32), np.ones(len(place), np.int32)
    triples, silent = [], []
    for name, category, kind, often in speakers:
        group[place[name]], frequency[place[name]] = kind, often
        group[place[category]] = kind
        triples.append((place[name], 0, place[category]))
        silent.append(False)
        for r, relation in enumerate(relations, start=1):
            has = category in relation.values
            if relation.superordinate == kind and (has or exact):
                value = relation.values.get(category, relation.candidates[0])
                triples.append((place[name], r, place[value]))
                silent.append(not has)
    graph = build_graph(
        np.array(triples),
        entities,
        names,
        np.array([NO_UPSTREAM, *(0 for _ in relations)]),
        group,
        [np.array(sorted({place[o] for o in pool})) for pool in pools],
        frequency,
        np.array(silent),
        phrasings,
    )
    return graph.with_names([one.name for one in superordinates], ["", *(r.property for r in relations)])


def _keep_relations(
    superordinates: Sequence[Superordinate], account: Account, exact: bool
) -> list[_Relation]:
    """The relations of all superordinates; in exact worlds none with a single object."""
    remaining = []
    for relation in (
        r for i, one in enumerate(superordinates) for r in _form_relations(i, one, superordinates)
    ):
        if exact and len(relation.candidates) < 2:
            example = f"{relation.label!r}, always {relation.candidates[0]!r}"
            account.leave_out("properties with a single object", 1, (example,))
            continue
        remaining.append(relation)
        if relation.why:
            account.renamed.append(NameChange(relation.property, relation.label, relation.why))
    return remaining


def _list_subjects(
    superordinates: Sequence[Superordinate], dials: TaxonomyWorld, account: Account
) -> list[tuple[str, str, int, int]]:
    """Name, category, superordinate and frequency of every subject."""
    seen: dict[str, Member] = {}
    for one in (m for s in superordinates for m in s.members):
        if one.name == one.category:
            raise InputError(f"{one.where}: {one.name!r} is called like its own category; rename it")
        if one.name in seen:
            other = seen[one.name]
            raise InputError(
                f"{one.where}: {one.name!r} is a member of {one.category!r} here and of {other.category!r} "
                f"in {other.where}; name it in one category only"
            )
        seen[one.name] = one
    speakers = [(m.name, m.category, i, m.frequency) for i, s in enumerate(superordinates) for m in s.members]
    if dials.categories_speak:
        every = [(category, i) for i, s in enumerate(superordinates) for category in s.categories]
        speakers += [(c, c, i, TYPICAL_FREQUENCY) for c, i in every if c not in seen]
        both = [c for c, _ in every if c in seen]
        account.leave_out("categories that do not speak, being members of others", len(both), map(repr, both))
    return speakers


def _list_labels(
    speakers: Sequence[tuple[str, str, int, int]], pools: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Every name of an entity, subjects first, some more than once."""
    yield from (name for name, *_ in speakers)
    for pool in pools:
        yield from pool


def _make_names(
    labels: Sequence[str], relations: Sequence[_Relation], account: Account
) -> tuple[list[str], list[str], list[Phrasing]]:
    """Names of entities and relations, and the relations' phrasings, such that every sentence parses back."""
    ways = phrasings_of(0, ROOT, "is a kind of", "includes")
    ways += [way for r, one in enumerate(relations, 1) for way in phrasings_of(r, one.label)]
    entities, readable_names, renamed = make_readable(
        labels,
        [f"#{i + 1}" for i in range(len(labels))],
        [ROOT, *(r.label for r in relations), *(way.words for way in ways)],
        ["category", *(r.key for r in relations), *(f"way {i + 1}" for i in range(len(ways)))],
    )
    account.renamed += renamed
    names, words = readable_names[: -len(ways)], readable_names[-len(ways) :]
    return entities, names, [way._replace(words=new) for way, new in zip(ways, words, strict=True)]


def _form_relations(
    index: int, superordinate: Superordinate, superordinates: Sequence[Superordinate]
) -> list[_Relation]:
    """The relations of a superordinate's properties, in the order of its rows."""
    relations = []
    for name in dict.fromkeys(row.property for row in superordinate.rows):
        rows = [row for row in superordinate.rows if row.property == name]
        elsewhere = any(
            row.property == name for s in superordinates if s is not superordinate for row in s.rows
        )
        parts = split_rows(rows)
        for number, part in enumerate(parts, start=1):
            label = " ".join(name.replace("_", " ").split())
            key = superordinate.name + (f" {number}" if len(parts) > 1 else "")
            if elsewhere or len(parts) > 1:
                label = f"{label} ({key})"
            candidates = dict.fromkeys(one for row in part for one in (row.value, *row.foils))
            if len(candidates) < 2 and len(parts) > 1:
                raise InputError(
                    f"{part[0].where}: {part[0].category!r} has several values of {name!r}, and split from "
                    f"the others {part[0].value!r} has no alternative; add a foil to the row"
                )
            values = {row.category: row.value for row in part}
            why = "another superordinate has a property called so" if elsewhere else ""
            if len(parts) > 1:
                value_names = ", ".join(dict.fromkeys(values.values()))
                why = f"a category has several values of it; this relation is for {value_names}"
            relations.append(_Relation(index, name, label, values, tuple(candidates), f"{key} {name}", why))
    return relations


def split_rows(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows of one property in as few parts as a greedy colouring finds, in each of which a category has one.

    Values that some category has together go into different parts. Otherwise a value goes where most of
    its alternatives are; among equals into the first part.
    """
    values = [*dict.fromkeys(row.value for row in rows)]
    of = {value: {row.category for row in rows if row.value == value} for value in values}
    near = {value: {f for row in rows if row.value == value for f in row.foils} - {value} for value in values}
    part: dict[str, int] = {}
    parts: list[list[str]] = []
    for value in values:
        links = [
            -1
            if any(of[value] & of[other] for other in held)
            else sum((other in near[value]) + (value in near[other]) for other in held)
            for held in parts
        ]
        if max(links, default=-1) < 0:
            links.append(0)
            parts.append([])
        part[value] = links.index(max(links))
        parts[part[value]].append(value)
    return [[row for row in rows if row.value in held] for held in parts]


def _read_taxonomy(path: Path, account: Account) -> tuple[Superordinate, ...]:
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
    return tuple(_read_superordinate(folder, name, account) for name in names)


def _read_superordinate(folder: Path, name: str, account: Account) -> Superordinate:
    members, categories = [], []
    for where, cells in _read_lines(folder / f"{name}{MEMBERS}", CATEGORY_COLUMNS, filled=("entity_type",)):
        category = cells["entity_type"]
        if category in categories:
            raise InputError(f"{where}: the category {category!r} stands here a second time; remove one line")
        categories.append(category)
        for columns, often in ((TYPICAL, TYPICAL_FREQUENCY), (RARE, 1)):
            named = [cells[column] for column in columns if cells[column]]
            members += [Member(member, category, often, where) for member in named]
    rows: dict[tuple[str, str, str], Row] = {}
    for where, cells in _read_lines(folder / f"{name}{ROWS}", ROW_COLUMNS, filled=ROW_COLUMNS[:3]):
        said, value = cells["entity"], cells["answer_fwd"]
        candidates = (said,) if said in categories else ALIASES.get(said, ())
        known = [category for category in candidates if category in categories]
        if not known:
            example = f"{where}: {said!r} is not a category of {name}"
            account.leave_out("rows about no category", 1, (example,))
        elif said not in categories:
            account.renamed.append(
                NameChange(said, " and ".join(known), f"{where}: an alias of the category")
            )
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


def _read_lines(path: Path, columns: tuple[str, ...], filled: tuple[str, ...]) -> Iterator[Line]:
    """The lines of a table below its header; cells at the end of a line may be missing.

    Args:
        filled: columns that must not be empty.
    """
    lines = read_table_text(path, f"every superordinate has *{MEMBERS} and *{ROWS}").split("\n")
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


def _generate_taxonomy(dials: TaxonomyWorld, rng: np.random.Generator) -> tuple[Superordinate, ...]:
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
            Member(member, category, TYPICAL_FREQUENCY if i < (dials.members + 1) // 2 else 1, WHERE)
            for category in categories
            for i, member in enumerate(fresh.take(dials.members, lambda: fresh.word(2)))
        ]
        properties = fresh.take(dials.properties, lambda: f"{pick(_PART)} {pick(_ASPECT)}")
        has = rng.random((dials.categories, dials.properties)) < dials.has
        lacking = ~has.any(axis=1)
        has[lacking, rng.integers(0, dials.properties, lacking.sum())] = True
        rows = [
            row
            for p, one in enumerate(properties)
            for row in _draw_rows(one, categories, has[:, p], dials, fresh)
        ]
        superordinates.append(Superordinate(name, tuple(categories), tuple(members), tuple(rows)))
    return tuple(superordinates)


def _draw_rows(
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
