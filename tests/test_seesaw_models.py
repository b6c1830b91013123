"""Cells of several models: the same cells rank alike, and others are refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from experiments.measures.people_models import compare_models, compare_printed_models, sum_cells
from testbed.evaluations.seesaw import NEW_HOLDERS, OLD_HOLDERS


def changes_of(seed, asked_seed=0):
    """Ten edits of two properties, each asked about both kinds of others at random."""
    rng, asked = np.random.default_rng(seed), np.random.default_rng(asked_seed)
    case = np.repeat(np.arange(10), 6)
    choices = SimpleNamespace(case=case, role=asked.choice([NEW_HOLDERS, OLD_HOLDERS], len(case)))
    properties = np.array(["work", "gender"] * 5)

    class Ten(SimpleNamespace):
        def __len__(self):
            return 10

    return SimpleNamespace(
        results=Ten(choices=choices, cases={"property": properties}),
        changes=SimpleNamespace(change=rng.normal(size=len(case))),
    )


def test_sums_are_those_of_loops():
    one = changes_of(1)
    sums, answers = sum_cells(one)
    keys = [(p, kind) for p in ("gender", "work") for kind in (NEW_HOLDERS, OLD_HOLDERS)]
    for k, (name, kind) in enumerate(keys):
        for edit in range(10):
            mine = [
                change
                for case, role, change in zip(
                    one.results.choices.case, one.results.choices.role, one.changes.change, strict=True
                )
                if case == edit and role == kind and one.results.cases["property"][edit] == name
            ]
            assert sums[edit, k] == pytest.approx(sum(mine))
            assert answers[edit, k] == len(mine)


def test_a_model_ranks_as_itself_and_is_compared_on_the_same_questions_only():
    one = changes_of(1)
    same = compare_models(one, one, 0)
    assert same.value == same.low == same.high == pytest.approx(1.0)
    other = compare_models(one, changes_of(2), 0)
    assert other.low <= other.value <= other.high
    assert other.cases == same.cases == sum_cells(one)[1].shape[1]
    with pytest.raises(ValueError, match="different questions"):
        compare_models(one, changes_of(1, asked_seed=1), 0)


def test_the_papers_five_models_make_ten_pairs():
    by_table = compare_printed_models()
    assert [*by_table] == ["Table 4", "Table 11, race", "Table 13, region", "Table 15, gender"]
    assert all(len(rhos) == 10 for rhos in by_table.values())
