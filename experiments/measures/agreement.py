"""How well an order of editors on one model holds on another."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations, groupby

from experiments.figures import FIGURES, Figure, read_figures
from experiments.record import RECORDS
from testbed.scores.metric import SIZE_RECORDS
from testbed.scores.statistics import Estimate
from testbed.scores.tables import Cell, Table

LARGE = "pretrain-paper-fast"
"""The model of 83 million parameters in `SIZE_RECORDS`; a small one is called as `transfer-5M-0`."""
CONTEXT = "in-context"
"""The editor that stands in most of the pairs that surely differ."""


def decision_accuracy(
    small: Mapping[str, Estimate], large: Mapping[str, Estimate]
) -> tuple[float | None, int]:
    """The share of pairs of editors that surely differ on one model and are ordered alike on another.

    They surely differ where their intervals are apart. A rank correlation counts the others, too: among
    values that are all near 0 it says nothing of an order.

    Args:
        small, large: by editor; those that both have are compared.

    Returns:
        The share, None of no pair, and how many pairs surely differ on the large model.
    """
    alike: list[bool] = []
    for first, second in combinations([name for name in large if name in small], 2):
        a, b = large[first], large[second]
        if a.low > b.high or b.low > a.high:
            alike.append((small[first].value - small[second].value) * (a.value - b.value) > 0)
    return (sum(alike) / len(alike) if alike else None), len(alike)


def decisions_by_size(without: str = "") -> dict[str, dict[str, tuple[float | None, int]]]:
    """By metric and small model, how well its order of editors holds at 83 million parameters.

    Computed from stored estimates of each editor; of a model that both records have, from the first.

    Args:
        without: an editor that is left out.

    Returns:
        As `decision_accuracy`.
    """
    found: dict[str, dict[str, dict[str, Estimate]]] = defaultdict(lambda: defaultdict(dict))
    for record in reversed(SIZE_RECORDS):
        for one in read_figures(RECORDS / record / FIGURES):
            if one.table == "values" and one.value is not None and not one.over and without not in one.labels:
                model, editor = one.labels
                found[one.figure][model][editor] = Estimate(*one[6:10])  # type: ignore[arg-type]
    return {
        metric: {name: decision_accuracy(of, models[LARGE]) for name, of in models.items() if name != LARGE}
        for metric, models in found.items()
    }


def figures_by_size() -> Iterator[Figure]:
    """The same for a page: by metric the pairs, and by size the share of these, mean of its models."""
    fewer = decisions_by_size(without=CONTEXT)
    for metric, models in decisions_by_size().items():
        for head, of in (("pairs", models), (f"pairs without {CONTEXT}", fewer[metric])):
            yield Figure("decisions", labels=(metric,), figure=head, value=next(iter(of.values()))[1])
        for size, group in groupby(sorted(models), lambda name: name.split("-")[1]):
            shares = [share for name in group if (share := models[name][0]) is not None]
            if shares:
                mean = sum(shares) / len(shares)
                yield Figure("decisions", labels=(metric,), figure=size, value=mean)


def decision_table(by: Mapping[str, Mapping[str, Estimate]], metric: str) -> Table:
    """A row each of several models, worlds or judges: how often the others order editors as it does.

    Args:
        by: a metric's estimates, by model and by editor.
    """
    rows: list[list[Cell]] = []
    for name, large in by.items():
        shares = [decision_accuracy(small, large)[0] for small in by.values()]
        rows.append([name, decision_accuracy(large, large)[1], *shares])
    head = ["surely differ in", "pairs", *by]
    return Table(f"decisions-{metric}", f"Ordered alike, by {metric}", head, rows)
