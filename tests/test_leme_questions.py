"""LEME's nine questions about passages: hand-written ones, and what must hold of any."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.text.language import Atom, Kind
from corpus.text.reading import Line
from testbed.evaluations.leme import RELATED, SUBJECT
from testbed.evaluations.leme import questions as q
from testbed.evaluations.leme.passages import (
    ACROSS,
    BOTH,
    BROKEN,
    ENTITY,
    GOLD,
    INSIDE,
    LOCALITY,
    MINIMAL,
    REJECTED,
    REPETITION,
    TOPIC,
    WRONG_KIND,
    PassagePair,
)
from testbed.evaluations.leme.questions import Claim, claims_of_case, verdict_on_claim
from testbed.evaluations.leme.standard import LEAST, Standard, draw_objects, mean_log_probability
from testbed.evaluations.leme.statements import can_both_hold, sentences_of, statements_of, trim_passage
from tests.tower_and_park import (
    CITY,
    GOTHIC,
    HERE,
    IN,
    LAND,
    LEFT,
    LOOK,
    NAN,
    NEW,
    NONSENSE,
    OF,
    OLD,
    PARK,
    PLAIN,
    RIGHT,
    STANDARD,
    STRANGER,
    THERE,
    THIRD,
    TOWER,
    WHERE,
    WITH,
    false,
    near,
    says,
    true,
)

GOOD = [says(WHERE, NEW), says(LAND, THERE), says(LOOK, GOTHIC), true(WHERE, NEW), false(WHERE, OLD)]
PARKS = [says(IN, NEW), says(OF, RIGHT), says(WITH, PLAIN), true(IN, NEW)]
BAD = [says(WHERE, OLD), says(WHERE, NEW), says(LAND, HERE), says(LOOK, PLAIN)]
DENIED = [false(WHERE, NEW), false(WHERE, THIRD), false(LOOK, PLAIN), false(LAND, HERE)]
BOTH_TRUE = [says(WHERE, NEW, Kind.AND, True, "", Atom(*LOOK, PLAIN))]
EITHER = [says(WHERE, NEW, Kind.OR, True, "", Atom(*LOOK, PLAIN))]
STAYING = [says(IN, OLD), says(OF, LEFT), says(WITH, GOTHIC)]


@pytest.mark.parametrize(
    ("lines", "edit", "possible", "factual", "wide", "drift", "internal", "inside"),
    [
        ([], NAN, NAN, NAN, NAN, (NAN,) * 3, NAN, NAN),
        ([NONSENSE], NAN, NAN, NAN, NAN, (NAN,) * 3, NAN, NAN),
        ([says(LOOK, GOTHIC)], NAN, 1, 1, 1, (NAN,) * 3, NAN, NAN),
        ([says(LOOK, PLAIN)], NAN, 1, 0, 0, (NAN,) * 3, NAN, NAN),
        ([says(WHERE, NEW)], 1, 1, NAN, 1, (NAN,) * 3, NAN, NAN),
        ([says(WHERE, OLD)], 0, 0, NAN, 0, (NAN,) * 3, NAN, NAN),
        ([true(WHERE, NEW)], 1, 1, NAN, 1, (NAN,) * 3, NAN, NAN),
        ([false(WHERE, NEW)], 0, 0, NAN, 0, (NAN,) * 3, NAN, NAN),
        ([false(WHERE, OLD)], NAN, 1, NAN, 1, (NAN,) * 3, NAN, NAN),
        ([false(WHERE, THIRD)], NAN, 1, NAN, 1, (NAN,) * 3, NAN, NAN),
        ([says(LAND, THERE)], NAN, 1, NAN, 1, (1, 0, 0), NAN, NAN),
        ([says(LAND, HERE)], NAN, 0, NAN, 0, (0, 1, 0), NAN, NAN),
        ([says(LAND, GOTHIC)], NAN, 1, NAN, 0, (0, 0, 1), NAN, NAN),
        ([says(WHERE, NEW), says(WHERE, OLD)], 1 / 2, 1 / 2, NAN, 1 / 2, (NAN,) * 3, NAN, 0),
        ([says(WHERE, NEW)] * 3, 1, 1, NAN, 1, (NAN,) * 3, NAN, 1),
        ([says(LOOK, GOTHIC)] * 2, NAN, 1, 1, 1, (NAN,) * 3, 1, 1),
        ([says(LOOK, GOTHIC), false(LOOK, GOTHIC)], NAN, 1, 1 / 2, 1 / 2, (NAN,) * 3, 0, 0),
        ([says(LOOK, GOTHIC), false(LOOK, PLAIN)], NAN, 1, 1, 1, (NAN,) * 3, 1, 1),
        ([says((STRANGER, CITY), OLD)], NAN, NAN, NAN, NAN, (NAN,) * 3, NAN, NAN),
        (GOOD, 1, 1, 1, 1, (1, 0, 0), NAN, 1),
        (BAD, 1 / 2, 1 / 2, 0, 1 / 4, (0, 1, 0), NAN, 0),
        (DENIED, 0, 3 / 4, 1, 3 / 4, (NAN,) * 3, NAN, 1),
        (BOTH_TRUE, 1, 1, 0, 1 / 2, (NAN,) * 3, NAN, NAN),
        (EITHER, NAN, NAN, NAN, NAN, (NAN,) * 3, NAN, NAN),
        (PARKS, NAN, 1, 1, 1, (1, 0, 0), 1, 1),
        (STAYING, NAN, 2 / 3, 0, 0, (0, 1, 0), NAN, NAN),
    ],
)
def test_questions_about_one_passage(lines, edit, possible, factual, wide, drift, internal, inside):
    said = statements_of(lines)
    assert q.edit_said_share(said, STANDARD) == near(edit)
    assert q.still_possible_share(said, STANDARD) == near(possible)
    assert q.factual_share(said, STANDARD) == near(factual)
    assert q.factual_share(said, STANDARD, everything=True) == near(wide)
    assert q.drift_shares(said, STANDARD) == near(drift)
    assert q.internal_consistency(said, WHERE) == near(internal)
    assert q.internal_consistency(said) == near(inside)


@pytest.mark.parametrize(
    ("first", "second", "cross", "surveyed", "most"),
    [
        ([], [], NAN, NAN, (0, 0)),
        (GOOD, [], NAN, NAN, (5, 5)),
        ([], PARKS, NAN, NAN, (4, 4)),
        (GOOD, PARKS, 1, NAN, (9, 9)),
        ([says(WHERE, NEW)], [says(IN, OLD)], 0, NAN, (1, 2)),
        ([says(WHERE, OLD)], [says(IN, OLD)], 1, NAN, (2, 2)),
        ([false(WHERE, OLD)], [says(IN, OLD)], 0, NAN, (1, 2)),
        ([says(WHERE, NEW)], [says(WITH, PLAIN)], NAN, NAN, (2, 2)),
        ([says(WHERE, NEW), says(IN, OLD)], [says(IN, OLD)], 1 / 2, 1, (2, 3)),
        ([says(LOOK, GOTHIC)], [says(LOOK, PLAIN)], 0, 0, (1, 2)),
        ([says(WHERE, NEW)] * 2, [says(IN, NEW), says(IN, THIRD)], 1 / 2, NAN, (3, 4)),
    ],
)
def test_questions_about_two_passages(first, second, cross, surveyed, most):
    said = statements_of(first), statements_of(second)
    assert q.cross_consistency(*said, STANDARD) == near(cross)
    assert q.cross_consistency(*said, STANDARD, WHERE) == near(surveyed)
    assert q.count_true_together(q.join_passages(first, second, STANDARD), STANDARD) == most


def test_a_weak_link_implies_nothing():
    standard = STANDARD._replace(link={})
    said = statements_of([says(WHERE, NEW)]), statements_of([says(IN, OLD)])
    assert math.isnan(q.cross_consistency(*said, standard))
    assert q.count_true_together(
        q.join_passages([says(WHERE, NEW)], [says(IN, OLD)], standard), standard
    ) == (2, 2)
    assert standard.implied_after_edit == -1


def test_topic_and_style():
    both = says(WHERE, NEW, Kind.AND, True, "", Atom(*IN, NEW))
    lines = [says(WHERE, NEW), NONSENSE, says(IN, NEW), both]
    assert q.topical_share([(lines, TOWER)]) == 1 / 2
    assert q.topical_share([(lines, PARK)]) == 1 / 2
    assert q.first_drift(lines, TOWER) == 1 / 4
    assert q.first_drift(lines[:1], TOWER) == 1
    assert q.natural_share(lines) == 3 / 4
    assert q.natural_share([says(WHERE, GOTHIC, flaw="wrong kind of object")]) == 0
    assert q.distinct_share([*lines, *lines]) == 1 / 2
    assert all(math.isnan(f([])) for f in (q.natural_share, q.distinct_share))
    assert math.isnan(q.first_drift([], TOWER))


statements = st.lists(
    st.tuples(
        st.sampled_from([WHERE, LAND, LOOK, IN, OF, WITH]),
        st.sampled_from([OLD, NEW, HERE, THERE, GOTHIC, PLAIN, LEFT, RIGHT]),
        st.sampled_from([(Kind.ATOMIC, None), (Kind.TRUTH, True), (Kind.TRUTH, False), (Kind.NOT, True)]),
    ).map(lambda x: says(x[0], x[1], *x[2])),
    max_size=8,
)
GOLDEN = {WHERE: NEW, LAND: THERE, LOOK: GOTHIC, IN: NEW, OF: RIGHT, WITH: PLAIN}
golden = st.lists(st.sampled_from([*GOLDEN.items()]).map(lambda x: says(*x)), max_size=8)


def everything(first, second):
    """All answers but those that speak of order."""
    one, two = statements_of(first), statements_of(second)
    return [
        *(
            f(x, STANDARD)
            for x in (one, two)
            for f in (q.edit_said_share, q.still_possible_share, q.mean_belief)
        ),
        *(q.factual_share(x, STANDARD, wide) for x in (one, two) for wide in (False, True)),
        *(q.internal_consistency(x, left) for x in (one, two) for left in (None, WHERE)),
        *(q.cross_consistency(one, two, STANDARD, left) for left in (None, WHERE)),
        *q.drift_shares([*one, *two], STANDARD),
        *q.count_true_together(q.join_passages(first, second, STANDARD), STANDARD),
        q.topical_share([(first, TOWER)]),
        q.natural_share(first),
        q.distinct_share(first),
        mean_log_probability([*one, *two], STANDARD),
    ]


@given(golden, golden)
def test_gold_alone_is_consistent_in_every_way(first, second):
    one, two = statements_of(first), statements_of(second)
    scores = [
        *(q.internal_consistency(x) for x in (one, two)),
        *(q.factual_share(x, STANDARD, True) for x in (one, two)),
        *(q.still_possible_share(x, STANDARD) for x in (one, two)),
        q.cross_consistency(one, two, STANDARD),
        q.edit_said_share([*one, *two], STANDARD),
        q.count_true_together(q.join_passages(first, second, STANDARD), STANDARD).share,
    ]
    assert all(math.isnan(x) or x == 1 for x in scores)


@given(golden.filter(bool), st.data())
def test_a_contradiction_lowers_internal_and_factual_where_it_is_wrong(lines, data):
    fact, obj = data.draw(st.sampled_from([(LOOK, GOTHIC), (WITH, PLAIN)]))
    whole = [*lines, says(fact, obj)]
    worse = [*whole, says(fact, PLAIN if obj == GOTHIC else GOTHIC)]
    one, two = statements_of(whole), statements_of(worse)
    assert q.internal_consistency(two) < (
        q.internal_consistency(one) if not math.isnan(q.internal_consistency(one)) else 2
    )
    assert q.factual_share(two, STANDARD) < q.factual_share(one, STANDARD)
    for same in (q.edit_said_share, q.still_possible_share, q.drift_shares):
        assert same(two, STANDARD) == near(same(one, STANDARD))
    assert q.topical_share([(worse, TOWER)]) == pytest.approx(
        (q.topical_share([(whole, TOWER)]) * len(whole) + (fact[0] == TOWER)) / len(worse)
    )


@given(statements, statements, st.randoms(use_true_random=False))
def test_order_of_sentences_changes_nothing(first, second, random):
    again = [*first]
    random.shuffle(again)
    assert everything(first, second) == near(everything(again, second))


@given(statements)
def test_an_empty_passage_is_neutral_across(lines):
    said = statements_of(lines)
    assert math.isnan(q.cross_consistency(said, [], STANDARD))
    assert math.isnan(q.cross_consistency([], said, STANDARD))


@given(statements, statements)
def test_answers_are_shares(first, second):
    *shares, _ = everything(first, second)
    most, of = shares[-5:-3]
    assert most <= of
    assert all(math.isnan(x) or 0 <= x <= 1 for x in [*shares[:-5], *shares[-3:]])
    said = statements_of([*first, *second])
    log_p = mean_log_probability(said, STANDARD)
    assert math.isnan(log_p) or math.log(LEAST) <= log_p <= 0


@given(statements)
def test_satisfiable_is_pairwise_for_plain_statements(lines):
    """Statements of single facts agree all together if each pair does, while objects are left over."""
    wide = Standard((TOWER, CITY, NEW), OLD, {}, None, None, STANDARD.entities, {})
    said = statements_of(lines)
    pairs = all(can_both_hold(a, b) for a in said for b in said if a.fact == b.fact)
    assert (q.count_true_together(sentences_of(lines), wide).is_satisfiable != 0) == pairs


def _joint(world):
    """p(all facts) of one world by the beliefs along the tree."""
    p = 1.0
    for fact, one in STANDARD.beliefs.items():
        row = (
            one.after
            if one.above is None
            else one.conditional[STANDARD.beliefs[one.above].place_of(world[one.above])]
        )
        p *= row[one.place_of(world[fact])]
    return p


def _worlds():
    worlds = [{}]
    for fact, one in STANDARD.beliefs.items():
        worlds = [w | {fact: int(o)} for w in worlds for o in one.options]
    return worlds


@settings(max_examples=40)
@given(st.lists(st.sampled_from([(IN, NEW), (IN, THIRD), (OF, LEFT), (OF, RIGHT), (WITH, PLAIN)]),
                min_size=1, max_size=4, unique_by=lambda x: x[0]))  # fmt: skip
def test_the_joint_probability_is_that_of_all_worlds(facts):
    lines = [says(*fact) for fact in facts]
    mass = sum(_joint(w) for w in _worlds() if all(w[fact] == obj for fact, obj in facts))
    if mass > LEAST:
        log_p = mean_log_probability(statements_of(lines), STANDARD) * len(facts)
        assert log_p == pytest.approx(math.log(mass), abs=1e-9)


def test_draws_are_of_the_joint_belief():
    rng = np.random.default_rng(0)
    drawn = [draw_objects(STANDARD, rng) for _ in range(4000)]
    assert all(_joint(one) > 0 for one in drawn)
    both = np.mean([one[IN] == NEW and one[OF] == RIGHT for one in drawn])
    assert abs(both - 0.8) < 5 * math.sqrt(0.16 / 4000)


def test_verdicts_of_claims():
    said = statements_of([says(WHERE, NEW), says(WHERE, NEW), says(WHERE, OLD), false(LOOK, GOTHIC)])
    assert verdict_on_claim(said, Claim(WHERE, NEW)) == 1
    assert verdict_on_claim(said, Claim(WHERE, OLD)) == -1
    assert verdict_on_claim(said, Claim(LOOK, GOTHIC)) == -1
    assert verdict_on_claim(said, Claim(LOOK, PLAIN)) == 0
    assert verdict_on_claim(said, Claim(IN, NEW)) == 0
    claims = claims_of_case(STANDARD)
    assert claims["new fact, related"] == [Claim(IN, NEW)]
    assert claims["old fact, subject"] == [Claim(WHERE, OLD)]
    assert {*claims["ground truth, subject"]} == {Claim(LAND, HERE), Claim(LOOK, GOTHIC)}
    assert {*claims["ground truth that stays"]} == {Claim(LOOK, GOTHIC), Claim(WITH, PLAIN)}


@pytest.mark.parametrize(
    ("name", "first", "second", "marked"),
    [
        (REPETITION, [says(LOOK, GOTHIC)] * 4, [], 4),
        (REPETITION, [says(LOOK, GOTHIC)] * 3, [], 0),
        (BROKEN, [NONSENSE], [], 1),
        (WRONG_KIND, [says(LOOK, OLD, flaw="wrong kind of object")], [], 1),
        (ENTITY, [says((STRANGER, CITY), OLD)], [], 1),
        (TOPIC, [says((STRANGER, 9), OLD)], [], 1),
        (TOPIC, [says(IN, NEW)], [], 0),
        (INSIDE, BAD, [], 2),
        (ACROSS, [says(WHERE, NEW)], [says(IN, OLD)], 2),
        (GOLD, [says(LOOK, PLAIN)], [], 1),
        (LOCALITY, [says(LOOK, PLAIN)], [says(WITH, GOTHIC)], 1),
        (BOTH, BAD, [], 2),
        (REJECTED, [says(WHERE, OLD)], [], 1),
        (REJECTED, BAD, [], 0),
        (MINIMAL, [says(WHERE, NEW), says(LAND, HERE)], [], 1),
        (MINIMAL, [says(WHERE, NEW), says(LAND, THERE), says(LAND, HERE)], [], 0),
        (MINIMAL, [says(WHERE, NEW)], [], 0),
    ],
)
def test_classes_of_errors(name, first, second, marked):
    assert len(PassagePair({SUBJECT: first, RELATED: second}, STANDARD).errors[name]) == marked


def test_good_passages_have_no_errors():
    assert not any(PassagePair({SUBJECT: GOOD, RELATED: PARKS}, STANDARD).errors.values())


def test_what_was_cut_off_is_left_out():
    empty = Line("", None, "empty")
    whole = [says(WHERE, NEW), says(LOOK, GOTHIC)]
    assert trim_passage([*whole, empty], ended=True) == tuple(whole)
    assert trim_passage(whole, ended=True) == tuple(whole)
    assert trim_passage(whole, ended=False) == tuple(whole[:1])
    assert trim_passage([empty], ended=True) == (empty,)
    assert trim_passage([], ended=False) == ()
