"""From the categories, members and rows of a taxonomy to its graph; `corpus.taxonomy` says what it holds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from corpus.account import Account
from corpus.config import WorldConfig
from corpus.dials import TaxonomyWorld
from corpus.errors import InputError
from corpus.graph import NO_UPSTREAM, KnowledgeGraph, build_graph
from corpus.language import Phrasing
from corpus.names import Renamed, readable
from corpus.phrasings import phrasings_of

ROOT = "is a"


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


def graph_of(
    superordinates: Sequence[Superordinate],
    config: WorldConfig,
    account: Account,
    exact: bool = False,
) -> KnowledgeGraph:
    """The graph of a taxonomy: one "is a" fact of each member, and a fact of each property it has.

    Args:
        account: is told what was left out, split and renamed.
        exact: for worlds of kind `exact`: properties with one object only are left out, and those that a
            category lacks are kept as silent facts.

    Raises:
        InputError: a member of two categories, or a property that cannot be split.
    """
    relations = _kept(superordinates, account, exact)
    speakers = _speakers(superordinates, config.taxonomy, account)
    categories = [category for one in superordinates for category in one.categories]
    pools = [categories, *(r.candidates for r in relations)]
    place = {label: i for i, label in enumerate(dict.fromkeys(_labels(speakers, pools)))}
    entities, names, phrasings = _readable([*place], relations, account)
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
            if relation.superordinate == kind and (has or (exact and config.taxonomy.absent)):
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
    return graph.called([one.name for one in superordinates], ["", *(r.property for r in relations)])


def _kept(superordinates: Sequence[Superordinate], account: Account, exact: bool) -> list[_Relation]:
    """The relations of all superordinates; in exact worlds none with a single object."""
    kept = []
    for relation in (r for i, one in enumerate(superordinates) for r in _relations(i, one, superordinates)):
        if exact and len(relation.candidates) < 2:
            told = f"{relation.label!r}, always {relation.candidates[0]!r}"
            account.leave_out("properties with a single object", 1, (told,))
            continue
        kept.append(relation)
        if relation.why:
            account.renamed.append(Renamed(relation.property, relation.label, relation.why))
    return kept


def _speakers(
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
        speakers += [(c, c, i, dials.typical_frequency) for c, i in every if c not in seen]
        both = [c for c, _ in every if c in seen]
        account.leave_out("categories that do not speak, being members of others", len(both), map(repr, both))
    return speakers


def _labels(speakers: Sequence[tuple[str, str, int, int]], pools: Sequence[Sequence[str]]) -> Iterator[str]:
    """Every name of an entity, subjects first, some more than once."""
    yield from (name for name, *_ in speakers)
    for pool in pools:
        yield from pool


def _readable(
    labels: Sequence[str], relations: Sequence[_Relation], account: Account
) -> tuple[list[str], list[str], list[Phrasing]]:
    """Names of entities and relations, and the relations' phrasings, such that every sentence parses back."""
    ways = phrasings_of(0, ROOT, "is a kind of", "includes")
    ways += [way for r, one in enumerate(relations, 1) for way in phrasings_of(r, one.label)]
    entities, said, renamed = readable(
        labels,
        [f"#{i + 1}" for i in range(len(labels))],
        [ROOT, *(r.label for r in relations), *(way.words for way in ways)],
        ["category", *(r.key for r in relations), *(f"way {i + 1}" for i in range(len(ways)))],
    )
    account.renamed += renamed
    names, words = said[: -len(ways)], said[-len(ways) :]
    return entities, names, [way._replace(words=new) for way, new in zip(ways, words, strict=True)]


def _relations(
    index: int, superordinate: Superordinate, superordinates: Sequence[Superordinate]
) -> list[_Relation]:
    """The relations of a superordinate's properties, in the order of its rows."""
    relations = []
    for name in dict.fromkeys(row.property for row in superordinate.rows):
        rows = [row for row in superordinate.rows if row.property == name]
        elsewhere = any(
            row.property == name for s in superordinates if s is not superordinate for row in s.rows
        )
        parts = split(rows)
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
                held = ", ".join(dict.fromkeys(values.values()))
                why = f"a category has several values of it; this relation is for {held}"
            relations.append(_Relation(index, name, label, values, tuple(candidates), f"{key} {name}", why))
    return relations


def split(rows: Sequence[Row]) -> list[list[Row]]:
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
