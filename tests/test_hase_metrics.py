"""Metrics: the agent is perfect, no edit moves nothing, and every number can be computed by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from testbed.evaluations.hase.metrics import (
    KEPT,
    MUST_CHANGE,
    MUST_STAY,
    NEIGHBOURS,
    SKILL_RECALIBRATED,
    claims_by_case,
    make_subsets,
    name_at,
    rows_of_role,
)
from testbed.protocol import ABSENT
from testbed.scores.distances import divergences, total_variation
from testbed.scores.metric import metrics_shown_in
from testbed.scores.readers import CHANCE, ONE_HALF, READERS, has_to_change, is_as_good
from tests.examples import holds_for
from tests.random_answers import (
    CASES,
    CHILD,
    HASE,
    OPTIONS,
    REQUEST,
    ROLES,
    RandomAnswers,
    draw_answers,
    flat,
    rows_of_choices,
    scores,
)

HELD_AGAINST = [name for name in READERS if name != CHANCE]
"""Hase's questions offer all their options; chance has nothing to say."""
seeds = st.integers(0, 500)
of_any_answers = holds_for(seeds, few=15, many=500)
"""Of eleven cases each, and every question that there is."""


SHARES = (
    "set.others",
    "set.likeliest",
    "right",
    KEPT,
    "success",
    "selective",
    "falsely",
    *MUST_CHANGE.values(),
    *MUST_STAY.values(),
)
"""How metrics begin that count how many of some things are so."""
PERFECT_AT_ONE = (*(name for name in SHARES if name != "falsely"), "propagation", "skill")


@of_any_answers
def test_the_agent_itself_is_perfect(seed):
    given = draw_answers(seed)
    # After an edit a rational agent's most probable answer is the request.
    given.agent_answer[:, REQUEST, 1] = given.scalars["object"]
    metrics = scores(given, "Bayesian reader")
    gained, follows = metrics.pop("gained"), metrics["follows"]
    assert gained.numerator.sum() == follows.denominator.sum(), "what must change, and nothing else"
    for name, metric in metrics.items():
        ideal = 1.0 if name.startswith(PERFECT_AT_ONE) else 0.0
        if metric.denominator.sum() > 0:
            assert metric.value() == pytest.approx(ideal, abs=1e-9), name


@of_any_answers
def test_no_edit_moves_nothing(seed):
    given = draw_answers(seed)
    metrics = scores(given, "no edit")
    still = [
        n
        for n in metrics
        if n.startswith(
            ("propagation", "orthogonal", "stray", "skill", "selective", "false", "damage", "spill", "gained")
        )
    ]
    still = [n for n in still if "over_recalibrated" not in n]
    assert len(still) == 22
    for name in still:
        if metrics[name].denominator.sum() > 0:
            assert metrics[name].value() == pytest.approx(0, abs=1e-12), name


def test_what_tuning_aims_at_comes_first_and_last():
    headline = metrics_shown_in(HASE.metrics, "headline")
    assert (headline[0], headline[-1]) == ("success", "skill.recalibrated")


@of_any_answers
def test_who_becomes_the_agent_harms_nothing_from_wherever_it_starts(seed):
    metrics = scores(draw_answers(seed), "perfect revision")
    assert metrics["damage"].value() == 0
    assert metrics["skill"].value() == metrics["skill.moved"].value() == 1
    assert metrics["skill.recalibrated"].value() == 1
    assert metrics["orthogonal_movement"].value() > 0, "from other beliefs there is another way to go"
    for name, ideal in (("spill", 0), ("skill.still", 1)):
        assert metrics[name].value() == ideal or not metrics[name].denominator.sum()


def by_hand():
    """One case: the request, a child whose belief the agent turns over, and a fact that it leaves alone."""
    o = draw_answers(0)
    one = RandomAnswers({name: column[:1] for name, column in o.scalars.items()}, *(x[:1] for x in o[1:]))
    one.scalars["object"][0] = 10
    one.agent_answer[:] = one.lm_answer[:] = ABSENT
    told = {
        REQUEST: ((0, 1), (1, 0), (0, 0), (0.3, 0)),
        CHILD: ((0.9, 0.1), (0.1, 0.9), (0.8, 0.2), (0.5, 0.5)),
        ROLES.index("s1rx"): ((1, 0), (1, 0), (0.9, 0.1), (0.7, 0.3)),
        ROLES.index("spot.r1"): ((0.5, 0.5), (0.9, 0.1), (0.8, 0.2), (0.7, 0.3)),
        ROLES.index("spot.own"): ((0, 1), (0, 1), (0, 1), (0.3, 0.7)),
    }
    for q, beliefs in told.items():
        one.agent_answer[0, q] = 10
        who = (one.agent[0, q, 0], one.agent[0, q, 1], one.lm[0, q, 0], one.lm[0, q, 1])
        for into, belief in zip(who, beliefs, strict=True):
            into[:] = (*belief, 0, 0)
    return one


def test_harm_and_skill_by_hand():
    """The child comes from .7 to .4 of the agent's new belief, the other fact goes from .1 to .3.

    Of the spot checks one where the agent moves goes from .1 to .2, one where it stays from 0 to .3.
    """
    values = {name: metric.value() for name, metric in scores(by_hand()).items()}
    assert values["damage.own_questions"] == pytest.approx((0 + 0.2) / 2)
    assert values["damage"] == pytest.approx((0.1 + 0.3) / 2)
    assert values["damage.spot_check_of_the_subject"] == values["spill"] == pytest.approx(0.3)
    assert np.isnan(values["damage.neighbours"])
    assert values["skill.spot_checks"] == pytest.approx(1 - 0.5 / 0.1)
    assert values["skill.moved"] == pytest.approx(1 - 0.4 / 0.7)
    assert values["skill.still"] == pytest.approx(1 - 0.3 / 0.1)
    assert values["skill"] == pytest.approx(1 - (0.4 + 0.3) / (0.7 + 0.1))
    # The child moves .3 of its way of .8, straight along the agent's; the other fact moves by .2.
    assert values["propagation_ratio"] == pytest.approx(0.3 / 0.8)
    assert values["orthogonal_movement"] == pytest.approx(0)
    assert values["stray_movement"] == pytest.approx(0.2)
    perfect = {name: metric.value() for name, metric in scores(by_hand(), "perfect revision").items()}
    assert (perfect["damage"], perfect["spill"], perfect["stray_movement"]) == (0, 0, pytest.approx(0.1))


def test_what_was_right_before_by_hand():
    """Three consequences must change: two follow, one of which the model had wrong before the edit."""
    o = draw_answers(0)
    o.agent_answer[:], o.scalars["child"][:] = ABSENT, True
    o.agent_answer[:, REQUEST] = 10
    for case, (before, after) in enumerate(((10, 11), (12, 11), (10, 10))):
        o.agent[case, CHILD] = [[0.9, 0.1, 0, 0], [0.1, 0.9, 0, 0]]
        o.agent_answer[case, CHILD], o.lm_answer[case, CHILD] = (10, 11), (before, after)
    metrics = scores(o)
    assert metrics["follows"].value() == pytest.approx(2 / 3)
    assert metrics["follows.right_before"].value() == pytest.approx(1 / 2)
    assert metrics["follows.right_before"].denominator.sum() == 2


@of_any_answers
def test_changing_every_answer_is_not_propagation(seed):
    o = draw_answers(seed)
    o.lm_answer[..., 1] = 99
    metrics = scores(o)
    for name in (
        "selective",
        "falsely_changed.consequence",
        "falsely_changed.independent_fact",
        "falsely_changed.neighbours",
    ):
        if metrics[name].denominator.sum() > 0:
            assert metrics[name].value() == (0 if name.startswith("selective") else 1), name


def tied_exam(seed):
    """An agent that often finds several objects equally probable, whose answers are the first of them."""
    o, rng = draw_answers(seed), np.random.default_rng(seed)
    o.agent[:] = rng.integers(0, 3, o.agent.shape) / 10 * (1 + 1e-12 * rng.standard_normal(o.agent.shape))
    present = o.agent_answer[..., 0] != ABSENT
    o.agent_answer[present] = 10 + np.round(o.agent, 3).argmax(-1)[present]
    return o, present


def good(o, answer, when):
    """bool[E, Q]: `as_good`, False where a case has no such question."""
    right, at = np.zeros(answer.shape, bool), tuple(rows_of_choices(o))
    right[at] = is_as_good(flat(o).choices, answer[at], when)
    return right


def best(o, when):
    return o.agent[:, :, when] > o.agent[:, :, when].max(-1, keepdims=True) - 0.05


@of_any_answers
def test_no_answer_is_right_or_wrong_by_a_tie_break(seed):
    """Whichever of the best answers agent and reader give after the edit, the scores are the same."""
    o, present = tied_exam(seed)
    rng = np.random.default_rng(seed)
    another = 10 + (best(o, 1) + 0.5 * rng.random(o.objects.shape)).argmax(-1)
    agents = o._replace(agent_answer=o.agent_answer.copy())
    agents.agent_answer[..., 1][present] = another[present]
    model = o._replace(lm_answer=o.lm_answer.copy())
    right, all_along = (present & good(o, o.lm_answer[..., when], 1) for when in (1, 0))
    # What a model said all along it goes on to say.
    moved = right & ~all_along
    model.lm_answer[..., 1][moved] = another[moved]
    scored = ("right", KEPT, "selective", "falsely", *MUST_CHANGE.values(), *MUST_STAY.values())
    metrics, *others = (scores(x) for x in (o, agents, model))
    for other in others:
        for name in filter(lambda name: name.startswith(scored), metrics):
            np.testing.assert_array_equal(metrics[name][:2], other[name][:2], err_msg=name)


@of_any_answers
def test_whoever_gives_one_of_the_best_answers_is_right(seed):
    o, present = tied_exam(seed)
    metrics = scores(o)
    after = o.lm_answer[..., 1, None]
    right = (best(o, 1) & (o.objects == after)).any(-1)
    for q, name in enumerate(ROLES):
        if name != "s1r2":
            assert metrics[name_at("right", name)].numerator.sum() == (right & present)[:, q].sum(), name


@of_any_answers
def test_an_answer_that_stays_among_the_best_need_not_change(seed):
    o, present = tied_exam(seed)
    kept = (best(o, 1) & (o.objects == o.agent_answer[..., 0, None])).any(-1)
    must = present & ~kept
    np.testing.assert_array_equal(has_to_change(flat(o).choices), must[tuple(rows_of_choices(o))])
    np.testing.assert_array_equal(make_subsets(flat(o))["answer changes"], must[:, CHILD])
    # A reader that answers as the agent did before, and then anything that is best, never changes falsely.
    o.lm_answer[..., 0], o.lm_answer[..., 1] = o.agent_answer[..., 0], 10 + best(o, 1).argmax(-1)
    metrics = scores(o)
    for name in (
        "falsely_changed.consequence",
        "falsely_changed.independent_fact",
        "falsely_changed.neighbours",
    ):
        assert metrics[name].numerator.sum() == 0
    for name in ("follows", "stays", "selective"):
        assert metrics[name].value() == 1 or not metrics[name].denominator.sum()


@holds_for(seeds, few=5, many=500)
def test_shares_count_within_what_there_is(seed):
    o = draw_answers(seed)
    for reader in (*HELD_AGAINST, "x"):
        for name, metric in scores(o, reader).items():
            assert metric.share == name.startswith(SHARES), name
            if metric.share:
                assert (metric.numerator == metric.numerator.round()).all(), name
                assert (metric.numerator >= 0).all(), name
                assert (metric.numerator <= metric.denominator).all(), name


@of_any_answers
def test_places_add_up(seed):
    o = draw_answers(seed)
    metrics = scores(o)
    places = [f"{holder}.{r}" for holder in ("old", "new", "random") for r in ("r1", "r2")]
    for kind in ("right", "tv", "js", "kl"):
        parts = [metrics[name_at(kind, place)] for place in places]
        for field in range(2):
            assert metrics[name_at(kind, NEIGHBOURS)][field] == pytest.approx(
                sum(part[field] for part in parts)
            )


pairs = st.tuples(*[arrays.arrays(float, OPTIONS + 1, elements=st.floats(0.001, 1))] * 2)


@given(pairs)
def test_divergences(pair):
    p, q = (x / x.sum() for x in pair)
    tv, (js, kl) = (f(p[:-1], q[:-1]) for f in (total_variation, divergences))
    assert tv == pytest.approx(np.abs(p - q).sum() / 2)
    assert kl == pytest.approx((q * np.log(q / p)).sum())
    assert -1e-12 <= js <= np.log(2) + 1e-12
    assert kl >= -1e-12
    assert total_variation(p[:-1], p[:-1]) == 0
    assert divergences(p[:-1], p[:-1]) == pytest.approx((0, 0), abs=1e-12)
    assert 2 * tv**2 <= kl + 1e-12
    assert js == pytest.approx(divergences(q[:-1], p[:-1])[0])


def test_subsets_are_what_they_say():
    o = draw_answers(3)
    masks = make_subsets(flat(o))
    for e in range(CASES):
        right = o.lm_answer[e, 0, 0] == o.scalars["truth"][e]
        assert masks["fixes an error"][e] == (not right and o.scalars["reinforces"][e])
        assert not masks["initially near the agent"][e] or right
        assert masks["answer changes"][e] == o.scalars["changes"][e]


def test_readers_compare_with_the_right_agent():
    results = flat(draw_answers(0))
    readers = HASE.readers(results, "x")
    assert {name: r.time for name, r in readers.items()} == {
        "before edit": 0, "x": 1, "no edit": 1, "frequency reader": 1, "Bayesian reader": 1,
        "perfect revision": 1, "no edit, recalibrated": 1, "constant one half": 1,
    }  # fmt: skip
    assert set(HELD_AGAINST) == set(readers) - {"x"}
    assert readers["frequency reader"].claims is None


@of_any_answers
def test_readers_answer_what_they_believe_most(seed):
    o = draw_answers(seed)
    results = flat(o)
    for reader in HASE.readers(results, "x").values():
        for answer, believed in ((reader.answer, reader.probability), (reader.start_answer, reader.start)):
            assert (answer == 10 + believed.argmax(-1)).all()


@of_any_answers
def test_questions_of_a_role_are_found_whatever_their_order(seed):
    o = draw_answers(seed)
    for order in (seed, seed + 1):
        results = flat(o, order)
        for q, role in enumerate(ROLES):
            row = rows_of_role(results, role)
            np.testing.assert_array_equal(row != ABSENT, o.present[:, q])
            np.testing.assert_array_equal(results.choices.lm[row[row >= 0]], o.lm[o.present[:, q], q])
        np.testing.assert_array_equal(claims_by_case(results, results.claims.lm), o.logic)


@of_any_answers
def test_one_half_is_coherent_and_knows_nothing(seed):
    """It breaks no law that holds for any belief, and is off by all that is known."""
    given = draw_answers(seed)
    metrics, beliefs = scores(given, ONE_HALF), flat(given).claims.agent[:, 1]
    for name in ("dutch_book", "logic.not", "logic.not_b", "logic.commute", "logic.sum"):
        assert metrics[name].value() == pytest.approx(0, abs=1e-9), name
    assert metrics["truth_values"].value() == pytest.approx(np.abs(beliefs - 0.5).mean())


def _with_options(o, more):
    """The same questions with further options that nobody believes in."""
    return o._replace(
        objects=np.concatenate([o.objects, np.full((*o.objects.shape[:2], more), ABSENT)], axis=-1),
        **{
            name: np.concatenate([getattr(o, name), np.zeros((*getattr(o, name).shape[:3], more))], axis=-1)
            for name in ("agent", "frequency", "lm", "lm_open")
        },
    )


@holds_for(seeds, st.integers(1, 3), few=4, many=500)
def test_room_for_further_options_changes_no_number(seed, more):
    o = draw_answers(seed)
    for reader in (*HELD_AGAINST, "x"):
        wide = scores(_with_options(o, more), reader)
        for name, metric in scores(o, reader).items():
            # Temperatures are searched in single precision.
            atol = 1e-6 if name == SKILL_RECALIBRATED else 1e-12
            np.testing.assert_allclose(wide[name][:2], metric[:2], atol=atol, err_msg=name)
