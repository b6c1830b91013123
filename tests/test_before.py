"""The unedited model beside the agent: by hand, and for models that are the agent or are not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.pages.sections import before_table
from testbed.scores.before import ALL, BELIEF, BINS, CONFIDENCE, DISTANCE, EXCESS, RIGHT, score_before_edit
from testbed.scores.distances import total_variation
from tests.random_answers import draw_answers, flat

seeds = st.integers(0, 500)


def three_questions():
    """Two of facts never stated, one of a fact stated five times; each with three options."""
    answers = draw_answers(0)
    answers.agent_answer[:] = -1
    says = [(0, 0, (0.8, 0.2, 0), (0.5, 0.5, 0)), (1, 0, (0.3, 0.6, 0.1), (0.3, 0.6, 0.1)),
            (1, 5, (0.1, 0.1, 0.4), (0, 0, 1))]  # fmt: skip
    for q, (case, stated, lm, agent) in enumerate(says):
        answers.stated[case, q] = stated
        answers.lm[case, q, 0], answers.agent[case, q, 0] = (*lm, 0), (*agent, 0)
        answers.agent_answer[case, q] = answers.objects[case, q, np.argmax(agent)]
        answers.lm_answer[case, q] = answers.objects[case, q, np.argmax(lm)]
    return flat(answers)


def test_by_hand():
    strata = score_before_edit(three_questions())
    assert list(strata) == [ALL, "S0", "S2"]
    assert [of.questions for of in strata.values()] == [3, 2, 1]
    value = {name: {m: e.value for m, e in of.estimates.items()} for name, of in strata.items()}
    # Of the first question .3 lies elsewhere, of the last .6 is named by nobody.
    assert value["S0"][DISTANCE] == pytest.approx((0.3 + 0) / 2)
    assert value["S2"][DISTANCE] == pytest.approx(0.6)
    assert value[ALL][DISTANCE] == pytest.approx(0.3)
    assert (value["S0"][RIGHT], value["S2"][RIGHT]) == (1, 1)
    assert value["S0"][CONFIDENCE] == pytest.approx(0.7)
    assert value["S0"][BELIEF] == pytest.approx(0.55)
    assert value["S0"][EXCESS] == pytest.approx(0.15)
    assert value["S2"][EXCESS] == pytest.approx(-0.6)
    # Too sure by .3, not at all, and too unsure by .6, each in a bin of its own.
    assert strata["S0"].calibration == pytest.approx(0.15)
    assert strata["S2"].calibration == pytest.approx(0.6)
    assert strata[ALL].calibration == pytest.approx(0.3)
    assert [(b.confidence.value, b.belief.value) for b in strata["S0"].bins] == [
        (pytest.approx(0.6), pytest.approx(0.6)),
        (pytest.approx(0.8), pytest.approx(0.5)),
    ]
    rows = before_table(strata).rows
    assert [row[0] for row in rows] == ["all", "S0, never stated", "S2, stated more often"]


@settings(max_examples=15)
@given(seeds)
def test_a_model_that_is_the_agent_is_at_no_distance_and_calibrated(seed):
    answers = draw_answers(seed)
    answers.lm[:, :, 0] = answers.agent[:, :, 0]
    answers.lm_answer[..., 0] = answers.agent_answer[..., 0]
    for of in score_before_edit(flat(answers)).values():
        value = {name: e.value for name, e in of.estimates.items()}
        assert value[DISTANCE] == value[EXCESS] == of.calibration == 0
        assert value[RIGHT] == 1


@settings(max_examples=15)
@given(seeds)
def test_strata_share_out_the_questions_and_what_is_credence_told_them(seed):
    answers = draw_answers(seed)
    strata, c = score_before_edit(flat(answers)), flat(answers).choices
    everything = strata.pop(ALL)
    assert sum(of.questions for of in strata.values()) == everything.questions == answers.present.sum()
    for name, of in everything.estimates.items():
        parts = sum(part.questions * part.estimates[name].value for part in strata.values())
        assert of.value * everything.questions == pytest.approx(parts)
    lm, agent = c.lm[:, 0], c.agent[:, 0]
    assert everything.estimates[DISTANCE].value == pytest.approx(total_variation(lm, agent).mean())
    # An error that no bin hides is at least the mean one, and at most the mean absolute one.
    excess = lm.max(1) - agent[np.arange(len(lm)), lm.argmax(1)]
    assert abs(excess.mean()) - 1e-12 <= everything.calibration <= np.abs(excess).mean() + 1e-12
    assert everything.calibration == pytest.approx(
        sum(abs(excess[np.floor(lm.max(1) * BINS) == b].sum()) for b in range(BINS)) / len(lm)
    )
