"""What is to be seen in a picture, in a sentence made from its numbers: its title on the page."""

import math
from collections.abc import Mapping, Sequence

from testbed.scores.statistics import Estimate

NOTHING = "there is nothing to compare"


def describe_extremes(values: Mapping[str, float], what: str) -> str:
    """Whose value is the highest and whose the lowest."""
    known = {name: value for name, value in values.items() if not math.isnan(value)}
    if not known:
        return f"{capitalise(what)}: {NOTHING}"
    high, low = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
    if known[high] == known[low]:
        return f"{capitalise(what)}: {format_number(known[high])} everywhere"
    ends = (f"{name} ({format_number(known[name])})" for name in (high, low))
    return "{}: highest for {}, lowest for {}".format(capitalise(what), *ends)


def describe_lines(
    panels: Mapping[str, Mapping[str, Sequence[Estimate]]], ticks: Sequence[str], what: str
) -> str:
    """The highest and the lowest point of the first line of every panel."""
    values: dict[str, float] = {}
    for title, lines in panels.items():
        first = next(iter(lines.values()), ())
        values |= {f"{title}, {tick}": e.value for tick, e in zip(ticks, first, strict=True) if e.cases}
    return describe_extremes(values, what)


def format_number(value: float) -> str:
    """A number as running text prints it."""
    return f"{value:.2f}"


def capitalise(text: str) -> str:
    """With a capital letter at its beginning, the rest as it is."""
    return text[:1].upper() + text[1:]
