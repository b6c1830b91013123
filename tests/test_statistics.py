"""Statistics: what must hold of any interval, naive twins, and how often intervals and tests are wrong.

Simulated rates are held to the range that a right procedure leaves once in a million runs. Coverage is
simulated at length by `python -m experiments.coverage`.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from experiments.analyses import coverage
from experiments.measures import coverage_scenes
from testbed.scores import statistics
from testbed.scores.metric import Metric
from testbed.scores.statistics import (
    LEAST,
    WORLD,
    adjust_holm,
    compare_metrics,
    detectable_difference,
    estimate_metric,
    estimate_metrics,
)

FALSE_ALARM = 1e-6
seeds = st.integers(0, 10_000)


def rng(seed=0):
    return np.random.default_rng(seed)


def every(metric):
    return np.ones(len(metric.numerator), bool)


def mean(values):
    values = np.asarray(values, float)
    return Metric(values, np.ones(len(values)))


def share(seen):
    return mean(seen)._replace(share=True)


def by_subject(subjects):
    return {"subject": np.asarray(subjects)}


def alone(cases):
    return by_subject(np.arange(cases))


def some_metric(seed, cases=40):
    """A skewed ratio of sums, without the metric in some cases; subjects and objects share cases."""
    draw = rng(seed)
    bottom = draw.exponential(size=cases) * (draw.random(cases) < 0.8)
    levels = {"subject": draw.integers(0, 15, cases), "object": draw.integers(0, 9, cases)}
    return Metric(bottom * draw.exponential(size=cases), bottom), levels


def taken(levels, which):
    return {level: of[which] for level, of in levels.items()}


def possible(wrong, trials, least, most):
    """Whether so many errors are possible at a rate between the two."""
    return (
        stats.binom.ppf(FALSE_ALARM / 2, trials, least)
        <= wrong
        <= stats.binom.ppf(1 - FALSE_ALARM / 2, trials, most)
    )


@given(seeds, st.floats(0.01, 100), st.floats(-10, 10))
def test_an_interval_moves_with_its_metric(seed, scale, shift):
    metric, levels = some_metric(seed)
    moved = Metric(scale * metric.numerator + shift * metric.denominator, metric.denominator)
    plain, other = (estimate_metric(m, levels, every(m)) for m in (metric, moved))
    assert plain.low <= plain.value <= plain.high
    assert other[:3] == pytest.approx([scale * x + shift for x in plain[:3]], rel=1e-6, abs=1e-6)


@given(seeds)
def test_an_interval_is_mirrored_with_its_metric(seed):
    metric, levels = some_metric(seed)
    plain, other = (
        estimate_metric(m, levels, every(m)) for m in (metric, metric._replace(numerator=-metric.numerator))
    )
    assert other[:3] == pytest.approx((-plain.value, -plain.high, -plain.low))


@given(seeds)
def test_only_sums_of_cases_that_share_everything_matter(seed):
    metric, levels = some_metric(seed)
    order = rng(seed).permutation(len(metric.numerator))
    twice = Metric(*(np.repeat(x[order], 2) / 2 for x in metric[:2]))
    plain = estimate_metric(metric, levels, every(metric))
    halves = estimate_metric(twice, taken(levels, np.repeat(order, 2)), every(twice))
    assert halves[:3] == pytest.approx(plain[:3])
    assert halves.cases == 2 * plain.cases


@given(seeds)
def test_names_of_clusters_and_order_of_levels_do_not_matter(seed):
    metric, levels = some_metric(seed)
    renamed = {level: 1000 - 7 * levels[level] for level in reversed(levels)}
    plain, other = (estimate_metric(metric, some, every(metric)) for some in (levels, renamed))
    assert other[:3] == pytest.approx(plain[:3])


@given(seeds)
def test_other_cases_do_not_matter(seed):
    metric, levels = some_metric(seed)
    used = rng(seed).random(len(metric.numerator)) < 0.7
    used[metric.denominator.argmax()] = True
    spoiled = Metric(np.where(used, metric.numerator, np.nan), np.where(used, metric.denominator, np.nan))
    some = Metric(*(x[used] for x in metric[:2]))
    assert estimate_metric(spoiled, levels, used) == estimate_metric(some, taken(levels, used), every(some))


@given(seeds)
def test_many_metrics_at_once_are_the_same_numbers(seed):
    metric, levels = some_metric(seed)
    other = mean(rng(seed + 1).normal(size=len(metric.numerator)))
    seldom = metric._replace(denominator=np.where(levels["object"] < 3, metric.denominator, 0))
    asked = {"a": metric, "b": other, "few": seldom, "share": share(other.numerator > 0)}
    together = estimate_metrics(asked, levels, every(metric))
    for name, one in asked.items():
        apart = estimate_metric(one, levels, every(one))
        assert together[name][:5] == pytest.approx(apart[:5], nan_ok=True)
        assert together[name].few == apart.few


@given(seeds)
def test_the_error_is_that_of_the_formula(seed):
    """Leave out every cluster in turn, add what subjects and objects give, subtract what pairs give."""
    metric, levels = some_metric(seed)
    has = metric.denominator > 0
    top, bottom = metric.numerator[has], metric.denominator[has]
    kinds = [*taken(levels, has).values()]

    def variance(of):
        names = sorted(set(of))
        gone = [
            sum(t for t, o in zip(top, of, strict=True) if o != name)
            / sum(b for b, o in zip(bottom, of, strict=True) if o != name)
            for name in names
        ]
        return (len(names) - 1) / len(names) * sum((x - top.sum() / bottom.sum()) ** 2 for x in gone)

    single = [variance(list(of)) for of in kinds]
    both = variance(list(zip(*kinds, strict=True)))
    error = np.sqrt(max(sum(single) - both, min(single)))
    parts = [[bottom[of == name].sum() / bottom.sum() for name in set(of)] for of in kinds]
    freedom = min(1 / sum(p * p for p in part) - 1 for part in parts)
    estimated = estimate_metric(metric, levels, every(metric))
    quantile = stats.t.ppf(0.975, freedom)
    narrow = min(estimated.value - estimated.low, estimated.high - estimated.value)
    assert narrow == pytest.approx(quantile * error)


@given(seeds)
def test_a_level_inside_another_changes_nothing(seed):
    """Each subject has one object: the objects decide, as every subject of theirs comes with them."""
    metric, levels = some_metric(seed)
    inside = {"subject": levels["subject"] + 100 * levels["object"], "object": levels["object"]}
    both = estimate_metric(metric, inside, every(metric))
    assert both == estimate_metric(metric, {"object": levels["object"]}, every(metric))


def test_a_mean_of_independent_cases_has_students_interval_and_johnsons_shift():
    values = rng(1).normal(size=30)
    estimated = estimate_metric(mean(values), alone(30), np.ones(30, bool))
    known = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    error = stats.sem(values)
    skewness = stats.skew(values, bias=False) / np.sqrt(30)
    shift = error * skewness * (1 + 2 * stats.t.ppf(0.975, 29) ** 2) / 6
    ends = known.low + min(shift, 0), known.high + max(shift, 0)
    assert (estimated.low, estimated.high) == pytest.approx(ends)


def test_a_share_of_independent_cases_has_about_wilsons_interval():
    """The jackknife's error of a share is that of n - 1 cases, and quantiles are Student's."""
    estimated = estimate_metric(share(np.arange(100) < 30), alone(100), np.ones(100, bool))
    known = stats.binomtest(30, 100).proportion_ci(method="wilson")
    assert (estimated.low, estimated.high) == pytest.approx((known.low, known.high), abs=0.003)


@given(seeds, st.floats(0.02, 0.98))
def test_the_interval_of_a_share_is_one(seed, rate):
    _, levels = some_metric(seed)
    estimated = estimate_metric(share(rng(seed).random(40) < rate), levels, np.ones(40, bool))
    assert 0 <= estimated.low <= estimated.value <= estimated.high <= 1


@pytest.mark.parametrize("clusters", [5, 7, 240])
@pytest.mark.parametrize("value", [0, 1])
def test_a_share_of_all_or_nothing_is_not_certain(value, clusters):
    metric = share(np.full(clusters, value))
    estimated = estimate_metric(metric, alone(clusters), every(metric))
    exact = stats.binomtest(value * clusters, clusters).proportion_ci(method="exact")
    assert estimated[:5] == pytest.approx((value, exact.low, exact.high, clusters, clusters))


def test_repeating_a_cluster_adds_no_certainty():
    few = estimate_metric(share(np.zeros(20)), alone(20), np.ones(20, bool))
    many = estimate_metric(share(np.zeros(200)), by_subject(np.repeat(np.arange(20), 10)), np.ones(200, bool))
    assert many[:3] == few[:3]


def test_all_or_nothing_counts_the_clusters_of_the_coarsest_level():
    levels = {"subject": np.arange(60), "object": np.arange(60) // 10}
    estimated = estimate_metric(share(np.zeros(60)), levels, np.ones(60, bool))
    assert estimated.high == pytest.approx(stats.binomtest(0, 6).proportion_ci(method="exact").high)


@pytest.mark.parametrize("value", [-3, 0, 1])
def test_any_other_constant_is_one(value):
    estimated = estimate_metric(mean(np.full(9, value)), alone(9), np.ones(9, bool))
    assert estimated == (value, value, value, 9, 9, ())


def test_few_sequences_have_a_range_and_no_interval():
    levels = {"sequence": np.repeat([7, 9], 25), "object": np.arange(50) % 20}
    values = np.repeat([0.0, 1.0], 25)
    estimated = estimate_metric(share(values), levels, np.ones(50, bool))
    assert estimated.value == 0.5
    assert np.isnan([estimated.low, estimated.high]).all()
    assert estimated.few == (("sequence", 2, 0.0, 1.0),)


def test_few_objects_of_a_metric_among_many_have_no_interval():
    metric = Metric(np.arange(40.0), (np.arange(40) % 10 < LEAST - 1).astype(float))
    estimated = estimate_metric(
        metric, {"subject": np.arange(40), "object": np.arange(40) % 10}, np.ones(40, bool)
    )
    assert np.isnan([estimated.low, estimated.high]).all()
    assert estimated.few == (("object", 4, 15.0, 18.0),)


def test_few_worlds_leave_the_interval_of_these_worlds():
    draw = rng(3)
    world = np.repeat(range(LEAST), 30)
    levels = {"subject": np.arange(len(world)), WORLD: world}
    metric = mean(draw.normal(size=len(world)) + 3.0 * world)
    four = world < LEAST - 1
    estimated = estimate_metric(metric, levels, four)
    assert estimated[:5] == estimate_metric(metric, {"subject": levels["subject"]}, four)[:5]
    means = [metric.numerator[world == w].mean() for w in range(LEAST - 1)]
    ((level, number, low, high),) = estimated.few
    assert (level, number) == (WORLD, 4)
    assert (low, high) == pytest.approx((min(means), max(means)))
    five = estimate_metric(metric, levels, np.ones(len(world), bool))
    assert [(few.level, few.clusters) for few in five.few] == [(WORLD, 5)]
    assert five.clusters == 5
    assert five.high - five.low > 3 * (estimated.high - estimated.low)


def test_worlds_alone_are_no_interval_when_few():
    estimated = estimate_metric(mean([1.0, 2.0]), {WORLD: np.arange(2)}, np.ones(2, bool))
    assert np.isnan(estimated.low)
    assert estimated.few == ((WORLD, 2, 1.0, 2.0),)


def test_dust_of_rounding_is_no_metric():
    estimated = estimate_metric(Metric(np.full(4, 1e-17), np.full(4, 2e-17)), alone(4), np.ones(4, bool))
    assert estimated.cases == 0
    assert np.isnan(estimated[:3]).all()


def test_a_metric_that_no_case_has():
    for among in (np.ones(3, bool), np.zeros(3, bool)):
        nothing = estimate_metric(Metric(np.zeros(3), np.zeros(3)), alone(3), among)
        assert nothing.cases == 0
        assert np.isnan(nothing[:3]).all()
        assert np.isnan(compare_metrics(mean([1, 2, 3]), Metric(*np.zeros((2, 3))), alone(3), among, rng()).p)


@pytest.mark.parametrize("kind", coverage_scenes.KINDS)
@pytest.mark.parametrize("scene", ["86 cases, ~52 objects", "3 seeds", "5 worlds"])
def test_intervals_cover_the_truth_about_as_often_as_they_say(scene, kind):
    """The short version of the experiment, with its strongest dependence; its table has all of them."""
    dependence = coverage_scenes.SCENES[scene].dependence[-1]
    draw = rng(7)
    wrong, trials = 0, 0
    for _ in range(8):
        clusters = coverage_scenes.SCENES[scene].draw(draw)
        drawn = coverage_scenes.draw_values(draw, kind, clusters, dependence, 100)
        low, high = coverage.jackknife_interval(clusters, drawn, draw)
        wrong += int(((drawn.truth < low) | (drawn.truth > high)).sum())
        trials += len(low)
    assert possible(wrong, trials, 0.015, 0.07)


def test_ignoring_clusters_would_be_too_sure():
    metric = mean(np.repeat(rng(1).normal(size=30), 10))
    shared = {"subject": np.arange(300), "object": np.repeat(range(30), 10)}
    clustered, single = (estimate_metric(metric, levels, every(metric)) for levels in (shared, alone(300)))
    assert clustered.high - clustered.low > 2 * (single.high - single.low)


@given(seeds)
def test_the_order_of_a_comparison_is_its_sign(seed):
    first, levels = some_metric(seed)
    second = Metric(rng(seed + 1).random(len(first.numerator)) * first.denominator, first.denominator)
    one, other = (
        compare_metrics(*pair, levels, every(first), rng(seed)) for pair in ((first, second), (second, first))
    )
    assert one.difference == pytest.approx(first.value() - second.value())
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-9)
    assert (one.p, one.detectable, one.cases) == pytest.approx((other.p, other.detectable, other.cases))
    assert one.low <= one.high
    assert 0 < one.p <= 1


@given(seeds)
def test_a_difference_from_nothing_is_the_value(seed):
    metric, levels = some_metric(seed)
    zero = metric._replace(numerator=np.zeros_like(metric.numerator))
    comparison = compare_metrics(metric, zero, levels, every(metric), rng())
    assert comparison[:3] == pytest.approx(estimate_metric(metric, levels, every(metric))[:3])


def test_nothing_differs_from_itself():
    metric, levels = some_metric(0)
    comparison = compare_metrics(metric, metric, levels, every(metric), rng())
    assert (comparison.difference, comparison.p) == (0, 1)
    assert np.isnan(comparison.detectable)


def test_shares_that_never_differed_may_still_differ():
    same = share(rng(0).random(50) < 0.5)
    comparison = compare_metrics(same, same, alone(50), every(same), rng())
    assert comparison.high == pytest.approx(stats.binomtest(0, 50).proportion_ci(method="exact").high)
    assert comparison.low == -comparison.high
    opposite = compare_metrics(share(np.ones(50)), share(np.zeros(50)), alone(50), every(same), rng())
    assert (opposite.difference, opposite.high) == (1, 1)
    assert opposite.low == pytest.approx(1 - 2 * comparison.high)


@pytest.mark.parametrize(("discordant", "cases"), [(5, 40), (6, 40), (7, 12)])
def test_shares_are_compared_as_mcnemars_test_does(discordant, cases):
    """P of k discordant pairs, all in one direction, is 2^(1 - k); 10,000 flips estimate it."""
    first, second = np.zeros(cases), np.zeros(cases)
    first[:discordant] = 1
    comparison = compare_metrics(mean(first), mean(second), alone(cases), np.ones(cases, bool), rng())
    exact = 2.0 ** (1 - discordant)
    assert comparison.p == pytest.approx(exact, abs=5 * np.sqrt(exact / statistics.FLIPS))


def test_the_level_that_doubts_most_decides_the_p_value():
    """Subjects all agree, but they share six objects: as likely as six coins that fall the same way."""
    first, second = np.ones(60), np.zeros(60)
    levels = {"subject": np.arange(60), "object": np.arange(60) // 10}
    comparison = compare_metrics(mean(first), mean(second), levels, np.ones(60, bool), rng())
    assert comparison.p == pytest.approx(2.0**-5, abs=5 * np.sqrt(2.0**-5 / statistics.FLIPS))
    crossed = {"subject": np.arange(60) % 20, "object": np.arange(60) // 10}
    assert compare_metrics(mean(first), mean(second), crossed, np.ones(60, bool), rng()).p == comparison.p


@given(seeds)
def test_one_world_is_as_if_nothing_were_said_of_worlds(seed):
    (metric, levels), draw = some_metric(seed), rng(seed)
    other = metric._replace(numerator=metric.numerator * draw.random(len(metric.numerator)))
    one = levels | {WORLD: np.zeros(len(metric.numerator), int)}
    bare, told = (estimate_metric(metric, of, every(metric)) for of in (levels, one))
    assert told._replace(few=()) == bare
    assert [(few.level, few.clusters) for few in told.few] == [(WORLD, 1)]
    bare, told = (compare_metrics(metric, other, of, every(metric), rng(seed)) for of in (levels, one))
    np.testing.assert_equal(told._replace(few=()), bare)


@pytest.mark.parametrize("worlds", [2, 3, 4, 5, 6, 9, 10])
def test_five_worlds_give_no_verdict(worlds):
    """Exchanging n worlds that all differ one way, a p of 2^(1 - n) is the least there is: .06 of five."""
    cases = 10 * worlds
    levels = {"subject": np.arange(cases), WORLD: np.arange(cases) // 10}
    first, second = mean(9 + rng(0).normal(size=cases)), mean(rng(1).normal(size=cases))
    comparison = compare_metrics(first, second, levels, np.ones(cases, bool), rng())
    assert np.isnan(comparison.p) == np.isnan(comparison.detectable) == (2.0 ** (1 - worlds) > 0.05)
    assert worlds <= 5 or comparison.p < 0.05
    assert [few.level for few in comparison.few] == ([WORLD] if worlds < 10 else [])


@given(seeds, st.floats(0.01, 0.9), st.sampled_from([1.0, np.inf]))
def test_a_mean_that_cannot_be_below_0_has_an_interval_above_it(seed, rate, most):
    """And it reaches up at least as far as it would if negative values were possible."""
    draw = rng(seed)
    metric = mean(draw.random(40) * (draw.random(40) < rate))
    levels = some_metric(seed)[1]
    free = estimate_metric(metric, levels, every(metric))
    bound = estimate_metric(metric._replace(limits=(0.0, most)), levels, every(metric))
    assert 0 <= bound.low <= bound.value <= bound.high <= most
    assert bound.low > 0 or bound.value == 0
    assert bound.high >= min(free.high, most) - 1e-12


@given(seeds, st.floats(0.01, 100))
def test_the_interval_of_what_cannot_be_below_0_has_its_unit(seed, scale):
    metric, levels = some_metric(seed)
    metric = metric._replace(limits=(0.0, np.inf))
    scaled = metric._replace(numerator=scale * metric.numerator)
    plain, other = (estimate_metric(m, levels, every(m)) for m in (metric, scaled))
    assert other[:3] == pytest.approx([scale * x for x in plain[:3]])


def test_rare_ones_have_about_the_score_interval_of_poissons_distribution():
    """Of 25 ones among 10,000 cases: Student's quantile of 24 degrees, and Johnson's shift above."""
    values = np.arange(10_000) < 25
    estimated = estimate_metric(
        mean(values)._replace(limits=(0.0, 1.0)), alone(10_000), np.ones(10_000, bool)
    )
    q = stats.t.ppf(0.975, 24)
    low, high = (25 + q * q / 2 + sign * q * np.sqrt(25 + q * q / 4) for sign in (-1, 1))
    shift = (1 + 2 * q * q) / 6 * np.sqrt(25 * 24) / 23
    assert np.array([estimated.low, estimated.high]) * 10_000 == pytest.approx([low, high + shift], rel=0.01)


@given(seeds)
def test_no_interval_is_wider_than_what_is_possible(seed):
    """A skill is at most 1, and differences of two are not limited."""
    draw = rng(seed)
    skill = mean(1 - draw.exponential(size=20))._replace(limits=(-np.inf, 1.0))
    estimated = estimate_metric(skill, alone(20), every(skill))
    assert estimated.low <= estimated.value <= estimated.high <= 1
    other = mean(1 - draw.exponential(size=20))._replace(limits=(0.0, 1.0))
    assert compare_metrics(skill, other, alone(20), every(skill), draw).high <= 1
    assert compare_metrics(other, other, alone(20), every(skill), draw).low >= -1


def paired_outcomes(draw, effect):
    """A metric of two editors on 50 objects of two cases, which are hard or easy for both."""
    objects, hard = np.repeat(range(50), 2), np.repeat(draw.exponential(size=50), 2)
    first, second = (hard + 0.5 * np.repeat(draw.exponential(size=50), 2) for _ in range(2))
    return mean(first + effect), mean(second), {"subject": np.arange(100), "object": objects}


def test_false_alarms_are_as_rare_as_they_say(monkeypatch):
    monkeypatch.setattr(statistics, "FLIPS", 999)
    draw, trials = rng(11), 600
    p = [compare_metrics(*paired_outcomes(draw, 0), np.ones(100, bool), draw).p for _ in range(trials)]
    for level in (0.05, 0.2, 0.5):
        assert possible((np.array(p) <= level).sum(), trials, level, level)


def test_a_detectable_difference_is_detected_four_times_in_five(monkeypatch):
    monkeypatch.setattr(statistics, "FLIPS", 999)
    draw, trials = rng(12), 400
    # A difference of two independent exponentials of scale 1/2 has variance 1/2.
    effect = detectable_difference(np.sqrt(0.5 / 50))
    comparisons = [
        compare_metrics(*paired_outcomes(draw, effect), np.ones(100, bool), draw) for _ in range(trials)
    ]
    assert possible(sum(f.p <= 0.05 for f in comparisons), trials, 0.8, 0.8)
    assert np.mean([f.detectable for f in comparisons]) == pytest.approx(effect, rel=0.05)
    assert possible(sum(not f.low <= effect <= f.high for f in comparisons), trials, 0.03, 0.07)


def test_detectable_is_2_8_standard_errors():
    assert detectable_difference(1.0) == pytest.approx(stats.norm.ppf(0.975) + stats.norm.ppf(0.8))
    assert detectable_difference(0.0) == 0
    assert detectable_difference(1.0, 4) == pytest.approx(stats.t.ppf(0.975, 4) + stats.t.ppf(0.8, 4))


p_values = st.dictionaries(st.sampled_from("abcde"), st.floats(0, 1), min_size=1)


@given(p_values)
def test_holm_is_bonferroni_of_every_family(p):
    """Closed testing: a test is rejected where Bonferroni rejects every set of tests that holds it."""
    names = sorted(p)
    sets = [[n for i, n in enumerate(names) if bits >> i & 1] for bits in range(1, 1 << len(names))]
    for name, adjusted in adjust_holm(p).items():
        assert adjusted == pytest.approx(
            max(min(1.0, len(s) * min(p[n] for n in s)) for s in sets if name in s)
        )


def test_holm_leaves_what_is_no_test():
    adjusted = adjust_holm({"a": 0.01, "none": float("nan"), "b": 0.04})
    assert np.isnan(adjusted.pop("none"))
    assert adjusted == pytest.approx({"a": 0.02, "b": 0.04})
    assert adjust_holm({}) == {}
