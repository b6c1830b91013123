"""The paper's tests, against what can be counted by hand."""

import math
from collections import Counter

import numpy as np
import pytest

from testbed.evaluations.leme.correlation import chi_square_test, signed_rank_test

LOW = np.array([0.1, 0.2, 0.3, 0.1, 0.0, 0.4])
HIGH = LOW + np.array([0.1, 0.25, 0.3, 0.45, 0.5, 0.55])


def test_all_signs_alike_are_one_of_all_orders_of_signs():
    assert signed_rank_test(LOW, HIGH, rises=True) == pytest.approx(1 / 2**6)
    assert signed_rank_test(LOW, HIGH, rises=False) == pytest.approx(1)
    assert signed_rank_test(HIGH, LOW, rises=False) == pytest.approx(1 / 2**6)


def test_no_change_and_too_few_pairs():
    assert signed_rank_test(LOW, LOW, rises=True) == 1
    gaps = np.where(np.arange(6) < 2, np.nan, HIGH)
    assert math.isnan(signed_rank_test(LOW, gaps, rises=True))


def test_chi_square_of_verdicts():
    """Of two rows 10, 30 and 30, 10 the statistic is 80 * 20^2 * 40^2 / 40^4, less by Yates."""
    assert chi_square_test(Counter({-1: 10, 1: 30}), Counter({-1: 10, 1: 30})) == pytest.approx(1)
    statistic = 80 * (abs(10 * 10 - 30 * 30) - 40) ** 2 / 40**4
    p = chi_square_test(Counter({-1: 10, 1: 30}), Counter({-1: 30, 1: 10}))
    assert p == pytest.approx(math.erfc(math.sqrt(statistic / 2)))
    assert math.isnan(chi_square_test(Counter({1: 30}), Counter({1: 10})))
    assert math.isnan(chi_square_test(Counter(), Counter({1: 10, 0: 5})))
