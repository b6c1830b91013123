"""What the pictures show: the case they choose and the bars they draw."""

import numpy as np

from testbed.evaluations.hase.cases import ABSENT, CHILD, REQUEST
from testbed.evaluations.hase.pictures import BARS, _tallest, panel_case
from tests.test_metrics import outcomes_of


def test_an_absent_cell_has_no_bars():
    outcomes = outcomes_of(0)
    case, cell = np.argwhere(outcomes.agent_answer[..., 0] == ABSENT)[0]
    outcomes.objects[case, cell] = ABSENT
    assert len(_tallest(outcomes, case, cell)) == 0


def test_bars_are_the_most_probable_objects():
    outcomes = outcomes_of(1)
    shown = _tallest(outcomes, 0, REQUEST)
    height = np.maximum(outcomes.lm[0, REQUEST].max(0), outcomes.agent[0, REQUEST].max(0))
    assert 0 < len(shown) <= BARS
    assert height[shown].min() >= np.delete(height, shown).max(initial=0)


def test_the_panel_is_a_contradicting_edit_with_a_consequence_where_there_is_one():
    outcomes = outcomes_of(2)
    s = outcomes.scalars
    outcomes.agent_answer[:, CHILD] = 10
    case = panel_case(outcomes)
    assert not s["reinforces"][case] or s["reinforces"].all()
    fitting = ~s["reinforces"] & s["changes"]
    assert s["changes"][case] or not fitting.any()
