"""Spot checks: nothing else depends on them, nobody is told of them, and only what they find is damage."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.errors import InputError
from testbed.engine.methods import Method
from testbed.engine.trace import stale_parts
from testbed.engine.tuning import method_named
from testbed.engine.versions import versions_of_cases
from testbed.evaluations.catalogue import rebuild_evaluation
from testbed.evaluations.hase import OF_OTHERS, OF_SUBJECT, SPOT_CHECKS, Hase
from testbed.evaluations.hase.metrics import name_at
from testbed.evaluations.hase.spot_checks import SpotCheckSampler
from testbed.protocol import hide_spot_checks
from testbed.run.agents import paper_agent
from testbed.scores.metric import metrics_shown_in
from testbed.settings import EditSettings
from tests.edited import HASE, hase_cases
from tests.forks import fork_world
from tests.random_answers import ROLES, draw_answers, scores

seeds = st.integers(0, 2**32 - 1)
SHOWN = [role for role in ROLES if role not in SPOT_CHECKS]


@pytest.fixture(scope="module")
def fork():
    world = fork_world()
    return world, paper_agent(world)


@pytest.fixture(scope="module")
def cases(fork):
    return hase_cases(*fork, 60, spot_checks=3)


def spot_checks_of(case):
    return [c for c in case.choices if c.is_spot_check]


def facts_shown(case):
    """The facts that a case asks or speaks of, but for spot checks."""
    said = {a[:2] for claim in case.claims for a in (claim.sentence.a, claim.sentence.b) if a}
    return said | {(c.subject, c.relation) for c in hide_spot_checks(case).choices}


def test_they_are_random_facts_that_nothing_else_asks(cases, fork):
    graph, seen = fork[0].graph, Counter()
    for case in cases:
        spot_checks = spot_checks_of(case)
        assert [c.role in SPOT_CHECKS for c in case.choices] == [c.is_spot_check for c in case.choices]
        pairs = [(c.subject, c.relation) for c in spot_checks]
        assert len(set(pairs)) == len(pairs)
        assert not facts_shown(case) & set(pairs)
        s, r1, _ = case.requested_fact
        for c in spot_checks:
            seen[c.role] += 1
            assert graph.find(c.subject, c.relation) >= 0
            assert (c.subject == s) == (c.role == OF_SUBJECT)
            assert c.role != "spot.r1" or c.relation == r1
            assert c.role != "spot.effect" or r1 in ancestors_of(graph, c.relation)
        for role in OF_OTHERS:
            assert Counter(c.role for c in spot_checks)[role] in (0, 3)
    assert seen["spot.r1"] == seen["spot.any"] == 3 * len(cases)
    assert min(seen[role] for role in SPOT_CHECKS) > 10


def ancestors_of(graph, relation):
    ancestors = []
    while (relation := int(graph.upstream[relation])) >= 0:
        ancestors.append(relation)
    return ancestors


@settings(max_examples=10)
@given(st.integers(1, 5), st.integers(0, 100), st.sampled_from(["stratified", "published"]))
def test_no_request_and_no_other_question_depends_on_them(count, seed, sampler):
    world = fork_world()
    agent = paper_agent(world)
    few, many = (
        hase_cases(world, agent, 12, seed, sampler=sampler, spot_checks=k) for k in (count, count + 1)
    )
    for one, other in zip(few, many, strict=True):
        assert (one.request, one.facets, one.truth) == (other.request, other.facets, other.truth)
        assert [c[:3] for c in hide_spot_checks(one).choices] == [
            c[:3] for c in hide_spot_checks(other).choices
        ]
        for a, b in zip(one.claims, other.claims, strict=True):
            assert a.sentence == b.sentence
            np.testing.assert_array_equal(a.agent, b.agent)


def test_other_seeds_draw_others(fork):
    sampler = [SpotCheckSampler(fork[0].graph, 2, seed) for seed in (0, 0, 1)]
    first, again, other = (s.draw_questions(3, 0, [(3, 1)]) for s in sampler)
    assert first == again != other


def test_every_fact_that_is_left_is_as_likely(fork):
    """Of 29 other subjects' facts of a relation, 27 are left; each is drawn about equally often."""
    sampler, drawn = SpotCheckSampler(fork[0].graph, 2, 0), Counter()
    for _ in range(1000):
        questions = sampler.draw_questions(0, 0, [(1, 0), (2, 0)])
        drawn.update(s for role, s, _ in questions if role == "spot.r1")
    assert set(drawn) == set(range(3, 30))
    # 2000 draws in 27 cells: 74 each, with a deviation of 8.3.
    assert max(abs(n - 2000 / 27) for n in drawn.values()) < 4.5 * 8.3


def test_where_no_fact_is_left_none_is_drawn(fork):
    graph = fork[0].graph
    every = [(int(s), int(r)) for s, r in zip(graph.subject, graph.relation, strict=True)]
    assert SpotCheckSampler(graph, 2, 0).draw_questions(0, 0, every) == []


def test_no_editor_and_no_control_is_told_of_them(cases):
    """Even one that would say whatever it sees."""
    method = Method(None, lambda case: [(c.subject, c.relation) for c in case.choices])
    for case in cases:
        told = set(method.tell_facts(case))
        assert told
        assert not told & {(c.subject, c.relation) for c in spot_checks_of(case)}


@pytest.mark.parametrize("name", ["oracle", "lora-down", "random-target", "self-bayes", "count-based"])
def test_what_an_editor_is_told_does_not_depend_on_them(name, fork):
    world, _ = fork
    method = method_named(name, EditSettings(), world)
    few, many = (hase_cases(*fork, 15, spot_checks=k) for k in (1, 4))
    for one, other in zip(few, many, strict=True):
        told = method.tell_facts(one)
        assert told == method.tell_facts(other)
        hidden = {(c.subject, c.relation) for c in (*spot_checks_of(one), *spot_checks_of(other))}
        assert not hidden & {belief.fact[:2] for belief in told}


@given(seeds)
def test_only_what_they_find_is_damage(seed):
    """Who fits all questions it can know of changes no number that is measured on spot checks."""
    o = draw_answers(seed)
    fitted = o._replace(lm=o.lm.copy(), lm_answer=o.lm_answer.copy())
    shown = [ROLES.index(role) for role in SHOWN]
    fitted.lm[:, shown, 1] = o.agent[:, shown, 1]
    fitted.lm_answer[:, shown, 1] = o.agent_answer[:, shown, 1]
    measured, trained = scores(o), scores(fitted)
    for name in ("damage", "spill", "kept", "tv.others", "falsely_changed.others",
                 "skill.spot_checks",
                 *(name_at("damage", role) for role in SPOT_CHECKS)):  # fmt: skip
        np.testing.assert_array_equal(measured[name][:2], trained[name][:2], err_msg=name)
    for name in ("damage.neighbours", "damage.own_questions"):
        assert trained[name].numerator.sum() == 0
    assert trained["skill"].value() == 1


@given(seeds)
def test_parts_of_damage_add_up(seed):
    metrics = scores(draw_answers(seed))
    for column in range(2):
        whole = metrics["damage"][column]
        np.testing.assert_allclose(
            whole, sum(metrics[name_at("damage", role)][column] for role in SPOT_CHECKS)
        )


def test_results_without_them_are_stale_or_refused():
    """Cases of another version are left out of reports by name, and settings without spot checks are none."""
    versions, settings = versions_of_cases(Hase.version, "paper"), {"agent": {"name": "paper"}}
    config = {"versions": versions, "settings": settings, "editor": "none", "method": {"version": 1}}
    assert stale_parts(config, Hase.version) == []
    assert stale_parts(config, Hase.version + 1) == ["the cases"]
    with pytest.raises(InputError, match="spot_checks must be at least 1"):
        rebuild_evaluation("hase", {"spot_checks": 0})
    with pytest.raises(ValueError, match="at least 1"):
        Hase(spot_checks=0)


def test_tables_report_them_and_not_what_an_editor_may_hold_still():
    shown = metrics_shown_in(HASE.metrics, "compared")
    assert {"damage", "kept"} <= set(shown)
    assert not {"damage.neighbours", "right.neighbours"} & set(shown)
