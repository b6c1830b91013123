"""What the pictures show: the case they choose and the bars they draw."""

from types import SimpleNamespace

import numpy as np

from testbed.evaluations.hase.pictures import panel_case
from testbed.pages.belief_pictures import BARS
from testbed.pages.edit_pictures import show_question
from testbed.protocol import ABSENT
from tests.random_answers import REQUEST, draw_answers, flat

WORLD = SimpleNamespace(graph=SimpleNamespace(entities=range(1000)))
"""Entities are called by their numbers."""


def test_a_question_that_is_not_asked_has_no_bars():
    assert not len(show_question(flat(draw_answers(0)), WORLD, ABSENT, "a question").objects)


def test_bars_are_the_most_probable_objects():
    answers = draw_answers(1)
    choices = flat(answers).choices
    row = int(np.flatnonzero((choices.case == 0) & (choices.role == "s1r1"))[0])
    panel = show_question(flat(answers), WORLD, row, "a question")
    shown = np.flatnonzero(np.isin(choices.options[row], panel.objects))
    height = np.maximum(answers.lm[0, REQUEST].max(0), answers.agent[0, REQUEST].max(0))
    assert 0 < len(shown) <= BARS
    assert height[shown].min() >= np.delete(height, shown).max(initial=0)


def test_the_panel_is_a_contradicting_edit_with_a_consequence_where_there_is_one():
    answers = draw_answers(2)
    s = answers.scalars
    case = panel_case(flat(answers), np.arange(len(flat(answers))))
    assert not s["reinforces"][case] or s["reinforces"].all()
    fitting = ~s["reinforces"] & s["changes"]
    assert s["changes"][case] or not fitting.any()
