"""Edits on top of each other in the study: who is spared, what the agent does, what counts, half-lives."""

import numpy as np
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from experiments.measures.sequences import fit_half_life

EDITS, MARKS = 9, [1, 9]


@hypothesis_settings(deadline=None, max_examples=10)
@given(st.floats(3, 3000), st.integers(0, 99))
def test_a_half_life_is_found_again(truth, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(1, int(4 * truth) + 2, 500)
    found = fit_half_life(age, rng.random(500) < np.exp2(-age / truth))
    assert found.low <= found.edits <= found.high
    assert found.low / 1.3 < truth < found.high * 1.3


def test_a_half_life_of_what_is_never_lost_has_a_least():
    found = fit_half_life(np.arange(1, 101), np.ones(100, bool))
    assert np.isinf(found.edits)
    assert np.isinf(found.high)
    assert found.low > 100
    assert fit_half_life(np.zeros(3), np.ones(3, bool)).requests == 0
