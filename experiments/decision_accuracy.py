"""Would a small model have decided between editors as a large one does? From a record of both.

Command:
    python -m experiments.decision_accuracy 2026-11-26-transfer pretrain-paper-fast

Of the pairs of editors that surely differ on the large model, as their intervals are apart: what share does
the small model order alike? A rank correlation counts pairs that the large model does not tell apart, too:
among values that are all near 0 it says nothing of an order. Takes a second; no model is needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import tyro

from experiments.command import launch_module
from experiments.figures import FIGURES, read_figures
from experiments.record import RECORDS
from testbed.console import say
from testbed.scores.tables import Cell, Table, markdown_section


@dataclass(frozen=True)
class Settings:
    """Which record, and which of its models is the large one."""

    record: tyro.conf.Positional[str] = "2026-11-26-transfer"
    """Name of a folder in experiments/records with values by model and editor."""
    large: tyro.conf.Positional[str] = "pretrain-paper-fast"
    """The large model's run."""


class Interval(NamedTuple):
    """A value with its 95% interval."""

    value: float
    low: float
    high: float


def decision_accuracy(
    small: Mapping[str, Interval], large: Mapping[str, Interval]
) -> tuple[float | None, int]:
    """The share of pairs that surely differ on the large model and are ordered alike on the small one.

    Args:
        small, large: by editor; those that both have are compared.

    Returns:
        The share, None of no pair, and how many pairs surely differ.
    """
    alike: list[bool] = []
    for first, second in combinations([name for name in large if name in small], 2):
        a, b = large[first], large[second]
        if a.low > b.high or b.low > a.high:
            alike.append((small[first].value - small[second].value) * (a.value - b.value) > 0)
    return (sum(alike) / len(alike) if alike else None), len(alike)


def run_study(settings: Settings) -> None:
    """Print the table."""
    values: dict[str, dict[str, dict[str, Interval]]] = {}
    for one in read_figures(RECORDS / settings.record / FIGURES):
        if one.table == "values" and None not in (one.value, one.low, one.high):
            model, editor = one.labels
            interval = Interval(one.value, one.low, one.high)  # type: ignore[arg-type]
            values.setdefault(one.figure, {}).setdefault(model, {})[editor] = interval
    names = [model for model in next(iter(values.values())) if model != settings.large]
    rows: list[list[Cell]] = []
    for metric, by_model in values.items():
        found = [decision_accuracy(by_model[name], by_model[settings.large]) for name in names]
        most = max(len(of) for of in by_model.values())
        rows.append([metric, f"{found[0][1]} of {most * (most - 1) // 2}", *(share for share, _ in found)])
    head = ["metric", "pairs that surely differ", *names]
    title = f"Decision accuracy for {settings.large}"
    say(markdown_section(Table("decisions", title, head, rows)))


if __name__ == "__main__":
    launch_module()
