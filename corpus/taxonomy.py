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

from collections.abc import Iterable

import numpy as np

from corpus.errors import InputError
from corpus.graph import KnowledgeGraph


def is_a(graph: KnowledgeGraph) -> int:
    """The relation of a member to its category.

    Raises:
        InputError: the world is not a taxonomy.
    """
    if not graph.properties:
        raise InputError("this world is not a taxonomy; build one with --world.source taxonomy")
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
