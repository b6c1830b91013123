"""The verdict on each printed figure: same, differs, or cannot tell, by one rule, from the numbers alone.

A table of a page whose last column is *verdict* has three others: what a paper *printed*, what *ours* is with
its 95% interval, and how many *edits* that rests on. A cell is a number; or how many of how many; or a
change, "0.40 to 0.52" or "by 0.12", where only its direction is compared, as scales may differ. `python -m
experiments.docs` writes the verdicts. Behind each stands the record that has our figure: the one that stood
there, or the first of those that the line above the table names.

- Fewer than FEWEST edits, or no interval: cannot tell.
- A figure is the *same* if it lies within NEAR of the printed one, or if an interval of at most 2 WIDE holds
  the printed one. It *differs* if its interval holds nothing within NEAR of the printed one, or if it is
  narrow and does not hold the printed one itself. Anything else is open.
- Counts are the same or differ by Fisher's exact test at 5%.
- A change is the *same* if its interval lies on the printed side of 0. It *differs* if it lies on the other
  side, or says that nothing changes by more than NEAR where a paper prints a change. The interval of a change
  takes before and after to be independent, which is too wide rather than too narrow.
"""

import re
from collections.abc import Sequence
from functools import cache
from math import hypot, isnan, nan
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from scipy.stats import fisher_exact

from corpus.errors import InputError
from experiments.figures import FIGURES
from experiments.record import RECORDS

FEWEST = 30
"""Edits, or groups where a cell counts those."""
NEAR = 0.05
WIDE = 0.1
SAME, DIFFERS, OPEN = "same", "differs", "cannot tell"
_SLACK = 0.005
"""Of numbers that are printed with two digits."""
_NUMBER = r"[+-]?\d*\.?\d+"
_LEVEL = re.compile(rf"^({_NUMBER})(?: ± ({_NUMBER})| \[({_NUMBER}), ({_NUMBER})\])?$")
_COUNT = re.compile(r"^(\d+) of (\d+)$")


class Level(NamedTuple):
    """A figure with its interval; nan where there is none."""

    value: float
    low: float = nan
    high: float = nan


def read_level(text: str) -> Level:
    """A cell such as 0.80 ± 0.05, or 0.98 [0.91, 1], or 0.80.

    Raises:
        ValueError: it is none.
    """
    match = _LEVEL.match(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no figure; write 0.80 ± 0.05, 0.98 [0.91, 1], or a change as A to B")
    value, half, low, high = (None if part is None else float(part) for part in match.groups())
    assert value is not None
    if half is not None:
        return Level(value, value - half, value + half)
    return Level(value) if low is None or high is None else Level(value, low, high)


def judge(printed: str, ours: str, edits: int) -> str:
    """The verdict on a row, from its cells.

    >>> judge("0.76", "0.80 ± 0.05", 400), judge("0.52", "0.33 ± 0.04", 400), judge("0.54", "0.21 ± 0.05", 8)
    ('same', 'differs', 'cannot tell')

    Raises:
        ValueError: a cell is none of the kinds that are compared.
    """
    if edits < FEWEST:
        return OPEN
    counts = [_COUNT.match(cell.strip()) for cell in (printed, ours)]
    if all(counts):
        return judge_counts(*([int(x) for x in match.groups()] for match in counts if match))
    if printed.startswith("by "):
        nothing = Level(0.0, 0.0, 0.0)
        return judge_change(float(printed[3:]), nothing, read_level(ours.removeprefix("by ")))
    if " to " in printed:
        (p0, p1), (q0, q1) = ([read_level(x) for x in cell.split(" to ")] for cell in (printed, ours))
        return judge_change(p1.value - p0.value, q0, q1)
    return judge_level(read_level(printed).value, read_level(ours))


def judge_level(printed: float, ours: Level) -> str:
    """The verdict on a figure."""
    if isnan(ours.low):
        return OPEN
    if abs(ours.value - printed) <= NEAR + _SLACK:
        return SAME
    is_narrow = ours.high - ours.low <= 2 * (WIDE + _SLACK)
    if ours.low - _SLACK <= printed <= ours.high + _SLACK:
        return SAME if is_narrow else OPEN
    is_far = ours.low > printed + NEAR or ours.high < printed - NEAR
    return DIFFERS if is_far or is_narrow else OPEN


def judge_change(printed: float, before: Level, after: Level) -> str:
    """The verdict on a change, by its direction."""
    if isnan(before.low) or isnan(after.low) or not printed:
        return OPEN
    change, sign = after.value - before.value, 1 if printed > 0 else -1
    low = sign * change - hypot(_arm(after, -sign), _arm(before, sign))
    high = sign * change + hypot(_arm(after, sign), _arm(before, -sign))
    if low > 0:
        return SAME
    return DIFFERS if high < 0 or (low > -NEAR and high < NEAR) else OPEN


def _arm(of: Level, sign: int) -> float:
    """How far an interval reaches upward (1) or downward (-1)."""
    return of.high - of.value if sign > 0 else of.value - of.low


def judge_counts(printed: list[int], ours: list[int]) -> str:
    """The verdict on so many of so many; of few of ours none."""
    if ours[1] < FEWEST:
        return OPEN
    table = [[some, every - some] for some, every in (printed, ours)]
    return DIFFERS if fisher_exact(table).pvalue < 0.05 else SAME


def find_record(ours: str, records: Sequence[str]) -> str:
    """The first of some records that has a figure, or both of a change; of a count the first.

    Raises:
        InputError: none has it.
    """
    if _COUNT.match(ours):
        return records[0]
    levels = [read_level(part) for part in ours.removeprefix("by ").split(" to ")]
    for record in records:
        if all(_has_level(record, level) for level in levels):
            return record
    raise InputError(f"{', '.join(records)}: no such record has {ours!r}; name the one that has it")


def _has_level(record: str, level: Level) -> bool:
    """Whether a record has a figure that is printed so."""
    there = np.abs(_read_levels(record) - level)
    return bool((np.isnan(level) | (there < [_SLACK, 2 * _SLACK, 2 * _SLACK])).all(axis=1).any())


@cache
def _read_levels(record: str) -> np.ndarray:
    """float64[figures, 3]: the value of each and the ends of its interval, nan where there is none."""
    table = pq.read_table(RECORDS / record / FIGURES, columns=[*Level._fields])
    return np.column_stack([table[name].to_numpy().astype(float) for name in Level._fields])


def fill_verdicts(text: str) -> str:
    """The text of a page with the verdict of each row as it is computed, and the record that it rests on."""
    lines, header, records = text.split("\n"), list[str](), list[str]()
    for i, line in enumerate(lines):
        if line.startswith("<!-- command: "):
            records = re.findall(r"\d{4}-\d\d-\d\d-[\w-]*\w", line)
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        is_rule = bool(cells) and set("".join(cells)) <= set("-:")
        if not cells or not header:
            header = cells
        elif header[-1] == "verdict" and not is_rule:
            found = dict(zip(header, cells, strict=True))
            verdict = judge(found["printed"], found["ours"], int(found["edits"].replace(",", "")))
            named = [record for record in records if record in cells[-1].split(", ")] or records
            if named:
                verdict += f", {find_record(found['ours'], named)}"
            lines[i] = "| " + " | ".join([*cells[:-1], verdict]) + " |"
    return "\n".join(lines)
