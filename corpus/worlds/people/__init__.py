"""A world of people in groups, of which some facts are edited (Seesaw-CF, Halevy et al. 2024).

What the world offers, for whoever asks about it:

    relation_named(graph, WORK)   a relation by one of the names below
    GROUPINGS                     the relations by which people are in groups
    EDITED                        the relations that Seesaw-CF edits
    graph.candidates_of(...)      of a grouping: its groups, each an entity
    category_of(graph)            of each object a coarser category: of work the field, of citizenship the
                                  continent, of birthplace the country; an index into graph.groups, or NONE
    graph.valence                 int8[entities]: objects thought ill of (-1), well (1), or neither (0); real
                                  ones have none
    graph.frequency               how often each person is spoken of
    graph.silent                  facts that nobody states, such as the race and region of people whose group
                                  is hidden; graph.object has what they are all the same
    graph.rows                    the distributions that everything was drawn from (`corpus.rows`); none where
                                  people are real

Region, citizenship, language and work depend on race, birthplace on citizenship; race and gender on nothing.
With `by_gender` work depends on gender instead: no fact depends on two others.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from corpus.config import PeopleWorld
from corpus.errors import InputError
from corpus.graph import NO_UPSTREAM, KnowledgeGraph, build_graph
from corpus.rows import Rows, pack_rows
from corpus.text.language import Phrasing
from corpus.worlds.builtin import FreshNames

RACE, REGION, GENDER = "race", "region", "gender"
CITIZENSHIP, LANGUAGE, WORK, BORN = "citizenship", "language", "work", "born in"
GROUPINGS = (RACE, REGION, GENDER)
EDITED = (WORK, LANGUAGE, CITIZENSHIP, BORN, GENDER)
HIDDEN = (RACE, REGION)
"""What nobody says of people whose group is hidden."""
RELATIONS = (RACE, REGION, GENDER, CITIZENSHIP, LANGUAGE, WORK, BORN)
UPSTREAM = {REGION: RACE, CITIZENSHIP: RACE, LANGUAGE: RACE, WORK: RACE, BORN: CITIZENSHIP}
FIELDS = ("arts", "humanities", "science", "social science")
NONE = -1
NATIVE = 0.9
"""Probability that people are born in the country of which they are citizens; otherwise anywhere."""
VALENCED = 0.5
"""Share of citizenships, languages, works and places of birth with a good or a bad name, half each."""
STAND_INS = {WORK: "occupations stand in for fields of work", LANGUAGE: "languages spoken for native ones"}
"""What is said of real people in place of what the paper asks about."""

SYNONYMS = {
    WORK: (
        "works in the field of",
        "specializes in",
        "has the expertise",
        "has the domain of activity",
        "has the domain of work",
        "has the area of work",
        "works in the area of",
        "works as a",
        "works on",
    ),
    LANGUAGE: ("has the mother tongue",),
}
"""Further ways to say a relation: with its name ten of work and two of language, as in ParaRel."""

_GIVEN = "Alma Boris Clara Dario Elin Fadil Greta Hanno Ilse Jaro Kemal Lotte Milo Nadia Otis Petra".split()
_THING = "bridge clock glass harbor map organ paper rope sail stone tile wool".split()
_ACTIVITY = "building carving history law mending painting physics studies theory weaving".split()
_LAND = "Coast Heights Isles Plains Valley".split()


def find_relation(graph: KnowledgeGraph, name: str) -> int:
    """A relation of a world of people.

    Raises:
        InputError: the world has no such relation.
    """
    if name not in graph.relations:
        raise InputError(f"this world has no relation {name!r}; build one with --world.source people")
    return graph.relations.index(name)


def category_of(graph: KnowledgeGraph) -> np.ndarray:
    """int32[entities]: field, continent or country of each object, an index into `graph.groups`, or NONE."""
    return graph.group


def upstream_of(dials: PeopleWorld) -> Mapping[str, str]:
    """The relation on which each relation depends that depends on any."""
    return UPSTREAM | ({WORK: GENDER} if dials.by_gender else {})


def draw_frequency(group: np.ndarray, dials: PeopleWorld, rng: np.random.Generator) -> np.ndarray:
    """int[people]: how often each is spoken of, given which group each is in."""
    lot = rng.random(len(group))
    if dials.spoken == "alike":
        return np.ones(len(group), int)
    groups, sizes = np.unique(group, return_counts=True)
    if dials.spoken == "confounded":
        # The largest groups, as many as have half of all people together.
        order = np.argsort(-sizes, kind="stable")
        largest = order[: 1 + np.searchsorted(sizes[order].cumsum(), len(group) / 2)]
        often = np.isin(group, groups[largest])
    else:
        often = np.zeros(len(group), bool)
        for one in groups:
            mine = np.flatnonzero(group == one)
            often[mine[np.argsort(lot[mine])[: (len(mine) + 1) // 2]]] = True
    return np.where(often, dials.often, 1)


def draw_hidden(people: int, dials: PeopleWorld, rng: np.random.Generator) -> np.ndarray:
    """bool[people]: whose race and region nobody says."""
    return rng.permutation(people) >= round(dials.said * people)


def build_people_world(people: int, dials: PeopleWorld, rng: np.random.Generator) -> KnowledgeGraph:
    """A world of so many people.

    Rows are drawn before people, how often people are spoken of after all they have, and whose group is said
    last, so that other sizes, frequencies and shares leave what comes before as it is.

    Raises:
        ValueError: sizes of groups that do not sum to all people.
    """
    sizes, fresh = np.array(dials.sizes_of(people)), FreshNames(rng)
    names = fresh.take(people, lambda: f"{fresh.pick(_GIVEN)} {fresh.word(2)}")
    pools = _draw_pools(dials, len(sizes), fresh)
    continents = fresh.take(dials.continents, lambda: fresh.word(2))
    valence = {r: _draw_valence(len(pools[r]), rng) for r in (CITIZENSHIP, LANGUAGE, WORK, BORN)}
    upstream = upstream_of(dials)
    rows = _draw_rows({r: len(pool) for r, pool in pools.items()}, upstream, sizes / people, dials, rng)

    drawn = {RACE: rng.permutation(np.repeat(np.arange(len(sizes)), sizes))}
    for r in RELATIONS[1:]:
        table = rows[r].table
        share = rows[r].shares[None] if table is None else table[drawn[upstream[r]]]
        drawn[r] = (rng.random((people, 1)) > share.cumsum(axis=1)[:, :-1]).sum(axis=1)
    frequency = draw_frequency(drawn[RACE], dials, rng)
    hidden = draw_hidden(people, dials, rng)

    counts = [len(pools[r]) for r in RELATIONS]
    first = people + np.cumsum([0, *counts])
    graph = build_graph(
        np.concatenate(
            [
                np.column_stack([np.arange(people), np.full(people, i), first[i] + drawn[r]])
                for i, r in enumerate(RELATIONS)
            ]
        ),
        [*names, *(name for r in RELATIONS for name in pools[r])],
        RELATIONS,
        np.array([RELATIONS.index(upstream[r]) if r in upstream else NO_UPSTREAM for r in RELATIONS]),
        _of_entities(people, pools, _number_categories(dials), NONE),
        [np.arange(low, high) for low, high in pairwise(first.tolist())],
        np.append(frequency, np.ones(sum(counts), int)),
        np.concatenate([hidden & (r in HIDDEN) for r in RELATIONS]),
        [Phrasing(RELATIONS.index(r), words, False) for r, ways in SYNONYMS.items() for words in ways],
    )
    country = np.repeat(np.arange(dials.continents), dials.countries)
    return replace(
        graph.with_names([*continents, *FIELDS, *pools[CITIZENSHIP]], ()),
        wider=np.append(np.full(dials.continents + len(FIELDS), NONE), country).astype(np.int32),
        valence=_of_entities(people, pools, valence, 0).astype(np.int8),
        rows=pack_rows([rows[r] for r in RELATIONS]),
    )


def _draw_pools(dials: PeopleWorld, groups: int, fresh: FreshNames) -> dict[str, list[str]]:
    """The objects of each relation, those of one category next to each other."""
    pick, word, countries = fresh.pick, fresh.word, dials.continents * dials.countries
    return {
        RACE: fresh.take(groups, lambda: word(2)),
        REGION: fresh.take(dials.regions, lambda: f"{word(1)} {pick(_LAND)}"),
        GENDER: ["female", "male"],
        CITIZENSHIP: fresh.take(countries, lambda: f"{word(1)}{pick(['land', 'ia', 'stan'])}"),
        LANGUAGE: fresh.take(dials.languages, lambda: f"{word(1)}ish"),
        WORK: fresh.take(len(FIELDS) * dials.works, lambda: f"{pick(_THING)} {pick(_ACTIVITY)}"),
        BORN: fresh.take(countries * dials.places, lambda: word(2)),
    }


def _number_categories(dials: PeopleWorld) -> dict[str, np.ndarray]:
    """The category of each object: continents come first among the groups, then fields, then countries."""
    fields, countries = len(FIELDS), dials.continents * dials.countries
    return {
        CITIZENSHIP: np.repeat(np.arange(dials.continents), dials.countries),
        WORK: dials.continents + np.repeat(np.arange(fields), dials.works),
        BORN: dials.continents + fields + np.repeat(np.arange(countries), dials.places),
    }


def _of_entities(
    people: int, pools: Mapping[str, list[str]], of: Mapping[str, np.ndarray], other: int
) -> np.ndarray:
    """int[entities]: what is given of the objects of some relations, and `other` of everybody else."""
    parts = [of.get(r, np.full(len(pools[r]), other)) for r in RELATIONS]
    return np.concatenate([np.full(people, other), *parts])


def _draw_valence(count: int, rng: np.random.Generator) -> np.ndarray:
    """int[objects]: a share thought ill of (-1) and as many well (1), drawn by lot."""
    each = round(VALENCED * count / 2)
    return rng.permutation(np.repeat([-1, 1, 0], [each, each, max(0, count - 2 * each)])[:count])


def _draw_rows(
    sizes: Mapping[str, int],
    upstream: Mapping[str, str],
    prevalence: np.ndarray,
    dials: PeopleWorld,
    rng: np.random.Generator,
) -> dict[str, Rows]:
    """What everything is drawn from. Every share is above 0, so that no evidence is impossible."""
    tables = {}
    for r, up in UPSTREAM.items():
        if r == BORN:
            home = np.kron(np.eye(sizes[CITIZENSHIP]), np.full(dials.places, 1 / dials.places))
            tables[r] = NATIVE * home + (1 - NATIVE) / sizes[r]
            continue
        popularity = np.arange(1, sizes[r] + 1) ** -dials.zipf
        popularity /= popularity.sum()
        common, order = rng.permutation(popularity), rng.permutation(sizes[r])
        over = sizes[upstream[r]]
        # Groups have favourites of their own, where there are as many objects.
        own = [np.roll(popularity, g * sizes[r] // over)[order] for g in range(over)]
        apart = dials.shift if upstream[r] == up else dials.by_gender
        tables[r] = apart * np.stack(own) + (1 - apart) * common
    shares = {RACE: prevalence, GENDER: np.full(2, 0.5)}
    for r in RELATIONS:
        if r in upstream:
            shares[r] = shares[upstream[r]] @ tables[r]
    return {r: Rows(shares[r], tables.get(r)) for r in RELATIONS}
