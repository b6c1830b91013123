"""Doses of edits: the same requests at every dose, and nobody asked whom a request is about."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from experiments.measures.people_cells import is_requested


@given(st.integers(0, 2**32 - 1))
def test_whoever_a_request_is_about_is_found_in_their_own_world_only(seed):
    rng = np.random.default_rng(seed)
    cases = {name: rng.integers(0, 3, 6) for name in ("run", "subject", "relation")}
    choices = SimpleNamespace(
        case=rng.integers(0, 6, 20), subject=rng.integers(0, 3, 20), relation=rng.integers(0, 3, 20)
    )
    found = is_requested(SimpleNamespace(cases=cases, choices=choices))
    for i, is_found in enumerate(found):
        run = cases["run"][choices.case[i]]
        assert is_found == any(
            cases["run"][k] == run
            and cases["subject"][k] == choices.subject[i]
            and cases["relation"][k] == choices.relation[i]
            for k in range(6)
        )
