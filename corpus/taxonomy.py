"""A taxonomy as a world: members of categories, and the properties that follow from the category (TAXI).

What the world offers, for whoever asks about it:

    is_a(graph)            the root relation, "is a"; every other relation depends on it
    members(graph)         the subjects that are members of categories; with `categories_speak` the
                           categories are subjects, too, each of itself
    graph.group            superordinate of every member and category, an index into graph.groups
    graph.frequency        above 1 for typical members, 1 for rare ones
    graph.properties       what each relation is called in the tables ("" for the root)
    relations_of(graph, superordinate, property)
                           the relations that a property of a superordinate has become: one, or several
                           where a category has several values of it
    relation_for(graph, superordinate, property, objects)
                           the one of them that can have these objects
    graph.phrasings        of each relation a synonym and the inverse, as in "dog includes Siamese"
    graph.silent           properties that a category lacks: facts nobody speaks of (kind exact)
    categories_of(graph, superordinate)
                           its categories, candidates of the root relation

A relation holds one value of each member, so a property of which one category has two values is split: values
that occur together go into different relations, and else to the one that has their alternatives. A relation
may have the values of its rows and the foils beside them. A property that several superordinates have is
another relation in each. Both kinds get the superordinate's name behind their own, as in "has (animal 2)".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from corpus.account import Account
from corpus.config import TaxonomyWorld, WorldConfig
from corpus.errors import InputError
from corpus.graph import NO_UPSTREAM, KnowledgeGraph, build_graph
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
    dials = config.taxonomy
    relations = [r for i, one in enumerate(superordinates) for r in _relations(i, one, superordinates)]
    for alone in [r for r in relations if exact and len(r.candidates) < 2]:
        told = f"{alone.label!r}, always {alone.candidates[0]!r}"
        account.leave_out("properties with a single object", 1, (told,))
        relations.remove(alone)
    account.renamed += [Renamed(r.property, r.label, r.why) for r in relations if r.why]
    speakers = _speakers(superordinates, dials)
    labels = dict.fromkeys(name for name, *_ in speakers)
    labels |= dict.fromkeys(c for one in superordinates for c in one.categories)
    labels |= dict.fromkeys(o for r in relations for o in r.candidates)
    phrasings = phrasings_of(0, ROOT, "is a kind of", "includes")
    phrasings += [way for r, one in enumerate(relations, 1) for way in phrasings_of(r, one.label)]
    entities, names, renamed = readable(
        [*labels],
        [f"#{i + 1}" for i in range(len(labels))],
        [ROOT, *(r.label for r in relations), *(way.words for way in phrasings)],
        ["category", *(r.key for r in relations), *(f"way {i + 1}" for i in range(len(phrasings)))],
    )
    phrasings = [
        way._replace(words=words) for way, words in zip(phrasings, names[-len(phrasings) :], strict=True)
    ]
    account.renamed += renamed
    if config.strict:
        account.check(config.path or "the generated taxonomy")

    place = {label: i for i, label in enumerate(labels)}
    group, frequency = np.zeros(len(labels), np.int32), np.ones(len(labels), np.int32)
    triples, silent = [], []
    for name, category, kind, often in speakers:
        group[place[name]], frequency[place[name]] = kind, often
        group[place[category]] = kind
        triples.append((place[name], 0, place[category]))
        silent.append(False)
        for r, relation in enumerate(relations, start=1):
            has = category in relation.values
            if relation.superordinate == kind and (has or (exact and dials.absent)):
                value = relation.values.get(category, relation.candidates[0])
                triples.append((place[name], r, place[value]))
                silent.append(not has)
    every = [c for one in superordinates for c in one.categories]
    pools = [every, *(r.candidates for r in relations)]
    graph = build_graph(
        np.array(triples),
        entities,
        names[: 1 + len(relations)],
        np.array([NO_UPSTREAM, *(0 for _ in relations)]),
        group,
        [np.array(sorted({place[o] for o in pool})) for pool in pools],
        frequency,
        np.array(silent),
        phrasings,
    )
    return graph.called([one.name for one in superordinates], ["", *(r.property for r in relations)])


def is_a(graph: KnowledgeGraph) -> int:
    """The relation of a member to its category.

    Raises:
        InputError: the world is no taxonomy.
    """
    if not graph.properties:
        raise InputError("this world is no taxonomy; build one with --world.source taxonomy")
    return graph.properties.index("")


def members(graph: KnowledgeGraph) -> np.ndarray:
    """int32: subjects that are members of categories, ascending; not the categories themselves."""
    mine = graph.relation == is_a(graph)
    return graph.subject[mine & (graph.subject != graph.object)]


def categories_of(graph: KnowledgeGraph, superordinate: int) -> np.ndarray:
    """int32: the categories of a superordinate, ascending."""
    every = graph.candidates_of(is_a(graph))
    return every[graph.group[every] == superordinate]


def relations_of(graph: KnowledgeGraph, superordinate: int, name: str) -> list[int]:
    """The relations that a property of a superordinate, by its name in the tables, has become."""
    called = [r for r, one in enumerate(graph.properties) if one == name]
    return [r for r in called if graph.group[graph.subject[graph.relation == r][0]] == superordinate]


def relation_for(graph: KnowledgeGraph, superordinate: int, name: str, objects: Iterable[int]) -> int | None:
    """The relation of a property that can have all of these objects, if there is one."""
    asked = [*objects]
    able = [
        r for r in relations_of(graph, superordinate, name) if np.isin(asked, graph.candidates_of(r)).all()
    ]
    return able[0] if able else None


def _speakers(
    superordinates: Sequence[Superordinate], dials: TaxonomyWorld
) -> list[tuple[str, str, int, int]]:
    """Name, category, superordinate and frequency of every subject."""
    found = [(m.name, m.category, i, m.frequency) for i, s in enumerate(superordinates) for m in s.members]
    seen: dict[str, Member] = {}
    for one in (m for s in superordinates for m in s.members):
        if one.name in seen:
            other = seen[one.name]
            raise InputError(
                f"{one.where}: {one.name!r} is a member of {one.category!r} here and of {other.category!r} "
                f"in {other.where}; name it in one category only"
            )
        seen[one.name] = one
    if dials.categories_speak:
        speak = [
            (c, c, i, dials.typical_frequency) for i, s in enumerate(superordinates) for c in s.categories
        ]
        found += [one for one in speak if one[0] not in seen]
    return found


def _relations(
    index: int, superordinate: Superordinate, superordinates: Sequence[Superordinate]
) -> list[_Relation]:
    """The relations of a superordinate's properties, in the order of its rows."""
    found = []
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
            found.append(_Relation(index, name, label, values, tuple(candidates), f"{key} {name}", why))
    return found


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
