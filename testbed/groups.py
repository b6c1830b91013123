"""What `testbed.corpus` prints of a world of people: who is in which group, and how much is said of them."""

from collections.abc import Iterator

import numpy as np

from corpus.graph import KnowledgeGraph
from corpus.worlds.people import GROUPINGS, RELATIONS
from testbed.console import print_table

Group = tuple[str, str, int, int, int]
"""Grouping, group, people in it, of them spoken of most often, of them said to be in it."""


def groups_of(graph: KnowledgeGraph) -> Iterator[Group]:
    """Every group of every grouping, the largest first; last those of whom no group is known."""
    often = graph.frequency == graph.frequency[graph.subjects].max()
    for r in (RELATIONS.index(name) for name in GROUPINGS):
        mine = graph.relation == r
        candidates = graph.candidates_of(r)
        sizes = (graph.object[mine] == candidates[:, None]).sum(axis=1)
        for group in candidates[np.argsort(-sizes, kind="stable")].tolist():
            facts = mine & (graph.object == group)
            count = (facts, facts & often[graph.subject], facts & ~graph.silent)
            yield RELATIONS[r], graph.entities[group], *(int(one.sum()) for one in count)
        rest = np.setdiff1d(graph.subjects, graph.subject[mine])
        if len(rest):
            yield RELATIONS[r], "not known", len(rest), int(often[rest].sum()), 0


def show_groups(graph: KnowledgeGraph) -> None:
    """Print the groups as a table."""
    rows = [(f"{grouping}: {group}", *counts) for grouping, group, *counts in groups_of(graph)]
    print_table("groups", ("", "people", "of them often", "of them said"), rows)
