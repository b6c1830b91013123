"""People in groups as a world: what it holds, what dials do, what an agent told the rows believes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from corpus.config import ExactConfig, WorldConfig
from corpus.dials import PeopleWorld
from corpus.graph import load_graph, save_graph
from corpus.people import (
    BORN,
    CITIZENSHIP,
    EDITED,
    FIELDS,
    GENDER,
    GROUPINGS,
    NONE,
    RACE,
    REGION,
    RELATIONS,
    WORK,
    category_of,
    continent_of,
    relation_named,
)
from corpus.rows import rows_of
from corpus.world import build_world

SMALL = PeopleWorld(groups=3, continents=2, countries=2, places=2, languages=4, works=2, regions=3)
CONFIG = ExactConfig(row_mass=0.2, noise=0.1)
seeds = st.integers(0, 10**6)


def people(seed=0, count=24, **dials):
    return build_world(
        WorldConfig(source="people", subjects=count, people=replace(SMALL, **dials)), seed, True
    )


def objects(graph, name):
    """Of each person the object of a relation."""
    return graph.object[graph.relation == relation_named(graph, name)]


# What a world holds.


@given(seeds, st.integers(6, 40), st.integers(2, 5), st.sampled_from([0.0, 0.5, 1.0]))
@hypothesis_settings(max_examples=25, derandomize=True)
def test_people_have_the_shape_asked_for(seed, count, groups, said):
    graph = people(seed, count, groups=groups, said=said)
    assert graph.relations == RELATIONS
    assert set(GROUPINGS) | set(EDITED) == set(RELATIONS)
    assert len(graph) == count * len(RELATIONS)
    sizes = np.unique(objects(graph, RACE), return_counts=True)[1]
    assert sorted(sizes.tolist(), reverse=True) == list(replace(SMALL, groups=groups).sizes_of(count))
    hidden = graph.silent[graph.relation == relation_named(graph, RACE)]
    assert hidden.sum() == count - round(said * count)
    for name in RELATIONS:
        silent = graph.silent[graph.relation == relation_named(graph, name)]
        assert (silent == (hidden if name in (RACE, REGION) else False)).all()
    assert {*graph.frequency.tolist()} <= {1, SMALL.often}


@given(seeds)
@hypothesis_settings(max_examples=10, derandomize=True)
def test_objects_carry_coarser_categories(seed):
    graph = people(seed)
    category, continent = category_of(graph), continent_of(graph)
    works = graph.candidates_of(relation_named(graph, WORK))
    assert {graph.groups[c] for c in category[works]} == set(FIELDS)
    countries, places = (graph.candidates_of(relation_named(graph, r)) for r in (CITIZENSHIP, BORN))
    of = {graph.entities[c]: continent[c] for c in countries}
    for place in places:
        assert of[graph.groups[category[place]]] == continent[place]
    assert (category[graph.subjects] == NONE).all()
    assert {*graph.valence[works].tolist()} <= {-1, 0, 1}
    assert graph.valence[works].sum() == 0
    assert (graph.valence[graph.candidates_of(relation_named(graph, GENDER))] == 0).all()


def test_people_come_back_from_disk(tmp_path):
    graph = people()
    save_graph(graph, tmp_path)
    again = load_graph(tmp_path)
    for name in ("object", "silent", "frequency", "group", "wider", "valence", "rows"):
        np.testing.assert_array_equal(getattr(again, name), getattr(graph, name))
    assert again.groups == graph.groups


def test_people_are_drawn_from_the_rows_that_the_world_keeps():
    graph = people(count=6000, shift=0.7)
    for name, rows in zip(graph.relations, rows_of(graph, CONFIG), strict=True):
        relation = relation_named(graph, name)
        mine = objects(graph, name)
        share = (mine[:, None] == graph.candidates_of(relation)).mean(axis=0)
        np.testing.assert_allclose(share, rows.shares, atol=0.04)
        if rows.table is not None:
            above = objects(graph, RELATIONS[graph.upstream[relation]])
            first = graph.candidates_of(int(graph.upstream[relation]))[0]
            share = (mine[above == first][:, None] == graph.candidates_of(relation)).mean(axis=0)
            np.testing.assert_allclose(share, rows.table[0], atol=0.06)


@pytest.mark.parametrize(
    ("dials", "message"),
    [
        ({"sizes": (3, 3)}, "sizes sum to 6, but there are 24 subjects"),
        ({"sizes": (24, 0)}, "a group without people is none"),
        ({"groups": 25}, "24 people cannot be in 25 groups"),
        ({"said": 1.5}, "said is a share"),
        ({"shift": -0.1}, "shift is a share"),
        ({"native": 1.0}, "native must be below 1"),
        ({"groups": 1}, "groups must be at least 2"),
    ],
)
def test_impossible_dials_are_refused(dials, message):
    with pytest.raises(ValueError, match=message):
        people(**dials)
