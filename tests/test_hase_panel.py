"""What the pictures show: the case they choose and the bars they draw."""

import numpy as np

from testbed.evaluations.hase.panel import BARS, _tallest, panel_case
from testbed.evaluations.hase.roles import CHILD, REQUEST
from testbed.protocol import ABSENT
from tests.exams import exam_with


def test_an_absent_cell_has_no_bars():
    exam = exam_with(0)
    case, cell = np.argwhere(exam.agent_answer[..., 0] == ABSENT)[0]
    exam.objects[case, cell] = ABSENT
    assert len(_tallest(exam, case, cell)) == 0


def test_bars_are_the_most_probable_objects():
    exam = exam_with(1)
    shown = _tallest(exam, 0, REQUEST)
    height = np.maximum(exam.lm[0, REQUEST].max(0), exam.agent[0, REQUEST].max(0))
    assert 0 < len(shown) <= BARS
    assert height[shown].min() >= np.delete(height, shown).max(initial=0)


def test_the_panel_is_a_contradicting_edit_with_a_consequence_where_there_is_one():
    exam = exam_with(2)
    s = exam.scalars
    exam.agent_answer[:, CHILD] = 10
    case = panel_case(exam)
    assert not s["reinforces"][case] or s["reinforces"].all()
    fitting = ~s["reinforces"] & s["changes"]
    assert s["changes"][case] or not fitting.any()
