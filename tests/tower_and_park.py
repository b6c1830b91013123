"""A tower that an edit moves and the park beside it, with what is believed of them, for sentences by hand."""

import math

import numpy as np
import pytest

from corpus.text.language import Atom, Kind, Sentence
from corpus.text.reading import Line
from testbed.evaluations.leme import metrics as m
from testbed.evaluations.leme.standard import Belief, Standard

TOWER, PARK, TWIN, STRANGER = 0, 1, 2, 3
CITY, COUNTRY, STYLE, LIES, STATE, PLANTING = range(6)
OLD, NEW, THIRD = 10, 11, 12
HERE, THERE = 20, 21
GOTHIC, PLAIN = 30, 31
LEFT, RIGHT = 40, 41
WHERE, LAND, LOOK = (TOWER, CITY), (TOWER, COUNTRY), (TOWER, STYLE)
IN, OF, WITH, TWINS = (PARK, LIES), (PARK, STATE), (PARK, PLANTING), (TWIN, LIES)


def belief(options, before, after, above=None, given=None, stratum="S2"):
    arrays = (np.array(x, float) for x in (before, after))
    return Belief(np.array(options), *arrays, above, given, stratum)


# The tower moves from OLD to NEW; with it its country, the park near it and, more often than not, its state.
CITIES = [OLD, NEW, THIRD]
STANDARD = Standard(
    (TOWER, CITY, NEW),
    OLD,
    {
        WHERE: belief(CITIES, [1, 0, 0], [0, 1, 0]),
        LAND: belief([HERE, THERE], [1, 0], [0, 1], WHERE, np.array([[1, 0], [0, 1], [0.5, 0.5]])),
        LOOK: belief([GOTHIC, PLAIN], [1, 0], [1, 0]),
        IN: belief(CITIES, [1, 0, 0], [0, 0.9, 0.1], WHERE,
                   np.array([[1, 0, 0], [0, 0.9, 0.1], [0, 0, 1]])),
        OF: belief([LEFT, RIGHT], [1, 0], [0.2, 0.8], IN, np.array([[1, 0], [1 / 9, 8 / 9], [1, 0]])),
        WITH: belief([GOTHIC, PLAIN], [0.3, 0.7], [0.3, 0.7]),
        TWINS: belief(CITIES, [1, 0, 0], [1, 0, 0]),
    },
    IN,
    TWINS,
    {"subject": TOWER, "related": PARK, "twin": TWIN},
    {OLD: OLD, NEW: NEW, THIRD: THIRD},
)  # fmt: skip


def says(fact, obj, kind=Kind.ATOMIC, label=None, flaw="", second=None):
    return Line(f"{fact} {obj} {kind} {label}", Sentence(kind, label, Atom(*fact, obj), second), flaw)


def true(fact, obj):
    return says(fact, obj, Kind.TRUTH, True)


def false(fact, obj):
    return says(fact, obj, Kind.TRUTH, False)


NONSENSE = Line("tower tower", None, "no sentence")
NAN = math.nan


def near(value):
    return pytest.approx(value, nan_ok=True)


class AnswersOfPair(m.Answers):
    """As if one pair of passages were all that was written."""

    def __init__(self, pair):
        self.results, self.pairs = [None], [pair]


def answer_metrics(pair, names):
    """Some metrics of passages, of one pair."""
    answers = AnswersOfPair(pair)
    return {one.id: one.compute(answers).value() for one in m.METRICS if one.id in names}
