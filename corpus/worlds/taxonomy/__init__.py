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
                           the one of them that can have these objects
    graph.phrasings        of each relation a synonym and the inverse, as in "dog includes Siamese"
    graph.silent           properties that a category lacks: facts nobody speaks of (kind exact)
    categories_of(graph, superordinate)
                           its categories, candidates of the root relation
    counted(graph)         how much there is of each superordinate, as TAXI's Table 3 counts it

A relation holds one value of each member, so a property of which one category has two values is split: values
that occur together go into different relations, and else to the one that has their alternatives. A relation
may have the values of its rows and the foils beside them. A property that several superordinates have is
another relation in each. Both kinds get the superordinate's name behind their own, as in "has (animal 2)".
"""

from collections.abc import Sequence
from typing import NamedTuple

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


class SuperordinateCount(NamedTuple):
    """One line of Powell et al.'s Table 3; their Table 1 adds its values and sums its edits.

    Attributes:
        properties: by their names in the tables, however many relations they became.
        values: different objects of these properties that some category has.
        edits: subjects, each with every other category of the superordinate.
    """

    name: str
    categories: int
    subjects: int
    properties: int
    values: int
    edits: int


def count_upper_groups(graph: KnowledgeGraph) -> list[SuperordinateCount]:
    """A line for each superordinate of a taxonomy, and one for all."""
    member_group = graph.group[members(graph)]
    is_property = ~graph.silent & (graph.relation != is_a(graph))
    of_fact = graph.group[graph.subject]
    lines = []
    for group, name in enumerate(graph.groups):
        mine = is_property & (of_fact == group)
        categories = len(categories_of(graph, group))
        subjects = int((member_group == group).sum())
        properties = {graph.properties[r] for r in np.unique(graph.relation[mine])}
        values = len(np.unique(graph.object[mine]))
        edits = subjects * (categories - 1)
        lines.append(SuperordinateCount(name, categories, subjects, len(properties), values, edits))
    total = SuperordinateCount(
        "all",
        sum(line.categories for line in lines),
        sum(line.subjects for line in lines),
        sum(line.properties for line in lines),
        # Superordinates may share a value.
        len(np.unique(graph.object[is_property])),
        sum(line.edits for line in lines),
    )
    return [*lines, total]


def count_table(graph: KnowledgeGraph) -> tuple[str, Sequence[str], list[Sequence[str]]]:
    """`count_upper_groups` to print: title, header, a row for each line."""
    header = ("superordinate", "categories", "subjects", "properties", "values", "possible edits")
    rows: list[Sequence[str]] = [
        (line.name, *(f"{n:,}" for n in line[1:])) for line in count_upper_groups(graph)
    ]
    return "taxonomy (Powell et al. 2024, Tables 1 and 3)", header, rows
