"""A world of people in groups, of which some facts are edited (Seesaw-CF, Halevy et al. 2024).

What the world offers, for whoever asks about it:

    relation_named(graph, WORK)   a relation by one of the names below
    GROUPINGS                     the relations by which people are in groups
    EDITED                        the relations that Seesaw-CF edits
    graph.candidates_of(...)      of a grouping: its groups, each an entity
    category_of(graph)            of each object a coarser category: of work the field, of citizenship the
                                  continent, of birthplace the country; an index into graph.groups, or NONE
    continent_of(graph)           of citizenships and birthplaces the continent, likewise
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

import numpy as np

from corpus.config import PeopleWorld
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph

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


def continent_of(graph: KnowledgeGraph) -> np.ndarray:
    """int32[entities]: continent of citizenships and birthplaces, an index into `graph.groups`, or NONE."""
    continent = np.full(len(graph.entities), NONE, np.int32)
    continents, places = (graph.candidates_of(find_relation(graph, r)) for r in (CITIZENSHIP, BORN))
    continent[continents] = graph.group[continents]
    country = graph.group[places]
    continent[places] = np.where(country < 0, NONE, graph.wider[country])
    return continent


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
