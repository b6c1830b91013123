"""What is to be seen in a picture, in a sentence made from its numbers: its title on the page."""

import math
from collections.abc import Iterable, Mapping, Sequence

from testbed.run.strata import SUPPORT_BINS
from testbed.scores.frame import Frame
from testbed.scores.statistics import Estimate
from testbed.scores.summary import KEPT, subset_of_first

NOTHING = "there is nothing to compare"
FEW, MANY = SUPPORT_BINS[:2], SUPPORT_BINS[3:]
"""Objects that one subject has or none, and those that five have or more."""


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


def describe_support(lines: Iterable[Sequence[Estimate]], what: str) -> str:
    """Whether a metric of all editors together is higher where many subjects share the new object.

    Args:
        lines: of each editor, an estimate for each of SUPPORT_BINS.
    """
    by_bin = dict(zip(SUPPORT_BINS, zip(*lines, strict=True), strict=True))
    few, many = (_pool([e for b in bins for e in by_bin[b]]) for bins in (FEW, MANY))
    if few is None or many is None:
        return f"{capitalise(what)} by support: {NOTHING}"
    rises = "rises with" if many > few else "does not rise with"
    return (
        f"{capitalise(what)} {rises} support: {format_number(few)} where one subject or none has the "
        f"object, {format_number(many)} where five or more do, over all editors"
    )


def describe_retention(frame: Frame, counts: Mapping[str, Sequence[int]], metric: str = "") -> str:
    """Whose last edits are best kept, and whose least; `counts` are by editor, see `draw_retention`."""
    kept = {name: frame.cell(metric, name, subset_of_first(at[-1], KEPT)) for name, at in counts.items()}
    most = max((at[-1] for at in counts.values()), default=0)
    what = f"{frame.label_of(metric)} kept after {most:,} edits"
    return describe_extremes({name: cell.value for name, cell in kept.items() if cell}, what)


def format_number(value: float) -> str:
    """A number as running text prints it."""
    return f"{value:.2f}"


def _pool(estimates: Sequence[Estimate]) -> float | None:
    """The mean of some estimates, weighted by cases; None where there are none."""
    known = [e for e in estimates if e.cases and not math.isnan(e.value)]
    cases = sum(e.cases for e in known)
    return sum(e.value * e.cases for e in known) / cases if cases else None


def capitalise(text: str) -> str:
    """With a capital letter at its beginning, the rest as it is."""
    return text[:1].upper() + text[1:]
