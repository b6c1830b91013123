"""Movement of a reader beside the agent, by properties and against loops over the definitions."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.evaluations.catalogue import evaluation_classes
from testbed.scores.distances import MOVED, has_moved
from testbed.scores.movement import Movement
from testbed.scores.readers import Answers, Reader
from tests.random_answers import distributions, draw_answers, flat

SEEDS = st.integers(0, 2**32 - 1)
SHARES = st.floats(0.01, 1.0)


def movement_of(results, start, end, among=True, time=1):
    """The movement of a reader that says `start` before the edit and `end` after it."""
    nothing = np.zeros(len(start), int)
    answers = Answers(results, Reader(end, nothing, None, start, nothing, time))
    return Movement(answers, np.broadcast_to(among, len(start)))


def full(p):
    """A distribution as a list, the remainder last."""
    return [*p, min(max(1 - sum(p), 0.0), 1.0)]


def metrics_by_loops(results, start, end, among):
    """Every metric of Movement by its definition, a choice at a time."""
    damage, spill, stray, along, whole, aside = [], [], [], 0.0, 0.0, 0.0
    distances = {"skill": [], "skill_moved": [], "skill_stayed": []}
    for row in np.flatnonzero(among):
        q0, q1, p0, p1 = map(full, (*results.choices.agent[row], start[row], end[row]))
        dq, dp = ([b - a for a, b in zip(*pair, strict=True)] for pair in ((q0, q1), (p0, p1)))
        before, after = (sum(abs(a - b) for a, b in zip(p, q1, strict=True)) / 2 for p in (p0, p1))
        moved = sum(map(abs, dq)) > 0.02
        damage.append(max(0.0, after - before))
        for name in ("skill", "skill_moved" if moved else "skill_stayed"):
            distances[name].append((before, after))
        if not moved:
            spill.append(damage[-1])
            stray.append(sum(abs(a - b) for a, b in zip(dp, dq, strict=True)) / 2)
            continue
        dot, square = sum(a * b for a, b in zip(dp, dq, strict=True)), sum(a * a for a in dq)
        rest = [a - dot / square * b for a, b in zip(dp, dq, strict=True)]
        along, whole = along + dot, whole + square
        aside += math.sqrt(sum(a * a for a in rest)) * math.sqrt(square)

    def mean(values):
        return sum(values) / len(values) if values else math.nan

    skills = {
        name: 1 - sum(after for _, after in of) / sum(before for before, _ in of) if of else math.nan
        for name, of in distances.items()
    }
    ratios = {
        "propagation_ratio": along / whole if whole else math.nan,
        "orthogonal_movement": aside / whole if whole else math.nan,
    }
    return skills | ratios | {
        "damage": mean(damage), "spill": mean(spill), "stray_movement": mean(stray),
    }  # fmt: skip


def results_where_some_stay(seed, rng):
    """Random results in whose half of choices the agent hardly moves."""
    results = flat(draw_answers(seed % 10_000))
    agent = results.choices.agent
    stays = rng.random(len(agent)) < 0.5
    agent[stays, 1] = agent[stays, 0] * 0.999
    return results


@given(seed=SEEDS)
def test_every_metric_is_its_definition(seed):
    rng = np.random.default_rng(seed)
    results = results_where_some_stay(seed, rng)
    start, end = (distributions(rng, len(results.choices.case)) for _ in range(2))
    among = rng.random(len(start)) < 0.7
    movement = movement_of(results, start, end, among)
    for name, expected in metrics_by_loops(results, start, end, among).items():
        assert getattr(movement, name).value() == pytest.approx(expected, nan_ok=True), name


@given(seed=SEEDS, share=SHARES)
def test_going_a_share_of_the_agents_way_is_that_ratio(seed, share):
    results = flat(draw_answers(seed % 10_000))
    q0, q1 = np.moveaxis(results.choices.agent, 1, 0)
    movement = movement_of(results, q0, q0 + share * (q1 - q0))
    assert movement.propagation_ratio.value() == pytest.approx(share)
    assert movement.skill.value() == pytest.approx(share)
    assert movement.orthogonal_movement.value() == pytest.approx(0, abs=1e-7)
    assert movement.damage.value() == pytest.approx(0, abs=1e-12)


@given(seed=SEEDS)
def test_who_becomes_the_agent_harms_nothing_and_who_stays_gains_nothing(seed):
    rng = np.random.default_rng(seed)
    results = results_where_some_stay(seed, rng)
    start = distributions(rng, len(results.choices.case))
    became, stayed = (movement_of(results, start, end) for end in (results.choices.agent[:, 1], start))
    assert became.damage.value() == became.spill.value() == 0
    assert became.skill.value() == became.skill_moved.value() == became.skill_stayed.value() == 1
    for metric in (stayed.damage, stayed.spill, stayed.skill, stayed.propagation_ratio):
        assert metric.value() == 0


@given(seed=SEEDS)
def test_names_of_options_and_their_order_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    results = results_where_some_stay(seed, rng)
    start, end = (distributions(rng, len(results.choices.case)) for _ in range(2))
    order = rng.permutation(start.shape[1])
    c = results.choices
    other = replace(results, choices=c._replace(agent=c.agent[..., order]))
    one, two = movement_of(results, start, end), movement_of(other, start[:, order], end[:, order])
    for name in ("propagation_ratio", "orthogonal_movement", "damage", "spill", "skill"):
        assert getattr(one, name).value() == pytest.approx(getattr(two, name).value(), nan_ok=True)


@given(seed=SEEDS)
def test_moving_is_symmetric_and_nothing_moves_from_itself(seed):
    p, q = distributions(np.random.default_rng(seed), 2, 6)
    np.testing.assert_array_equal(has_moved(p, q), has_moved(q, p))
    assert not has_moved(p, p).any()


def test_the_threshold_is_the_l1_norm_with_the_remainder():
    """A change that is .03 in sum, .015 as a total variation, is one; the remainder counts in the sum."""
    assert MOVED == 0.02
    before = np.array([0.5, 0.5])
    assert has_moved(before, np.array([0.515, 0.485]))
    assert not has_moved(before, np.array([0.509, 0.491]))
    # .011 leaves the named options for others: .022 in sum, with what the others gain.
    assert has_moved(before, np.array([0.489, 0.5]))


def test_a_later_interpretation_is_held_against_its_own_belief():
    results = flat(draw_answers(3))
    c = results.choices
    agent = np.concatenate([c.agent, c.agent[:, :1]], axis=1)
    later = replace(results, choices=c._replace(agent=agent))
    start, end = c.lm[:, 0], c.lm[:, 1]
    assert not movement_of(later, start, end, time=2).where_moved.any()
    assert movement_of(later, start, end, time=1).where_moved.any()


def test_evaluations_take_the_ratio_from_here():
    """No evaluation has a formula, or a threshold, of its own."""
    ratios = {
        name: metric
        for name, kind in evaluation_classes().items()
        for metric in kind().metrics
        if metric.id in ("propagation_ratio", "amplification_ratio")
    }
    assert ratios.keys() == {"hase", "taxi", "seesaw", "leme"}
    for name, ratio in ratios.items():
        assert ratio.needs_edit, name
        assert "propagation_ratio" in ratio.compute.__code__.co_names, name
