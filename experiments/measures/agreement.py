"""How well an order of editors on one model holds on another."""

from collections.abc import Mapping
from itertools import combinations

from testbed.scores.statistics import Estimate


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
