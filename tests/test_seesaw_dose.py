"""Doses of edits: the same requests at every dose, and nobody asked whom a request is about."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.studies.seesaw_dose import Settings, edit_settings, is_requested, list_runs


def test_doses_differ_in_nothing_but_how_many_are_made_at_once():
    options = Settings(worlds=2)
    (run, seed), _ = list_runs(options)
    one, many = (edit_settings(options, run, seed, "memit", dose) for dose in (1, 300))
    assert (one.batch, many.batch) == (1, 300)
    assert one.settings_as_data() | {"batch": 0} == many.settings_as_data() | {"batch": 0}


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


def test_every_dose_divides_the_requests():
    with pytest.raises(ValueError, match="multiple of every dose"):
        Settings(edits=90, doses=(1, 100))
    with pytest.raises(ValueError, match="multiple of 24"):
        Settings(people=100)
