"""LEME's nine questions on pairs of passages by hand: every value is worked out from what the question says.

The tower moves from OLD to NEW, and the link says that the park lies where the tower stands. Country, park
and the park's state move with it; the tower is GOTHIC and the park PLAIN, as before. The edited fact is left
out of factual and internal consistency. Where nothing is said that a question is about, a pair is neutral.
"""

import pytest

from corpus.text.language import Atom, Kind
from testbed.evaluations.leme import RELATED, SUBJECT
from testbed.evaluations.leme import metrics as m
from testbed.evaluations.leme.passages import PassagePair
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
    PLAIN,
    RIGHT,
    STANDARD,
    STRANGER,
    THERE,
    THIRD,
    TOWER,
    TWINS,
    WHERE,
    WITH,
    answer_metrics,
    belief,
    false,
    near,
    says,
    true,
)  # fmt: skip

_ = NAN
ABROAD = STRANGER, CITY
NEW_HERE, OLD_HERE = says(WHERE, NEW), says(WHERE, OLD)
GOTHIC_TOWER, PLAIN_PARK = says(LOOK, GOTHIC), says(WITH, PLAIN)


def both(kind, label, one, other):
    """A sentence of two statements."""
    return says(*one, kind, label, second=Atom(*other[0], other[1]))


# fmt: off
PAIRS = {
    # what is special: subject's passage, related passage,
    #   edit s, r; factual s, r; internal s, r; cross; topicality; naturalness
    "both are empty": ([], [], _, _, _, _, _, _, _, _, _),
    "the subject's is empty": ([], [PLAIN_PARK], _, 1, _, 1, _, _, _, 1, 1),
    "the related one is empty": ([NEW_HERE], [], 1, _, _, _, _, _, _, 1, 1),
    "no sentence is whole": ([NONSENSE], [NONSENSE], _, _, _, _, _, _, _, 0, 0),
    "one of four sentences is broken":
        ([NEW_HERE, NONSENSE], [says(IN, NEW), PLAIN_PARK], 1, 1, _, 1, _, _, 1, 3 / 4, 3 / 4),
    "an object of the wrong kind is on topic and wrong":
        ([says(LOOK, OLD, flaw="wrong kind of object")], [PLAIN_PARK], _, 1, 0, 1, _, _, _, 1, 1 / 2),

    "everything that follows is said":
        ([NEW_HERE, says(LAND, THERE), GOTHIC_TOWER], [says(IN, NEW), says(OF, RIGHT), PLAIN_PARK],
         1, 1, 1, 1, _, _, 1, 1, 1),
    # Of the related three only OLD is impossible: the state LEFT has .2.
    "nothing was taken up":
        ([OLD_HERE, says(LAND, HERE), GOTHIC_TOWER], [says(IN, OLD), says(OF, LEFT), PLAIN_PARK],
         0, 2 / 3, 1, 1, _, _, 1, 1, 1),
    "the edit stays with its subject": ([NEW_HERE], [says(IN, OLD)], 1, 0, _, _, _, _, 0, 1, 1),
    "the park moves alone": ([OLD_HERE], [says(IN, NEW)], 0, 1, _, _, _, _, 0, 1, 1),
    "the park moves elsewhere": ([NEW_HERE], [says(IN, THIRD)], 1, 1, _, _, _, _, 0, 1, 1),
    "the tower moves elsewhere": ([says(WHERE, THIRD)], [says(WITH, GOTHIC)], 0, 1, _, 0, _, _, _, 1, 1),
    "new and old are both said": ([NEW_HERE, OLD_HERE], [says(IN, NEW)], 1 / 2, 1, _, _, _, _, 1 / 2, 1, 1),
    "the new is said twice, the old once":
        ([NEW_HERE, NEW_HERE, OLD_HERE], [PLAIN_PARK], 2 / 3, 1, _, 1, _, _, _, 1, 1),
    # Cross: one and one agree, and each of the tower's with the park's other city does not.
    "the park is in two cities": ([NEW_HERE, NEW_HERE], [says(IN, NEW), says(IN, THIRD)],
                                  1, 1, _, _, _, 0, 1 / 2, 1, 1),
    "some of it is taken up":
        ([NEW_HERE, says(LAND, HERE), GOTHIC_TOWER, GOTHIC_TOWER],
         [says(IN, NEW), says(IN, OLD), PLAIN_PARK, says(OF, LEFT)],
         1, 3 / 4, 1, 1, 1, 0, 1 / 2, 1, 1),

    "one style is right, one wrong": ([GOTHIC_TOWER, says(LOOK, PLAIN)], [PLAIN_PARK],
                                      _, 1, 1 / 2, 1, 0, _, _, 1, 1),
    # Of three pairs the two with the odd one disagree.
    "the subject's contradicts itself": ([GOTHIC_TOWER, GOTHIC_TOWER, says(LOOK, PLAIN)], [],
                                         _, _, 2 / 3, _, 1 / 3, _, _, 1, 1),
    "the related one contradicts itself":
        ([GOTHIC_TOWER], [PLAIN_PARK, says(WITH, GOTHIC), PLAIN_PARK],
         _, 1, 1, 2 / 3, _, 1 / 3, _, 1, 1),
    "both repeat themselves": ([GOTHIC_TOWER] * 2, [PLAIN_PARK] * 2, _, 1, 1, 1, 1, 1, _, 1, 1),
    "the two speak of one fact and disagree": ([GOTHIC_TOWER], [says(LOOK, PLAIN)],
                                               _, 1, 1, 0, _, _, 0, 1 / 2, 1),

    "what is so is called true": ([true(WHERE, NEW)], [true(WITH, PLAIN)], 1, 1, _, 1, _, _, _, 1, 1),
    # That the park is not in NEW still has .1.
    "both deny the new": ([false(WHERE, NEW)], [false(IN, NEW)], 0, 1, _, _, _, _, 1, 1, 1),
    "to deny the old is not to say the new": ([false(WHERE, OLD)], [false(IN, OLD)],
                                              _, 1, _, _, _, _, 1, 1, 1),
    "one says what the other denies": ([NEW_HERE], [false(IN, NEW)], 1, 1, _, _, _, _, 0, 1, 1),
    "one says the new, the other denies a third": ([NEW_HERE], [false(IN, THIRD)], 1, 1, _, _, _, _, 1, 1, 1),
    "what is said and what is denied agree": ([GOTHIC_TOWER, false(LOOK, PLAIN)], [false(WITH, GOTHIC)],
                                              _, 1, 1, 1, 1, _, _, 1, 1),
    "the same is said and denied": ([GOTHIC_TOWER, false(LOOK, GOTHIC)], [],
                                    _, _, 1 / 2, _, 0, _, _, 1, 1),
    "not the old is true": ([says(WHERE, OLD, Kind.NOT, True)], [says(WITH, GOTHIC, Kind.NOT, True)],
                            _, 1, _, 1, _, _, _, 1, 1),
    "not the new is false": ([says(WHERE, NEW, Kind.NOT, False)], [says(IN, OLD, Kind.NOT, False)],
                             1, 0, _, _, _, _, 0, 1, 1),

    "a true conjunction says both":
        ([both(Kind.AND, True, (WHERE, NEW), (LOOK, GOTHIC))],
         [both(Kind.AND, True, (IN, NEW), (WITH, GOTHIC))],
         1, 1, 1, 0, _, _, 1, 1, 1),
    "a false conjunction says neither":
        ([both(Kind.AND, False, (WHERE, NEW), (LOOK, GOTHIC))], [], _, _, _, _, _, _, _, 1, 1),
    "a true disjunction says neither":
        ([both(Kind.OR, True, (WHERE, NEW), (LOOK, PLAIN))], [both(Kind.OR, True, (IN, OLD), (WITH, GOTHIC))],
         _, _, _, _, _, _, _, 1, 1),
    "a false disjunction denies both":
        ([both(Kind.OR, False, (WHERE, NEW), (LOOK, PLAIN))],
         [both(Kind.OR, False, (IN, OLD), (WITH, GOTHIC))],
         0, 1, 1, 1, _, _, 1, 1, 1),
    "outlines and suppositions state nothing":
        ([says(WHERE, TOWER, Kind.ABOUT)], [says(IN, OLD, Kind.IMAGINE)], _, _, _, _, _, _, _, 1, 1),

    "the subject's speaks of the park, too": ([says(IN, NEW), NEW_HERE], [PLAIN_PARK],
                                              1, 1, _, 1, _, _, _, 2 / 3, 1),
    "a conjunction about both is about each":
        ([both(Kind.AND, True, (WHERE, NEW), (IN, NEW))], [PLAIN_PARK], 1, 1, _, 1, _, _, _, 1, 1),
    "the related one speaks of the tower": ([NEW_HERE], [OLD_HERE], 1, 0, _, _, _, _, 0, 1 / 2, 1),
    "both speak of a stranger": ([says(ABROAD, OLD)], [says(ABROAD, NEW)], _, _, _, _, _, _, 0, 0, 1),
    "the related one speaks of the twin": ([NEW_HERE], [says(TWINS, OLD)], 1, 1, _, 1, _, _, _, 1 / 2, 1),
}
# fmt: on


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_nine_questions_by_hand(pair):
    subject, related, *expected = pair
    scores = answer_metrics(PassagePair({SUBJECT: subject, RELATED: related}, STANDARD), m.NINE)
    assert scores == near(dict(zip(m.NINE, expected, strict=True)))


def test_every_question_has_every_kind_of_value():
    columns = zip(*(pair[2:] for pair in PAIRS.values()), strict=True)
    for name, values in zip(m.NINE, columns, strict=True):
        assert {0, 1} < {value for value in values if value == value}, name
        assert any(value != value for value in values), name


# Had somebody been wrong about the tower, what was stated of country, park and state would stay.
CORRECTED = STANDARD._replace(
    beliefs={
        fact: one
        if fact == WHERE
        else belief(one.options, one.before, one.before, one.above, one.conditional)
        for fact, one in STANDARD.beliefs.items()
    }
)


@pytest.mark.parametrize(
    ("subject", "related", "changed", "corrected", "drift"),
    # Of each interpretation: factual, subject and related; edit, related. Drift: the new, the old, a third.
    [
        ([says(LAND, THERE)], [says(IN, NEW), says(OF, RIGHT)], (_, _, 1), (0, 0, 1), (1, 0, 0)),
        ([says(LAND, HERE)], [says(IN, OLD), says(OF, LEFT)], (_, _, 1 / 2), (1, 1, 1), (0, 1, 0)),
        ([], [says(IN, THIRD)], (_, _, 1), (_, 0, 1), (0, 0, 1)),
        ([says(LAND, THERE)], [says(IN, OLD)], (_, _, 0), (0, 1, 1), (1 / 2, 1 / 2, 0)),
        ([says(LAND, THERE), says(LAND, HERE)], [says(IN, THIRD), says(OF, LEFT)],
         (_, _, 1), (1 / 2, 1 / 2, 1), (1 / 4, 1 / 2, 1 / 4)),
        ([false(LAND, HERE)], [false(IN, NEW)], (_, _, 1), (0, 1, 1), (_, _, _)),
        ([GOTHIC_TOWER], [says(WITH, GOTHIC)], (1, 0, 1), (1, 0, 1), (_, _, _)),
        ([NEW_HERE], [], (_, _, _), (_, _, _), (_, _, _)),
    ],
)  # fmt: skip
def test_one_pair_has_two_verdicts(subject, related, changed, corrected, drift):
    passages = {SUBJECT: subject, RELATED: related}
    verdicts, drifts = (
        (m.FACTUAL_SUBJECT, m.FACTUAL_RELATED, m.EDIT_RELATED),
        (m.DRIFT_NEW, m.DRIFT_OLD, m.DRIFT_THIRD),
    )
    do, correction = (
        answer_metrics(PassagePair(passages, standard), verdicts + drifts)
        for standard in (STANDARD, CORRECTED)
    )
    assert [do[name] for name in verdicts] == near([*changed])
    assert [correction[name] for name in verdicts] == near([*corrected])
    assert [do[name] for name in drifts] == near([*drift])
    assert [correction[name] for name in drifts] == near([_, _, _])
