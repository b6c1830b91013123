"""Tau of editors between the models of a record."""

import pytest

from corpus.errors import InputError
from experiments.rank_agreement import Settings, agreement_table, run_study

METRICS = ("propagation ratio", "damage")
"""Of the first nearer to 1 is better, of the second less."""


def write_figures_of(values):
    """By editor, all cases, as a record nests them: value and the ends of its interval."""
    return {
        name: {"all": {name: {metric: [value, value - 1, value + 1] for metric in METRICS}}}
        for name, value in values.items()
    }


@pytest.mark.parametrize(
    ("second", "tau"),
    [
        ((0.5, 0.6, 0.7, 0.8), 1),
        ((0.8, 0.7, 0.6, 0.5), -1),
        ((0.6, 0.5, 0.7, 0.8), 2 / 3),
        ((0.5,) * 4, None),
    ],
)
def test_tau_is_of_the_order_of_editors(second, tau):
    names = tuple("abcd")
    figures = {
        "small": write_figures_of(dict(zip(names, (0.1, 0.2, 0.3, 0.4), strict=True))),
        "large": write_figures_of(dict(zip(names, second, strict=True))),
    }
    rows = {row[0]: row[1] for row in agreement_table(figures, names).rows}
    for metric in METRICS:
        assert rows[metric] == pytest.approx(tau if tau is not None else float("nan"), nan_ok=True)
    assert rows["edit success"] != rows["edit success"], "no editor has it: no rank"


def test_an_editor_that_a_model_lacks_is_named():
    figures = {"small": write_figures_of({"a": 0.1, "b": 0.2}), "large": write_figures_of({"a": 0.1})}
    with pytest.raises(InputError, match="large was not edited by b"):
        agreement_table(figures, ("a", "b"))


def test_a_record_that_there_is_not():
    with pytest.raises(InputError, match="not a record"):
        run_study(Settings("2020-01-01-none"))
