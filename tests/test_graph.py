"""KnowledgeGraph: order, look-up, names, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from corpus.graph import build_graph, load_graph, save_graph

triples = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(5, 9)), min_size=1, max_size=20
)
NAMES = [f"e{i}" for i in range(10)]


@given(triples)
def test_facts_are_sorted_one_to_one_and_found(facts):
    if len({o for _, _, o in facts}) < 3:
        facts = [*facts, (4, 0, 5), (4, 1, 6), (4, 2, 7), (3, 0, 6), (2, 0, 7), (1, 1, 5)]
    first = {}
    for s, r, o in facts:
        first.setdefault((s, r), o)
    # A graph needs three objects and two subjects.
    if len(set(first.values())) < 3 or len({s for s, _ in first}) < 2:
        return
    graph = build_graph(np.array(facts), NAMES, ["r0", "r1", "r2"], np.array([-1, 0, -1]))
    got = [
        (graph.entities[s], int(r), graph.entities[o])
        for s, r, o in zip(graph.subject, graph.relation, graph.object, strict=True)
    ]
    assert got == [(f"e{s}", r, f"e{o}") for (s, r), o in sorted(first.items())]
    for i in range(len(graph)):
        assert graph.find(graph.subject[i], graph.relation[i]) == i
    for s in graph.subjects.tolist():
        assert [*graph.facts_of(s)] == np.flatnonzero(graph.subject == s).tolist()
        for r in range(3):
            exists = any((a, b) == (s, r) for a, b in zip(graph.subject, graph.relation, strict=True))
            assert (graph.find(s, r) >= 0) == exists


def test_upstream_fact_points_at_the_same_subject(world):
    graph = world.graph
    for i, up in enumerate(graph.upstream_fact):
        if up >= 0:
            assert graph.subject[up] == graph.subject[i]
            assert graph.relation[up] == graph.upstream[graph.relation[i]]


def test_saved_and_loaded(world, tmp_path):
    save_graph(world.graph, tmp_path)
    again = load_graph(tmp_path)
    assert (again.entities, again.relations) == (world.graph.entities, world.graph.relations)
    for name in ("subject", "relation", "object", "upstream", "group"):
        np.testing.assert_array_equal(getattr(again, name), getattr(world.graph, name))


@pytest.mark.parametrize(
    ("facts", "relations", "upstream", "message"),
    [
        (np.empty((0, 3), int), ["r"], [-1], "graph is empty"),
        (np.array([[0, 0, 5], [1, 0, 6]]), ["r"], [-1], "2 distinct objects"),
        (np.array([[0, 0, 5], [0, 1, 6], [0, 2, 7]]), ["r", "q", "p"], [-1, -1, -1], "only one subject"),
        (np.array([[0, 0, 5], [1, 0, 6], [2, 1, 7]]), ["r", "r"], [-1, -1], "more than one relation"),
        (np.array([[0, 0, 5], [1, 0, 6], [2, 1, 7]]), ["r", "q"], [1, 0], "depends on itself"),
    ],
)
def test_refused_graphs(facts, relations, upstream, message):
    with pytest.raises(InputError, match=message):
        build_graph(facts, NAMES, relations, np.array(upstream))
