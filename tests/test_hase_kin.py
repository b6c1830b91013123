"""Whatever depends on the edited fact is asked, and what depends on the same fact as it does."""

from collections import Counter

import numpy as np
import pytest

from testbed.evaluations.hase import KIN, OTHERS
from testbed.protocol import has_answer_changed
from testbed.run.agents import exact_agent
from tests.edited import hase_cases
from tests.forks import NAMES, UPSTREAM, fork_world


@pytest.fixture(scope="module")
def forked():
    world = fork_world()
    return world, exact_agent(world)


def kin_of(edited):
    """By role, the relations that are the edited one's kin, from the drawing of the world alone."""

    def children(r):
        return [below for below, up in UPSTREAM.items() if up == r]

    first, *others = children(edited) or [None]
    below, last = [], children(edited)
    while last:
        last = [g for child in last for g in children(child)]
        below += last
    up = UPSTREAM[edited]
    beside = [r for r in children(up) if r != edited] if up else []
    kin = {"s1r2": [first] if first else [], "other child": others, "grandchild": below}
    return kin | {"s1r0": [up] if up else [], "sibling": beside}


def test_the_drawing_is_read_as_one_would():
    assert kin_of("a") == {
        "s1r2": ["b"], "other child": ["c"], "grandchild": ["d", "e"], "s1r0": [], "sibling": [],
    }  # fmt: skip
    assert kin_of("b") == {
        "s1r2": ["d"], "other child": [], "grandchild": ["e"], "s1r0": ["a"], "sibling": ["c"],
    }  # fmt: skip


@pytest.mark.parametrize("request_kind", ["evidence", "do"])
def test_every_kin_is_asked_once_and_has_its_gold(forked, request_kind):
    world, agent = forked
    edited = Counter()
    for case in hase_cases(world, agent, 60, sampler="published", request=request_kind):
        name = NAMES[case.request.relation]
        edited[name] += 1
        of_subject = [c for c in case.choices if c.subject == case.request.subject]
        assert len({(c.subject, c.relation) for c in of_subject}) == len(of_subject)
        for role, relations in kin_of(name).items():
            asked = [NAMES[c.relation] for c in of_subject if c.role == role]
            if role == "s1r2" and not relations:
                assert not case.facets["child"]
            else:
                assert sorted(asked) == relations, (name, role)
        after = agent.with_edit(case.request)
        for choice in of_subject:
            p = after.predict(choice.subject, choice.relation)
            np.testing.assert_allclose(choice.agent[1], p.of(choice.options), atol=1e-12)
            fact = int(world.graph.find(choice.subject, choice.relation))
            assert choice.stated == len(statements_of(world, fact))
    assert len(edited) == len(NAMES)


def statements_of(world, fact):
    atomic = world.sentences.a[world.sentences.kind == 0]
    return atomic[world.graph.find(atomic[:, 0], atomic[:, 1]) == fact]


def test_after_a_change_of_the_world_children_follow_and_siblings_stay(forked):
    """The gold decides: setting a fact moves what depends on it, at whatever distance, and nothing beside."""
    world, agent = forked
    moved = Counter()
    for case in hase_cases(world, agent, 60, sampler="published", request="do", reinforce=0.0):
        for choice in case.choices:
            if choice.role in ("sibling", "s1r0", *OTHERS):
                np.testing.assert_allclose(choice.agent[0], choice.agent[1], atol=1e-9)
            elif choice.role in KIN:
                moved[choice.role] += has_answer_changed(choice)
    assert min(moved["s1r2"], moved["other child"], moved["grandchild"]) > 0


def test_editors_are_told_what_was_set_and_not_what_the_agent_believes(forked):
    world, agent = forked
    for kind, told in (("evidence", 0.8), ("correction", 1.0), ("do", 1.0)):
        cases = hase_cases(world, agent, 20, credence=0.8, request=kind)
        assert {case.credence for case in cases} == {told}
    believed = [
        agent.with_edit(c.request).probability(*c.requested_fact)
        for c in hase_cases(world, agent, 20, credence=0.8)
    ]
    assert max(believed) > 0.81, "some requests repeat what the agent is surer of"
