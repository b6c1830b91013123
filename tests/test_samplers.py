"""What follows, averaged as one sampler or another would draw classes of support."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from experiments.measures.samplers import average_over_support, count_support
from testbed.evaluations.hase.metrics import FOLLOWS
from testbed.run.strata import SUPPORT_BINS, support_bin
from tests.random_answers import draw_answers, flat, scores

SEEDS = st.integers(0, 2**32 - 1)


def draw_editor(seed):
    """An editor as scored, and by class of support what follows and how many there are."""
    answers = draw_answers(seed)
    metric, results = scores(answers)[FOLLOWS], flat(answers)
    bins = np.where(results.cases["reinforces"], -1, support_bin(results.cases["support_new"]))
    right, there = (
        np.array([x[bins == i].sum() for i in range(len(SUPPORT_BINS))])
        for x in (metric.numerator, metric.denominator)
    )
    assume(there.any())
    editor = SimpleNamespace(values={"x": {FOLLOWS: metric}}, edits=SimpleNamespace(results=results))
    return editor, right, there


@given(SEEDS)
def test_as_drawn_it_is_the_plain_share(seed):
    editor, right, there = draw_editor(seed)
    found = average_over_support(editor, "x", there)
    assert found.value == pytest.approx(right.sum() / there.sum())
    assert found.cases == np.count_nonzero(
        editor.values["x"][FOLLOWS].denominator[~editor.edits.results.cases["reinforces"]]
    )


@given(SEEDS, st.lists(st.floats(0.1, 1), min_size=5, max_size=5))
def test_it_is_the_sum_of_shares_times_rates(seed, shares):
    editor, right, there = draw_editor(seed)
    filled = there > 0
    share = np.where(filled, shares, 0)
    expected = (share[filled] * right[filled] / there[filled]).sum() / share.sum()
    assert average_over_support(editor, "x", share).value == pytest.approx(expected)
    assert average_over_support(editor, "x", 7 * share).value == pytest.approx(expected)


def test_only_contradicting_requests_that_change_something_are_counted():
    def case(support, changes=True, reinforces=False):
        facets = {"support_new": support, "changes": changes, "reinforces": reinforces}
        return SimpleNamespace(facets=facets)

    cases = [case(0), case(0), case(1), case(30), case(3, changes=False), case(3, reinforces=True)]
    assert count_support(cases).tolist() == [2, 1, 0, 0, 1]
