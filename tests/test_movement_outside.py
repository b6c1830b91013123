"""What a request moves outside its subject, against a loop over facts."""

import numpy as np
import pytest

from bayes.request import EditRequest
from experiments.studies.edit_sequences import CREDENCE, draw_stream
from experiments.studies.movement import measure_movement
from testbed.run.agents import paper_agent


def test_movement_is_summed_over_the_subjects_own_facts_and_over_others(world):
    agent, stream = paper_agent(world), draw_stream(world, 3, 0)
    found = measure_movement(agent, world, stream)
    graph = world.graph
    for i, (fact, obj) in enumerate(zip(stream.facts.tolist(), stream.objects.tolist(), strict=True)):
        s, r = int(graph.subject[fact]), int(graph.relation[fact])
        edited = agent.with_edit(EditRequest(s, r, obj, agent.weight_for(s, r, obj, CREDENCE)))
        own = others = largest = 0.0
        for other in range(len(graph)):
            at = int(graph.subject[other]), int(graph.relation[other])
            before, after = (a.predict(*at).dense_probabilities() for a in (agent, edited))
            variation = float(np.abs(after - before).sum() / 2)
            if at[0] != s:
                others, largest = others + variation, max(largest, variation)
            elif other != fact:
                own += variation
        assert (found.own[i], found.others[i], found.largest[i]) == pytest.approx((own, others, largest))
