"""What `testbed.corpus --stats` prints of a taxonomy: how much there is of each superordinate."""

from typing import NamedTuple

import numpy as np

from corpus import taxonomy
from corpus.graph import KnowledgeGraph
from testbed.console import table


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


def counted(graph: KnowledgeGraph) -> list[SuperordinateCount]:
    """A line for each superordinate of a taxonomy, and one for all."""
    members = taxonomy.members(graph)
    spoken = ~graph.silent & (graph.relation != taxonomy.is_a(graph))
    of_fact = graph.group[graph.subject]
    lines = []
    for group, name in enumerate(graph.groups):
        mine = spoken & (of_fact == group)
        categories = len(taxonomy.categories_of(graph, group))
        subjects = int((graph.group[members] == group).sum())
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
        len(np.unique(graph.object[spoken])),
        sum(line.edits for line in lines),
    )
    return [*lines, total]


def show_taxonomy(graph: KnowledgeGraph) -> None:
    """Print it."""
    header = ("superordinate", "categories", "subjects", "properties", "values", "possible edits")
    rows = [(line.name, *(f"{n:,}" for n in line[1:])) for line in counted(graph)]
    table("taxonomy (Powell et al. 2024, Tables 1 and 3)", header, rows)
