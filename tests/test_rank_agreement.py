"""Tau of editors between the models of records."""

from statistics import mean

import pytest

from corpus.errors import InputError
from experiments.figures import FIGURES, read_nested
from experiments.rank_agreement import Settings, agreement_table, read_values, run_study
from experiments.record import RECORDS

METRICS = ("propagation_ratio", "damage")
"""Of the first nearer to 1 is better, of the second less."""


def values_of(editors):
    """Every metric of an editor has one value."""
    return {name: dict.fromkeys(METRICS, value) for name, value in editors.items()}


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
    values = {
        "small": values_of(dict(zip(names, (0.1, 0.2, 0.3, 0.4), strict=True))),
        "large": values_of(dict(zip(names, second, strict=True))),
    }
    rows = {row[0]: row[1] for row in agreement_table(values, names).rows}
    for metric in METRICS:
        assert rows[metric] == pytest.approx(tau if tau is not None else float("nan"), nan_ok=True)
    assert rows["success"] != rows["success"], "no editor has it: no rank"


def test_an_editor_that_a_model_lacks_is_named():
    values = {"small": values_of({"a": 0.1, "b": 0.2}), "large": values_of({"a": 0.1})}
    with pytest.raises(InputError, match="large was not edited by b"):
        agreement_table(values, ("a", "b"))


def test_a_record_that_there_is_not():
    with pytest.raises(InputError, match="not a record"):
        run_study(Settings(("2020-01-01-none",)))


@pytest.mark.parametrize("record", ["2026-11-27-model-speed", "2026-11-26-seesaw-dose", "2026-11-24-recipes"])
def test_a_record_of_something_else_is_refused(record):
    with pytest.raises(InputError, match=f"{record} has no figures of editors by model"):
        run_study(Settings((record,)))


@pytest.mark.parametrize("record", ["2026-11-23-twelve-layers", "2026-11-27-transfer"])
def test_records_are_read(record):
    values = read_values(record)
    figures = [
        x for by_editor in values.values() for by_metric in by_editor.values() for x in by_metric.values()
    ]
    assert len(values) > 1
    assert len(figures) > 99
    assert all(x is None or isinstance(x, float) for x in figures)


def test_what_the_other_models_are_compared_with():
    values = {name: values_of({"a": 0.1, "b": 0.2}) for name in ("small", "large", "huge")}
    assert agreement_table(values, ("a", "b"), "large").header[1:] == [
        "small against large",
        "large against huge",
    ]
    with pytest.raises(InputError, match="--against middling: choose among 2 layers, 12 layers"):
        run_study(Settings(against="middling"))


def test_taus_of_a_record_are_those_of_its_study():
    """The mean over pairs of seeds, as `transfer` has it."""
    record = "2026-11-26-transfer"
    values = read_values(record)
    editors = tuple(values["transfer-0.4M-0"])
    large = "pretrain-paper-fast"
    small = {name: one for name, one in values.items() if name == large or "0.4M" in name}
    found = read_nested(RECORDS / record / FIGURES, "found")
    rows = {metric: taus for metric, *taus in agreement_table(small, editors, large).rows}
    for metric in METRICS:
        wanted = found[{"propagation_ratio": "propagation ratio"}.get(metric, metric)]["0.4M against 83M"][
            "tau"
        ]
        assert mean(rows[metric]) == pytest.approx(wanted["value"] if isinstance(wanted, dict) else wanted[0])
