"""What one relation tells about another, counted subject by subject; and that chance tells nothing."""

from collections import Counter
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes import structure
from corpus.worlds.evidence import MASSES, SURE, compare_directions, count_followers, log_gain, weigh_evidence

tables = st.integers(0, 10**6).map(np.random.default_rng)


def draw_table(rng, subjects, causes, effects, dependence, skew=0.0):
    """Causes, and effects of which so many are their cause's favourite."""
    common = np.arange(1.0, causes + 1) ** -skew
    cause = rng.choice(causes, subjects, p=common / common.sum())
    favourite = rng.permutation(max(causes, effects))[:causes] % effects
    other = rng.integers(effects, size=subjects)
    return cause, np.where(rng.random(subjects) < dependence, favourite[cause], other)


def slow_gain(causes, effects, order):
    """Subject by subject, by counting those before."""
    left, gains = Counter(effects.tolist()), []
    for mass in MASSES:
        left, gain, seen, together = Counter(effects.tolist()), 0.0, Counter(), Counter()
        for i in order:
            c, e = int(causes[i]), int(effects[i])
            share = left[e] / left.total()
            gain += log((together[c, e] + mass * share) / (seen[c] + mass) / share)
            left[e] -= 1
            seen[c] += 1
            together[c, e] += 1
        gains.append(gain)
    return log(np.mean([exp(gain) for gain in gains]))


@given(tables, st.integers(1, 25), st.integers(1, 5), st.integers(1, 5))
def test_the_gain_is_that_of_a_slow_reader(rng, subjects, causes, effects):
    cause, effect = draw_table(rng, subjects, causes, effects, 0.5)
    order = np.random.default_rng(7).permutation(subjects)
    assert log_gain(cause, effect, np.random.default_rng(7)) == pytest.approx(slow_gain(cause, effect, order))


@given(tables, st.integers(1, 30), st.integers(1, 5), st.integers(1, 5))
def test_followers_are_foretold_by_the_others(rng, subjects, causes, effects):
    cause, effect = draw_table(rng, subjects, causes, effects, 0.5)
    followed, sizes = count_followers(cause, effect)
    expected, count = Counter(), Counter(cause.tolist())
    for i in range(subjects):
        others = Counter(effect[(cause == cause[i]) & (np.arange(subjects) != i)].tolist()).most_common(2)
        alone = len(others) < 2 or others[0][1] > others[1][1]
        expected[int(cause[i])] += bool(others) and alone and others[0][0] == effect[i]
    assert followed.tolist() == [expected[c] for c in sorted(count)]
    assert sizes.tolist() == [count[c] for c in sorted(count)]


def test_the_mean_factor_of_a_dealt_table_is_at_most_one():
    """Over all ways to deal four effects: the guarantee on which every threshold stands."""
    from itertools import permutations

    causes = np.array([0, 0, 1, 1])
    for effects in ([0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 2, 2], [0, 1, 2, 3]):
        factors = [
            exp(log_gain(causes, np.array(dealt), np.random.default_rng(0)))
            for dealt in permutations(effects)
        ]
        assert np.mean(factors) <= 1 + 1e-12


def test_a_key_tells_nothing_and_is_told_by_nothing():
    key, town = np.arange(400), np.arange(400) % 7
    assert log_gain(key, town, np.random.default_rng(0)) == pytest.approx(0)
    assert log_gain(town, key, np.random.default_rng(0)) < 0
    assert weigh_evidence(key, town).shared == 0
    assert np.isnan(weigh_evidence(key, town).followed)


@pytest.mark.parametrize("values", [2, 40, 300, 2000])
def test_chance_tells_nothing_however_many_values(values):
    """False alarms are as rare as stated, and the posterior's score does not grow with the values."""
    rng, alarms = np.random.default_rng(values), 0
    for _ in range(40):
        cause, effect = draw_table(rng, 600, values, values, 0.0)
        alarms += log_gain(cause, effect, rng) > log(20)
        assert structure.log_gain(cause, effect, values) / 600 < 0.01
    # Of 40 tables at most one of twenty, by chance three more.
    assert alarms <= 5


def test_two_keys_are_no_dependence_to_the_posterior_either():
    """By rows of mass 2 and a table of mass 8 it was 3.49 nats a subject."""
    assert structure.log_gain(np.arange(600), np.arange(600), 600) / 600 < 0.01


@pytest.mark.parametrize(
    ("subjects", "causes", "effects", "dependence", "skew"),
    [(300, 24, 12, 0.8, 1.0), (300, 24, 12, 0.6, 1.0), (96, 12, 12, 0.95, 1.0), (1000, 10, 200, 0.9, 0.0)],
)
def test_dependences_of_usual_strength_are_found_and_never_turned_round(
    subjects, causes, effects, dependence, skew
):
    rng = np.random.default_rng(0)
    for _ in range(20):
        cause, effect = draw_table(rng, subjects, causes, effects, dependence, skew)
        one = weigh_evidence(cause, effect)
        assert one.gain * subjects > log(56 / 0.05), "eight relations have 56 ordered pairs"
        assert one.gain > one.chance
        assert one.followed > 0.8 * dependence
        assert one.direction > -SURE
        assert compare_directions(effect, cause) == pytest.approx(-one.direction)


def test_what_decides_is_the_cause():
    rng = np.random.default_rng(0)
    town = rng.integers(15, size=300)
    assert weigh_evidence(town, town % 5).direction > SURE
    assert weigh_evidence(town % 5, town).direction < -SURE
    # Each decides the other: nobody can say.
    assert weigh_evidence(town, town + 1).direction == 0


def test_nobody_and_one_subject_tell_nothing():
    for few in (np.empty(0, int), np.zeros(1, int)):
        one = weigh_evidence(few, few)
        assert (one.subjects, one.shared, one.gain, one.direction) == (len(few), 0, 0, 0)
