"""Facts that are shuffled against their structure."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpus.config import WorldConfig
from corpus.world import build_world
from experiments.analyses.shuffled_facts import shuffle_dependent_facts


@given(st.integers(0, 10**6))
def test_shuffling_keeps_who_has_what_kind_of_fact_and_how_common_objects_are(seed):
    graph = build_world(replace(WorldConfig(), subjects=30), seed)
    shuffled = shuffle_dependent_facts(graph, np.random.default_rng(seed))
    assert (shuffled.subject == graph.subject).all()
    assert (shuffled.relation == graph.relation).all()
    for relation, upstream in enumerate(graph.upstream):
        own = graph.relation == relation
        if upstream < 0:
            assert (shuffled.object[own] == graph.object[own]).all()
        assert sorted(shuffled.object[own]) == sorted(graph.object[own])
    assert (shuffled.object != graph.object).any()
