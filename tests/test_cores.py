"""Work on several cores, and sums by case, against naive twins."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from testbed.scores.cores import lazy_property
from testbed.scores.metric import sum_by_case
from testbed.scores.readers import ratio_by_case


class Meeting:
    """Something whose property is computed only while that of another is."""

    def __init__(self, both: Barrier) -> None:
        self.both, self.times = both, 0

    @lazy_property
    def place(self) -> int:
        """Where they meet."""
        self.both.wait()
        self.times += 1
        return self.times


def test_threads_do_not_wait_for_each_others_properties():
    both = Barrier(2, timeout=5)
    meetings = [Meeting(both), Meeting(both)]
    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(lambda one: (one.place, one.place), meetings)] == [(1, 1), (1, 1)]
    assert Meeting.place.__doc__ == "Where they meet."


@given(st.integers(0, 10_000), st.booleans())
def test_sums_by_case_are_those_of_a_loop(seed, is_sorted):
    rng = np.random.default_rng(seed)
    cases, questions = int(rng.integers(1, 6)), int(rng.integers(0, 20))
    case, among = rng.integers(0, cases, questions), rng.random(questions) < 0.6
    case = np.sort(case) if is_sorted else case
    values, others = rng.random((2, questions))
    metric, of_all = sum_by_case(values, case, cases, among), sum_by_case(values > 0.5, case, cases)
    ratio = ratio_by_case(values, others, case, cases, among)
    for k in range(cases):
        here = [i for i in range(questions) if case[i] == k]
        count = [i for i in here if among[i]]
        np.testing.assert_allclose(metric.numerator[k], sum(values[i] for i in count))
        assert metric.denominator[k] == len(count)
        assert of_all.numerator[k] == sum(values[i] > 0.5 for i in here)
        assert of_all.denominator[k] == len(here)
        np.testing.assert_allclose(ratio.numerator[k], sum(values[i] for i in count))
        np.testing.assert_allclose(ratio.denominator[k], sum(others[i] for i in count))
    assert of_all.share
    assert not metric.share
