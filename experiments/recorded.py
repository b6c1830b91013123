"""Numbers that a page prints with an interval, looked up in the records of experiments.

A record has an estimate as value, low and high in one row, as a list of three numbers, as the text of a cell,
or as the numbers of several worlds, whose mean and range a page may print.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from typing import NamedTuple

import numpy as np
from pyarrow import Table, compute, parquet

from experiments.record import RECORDS
from experiments.tidy import FIGURES

Row = tuple[float, float, float]
"""Value, low, high."""

NUMBER = r"[+-]?\d*\.?\d+"
INTERVAL = re.compile(rf"(?<![\w.])({NUMBER}) ?(?:± ?({NUMBER})|\[({NUMBER}), ({NUMBER})\])")
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
ROUNDING = 0.51
"""Of the last printed digit; half would refuse what binary numbers round the other way."""


class Claim(NamedTuple):
    """A number with its interval, as a page prints it.

    Attributes:
        half: half of the interval, where it is printed as ±.
        ends: else both ends.
    """

    text: str
    value: str
    half: str | None
    ends: tuple[str, str] | None

    def bounds(self) -> tuple[float, float]:
        """Both ends of the interval."""
        if self.ends:
            return float(self.ends[0]), float(self.ends[1])
        value, half = float(self.value), float(self.half or 0)
        return value - half, value + half


def find_claims(text: str) -> list[Claim]:
    """Every number with an interval in a text, but in code and in paragraphs that say "no record"."""
    parts = (part for part in CODE.sub(" ", text).split("\n\n") if "no record" not in part)
    return [_read_claim(match) for part in parts for match in INTERVAL.finditer(part)]


def find_unrecorded(claims: list[Claim], records: tuple[str, ...]) -> list[str]:
    """The claims, as printed, that no estimate of these records rounds to."""
    estimates = [load_estimates(name) for name in records if (RECORDS / name / FIGURES).exists()]
    return [claim.text for claim in claims if not any(_is_among(claim, table) for table in estimates)]


@cache
def load_estimates(record: str) -> np.ndarray:
    """float64[n, 3]: value, low and high of every estimate of a record."""
    table = parquet.read_table(RECORDS / record / FIGURES)
    rows = np.stack([table[name].to_numpy() for name in ("value", "low", "high")], axis=1)
    printed = compute.filter(table["text"], compute.match_substring_regex(table["text"], "±|\\[")).to_pylist()
    listed = table.filter(compute.starts_with(table["figure"], "["))
    parts = [rows[~np.isnan(rows).any(axis=1)], [*_read_cells(printed)], [*_read_lists(listed)]]
    return np.concatenate([np.reshape(part, (-1, 3)) for part in parts])


def _read_cells(cells: Iterable[str]) -> Iterator[Row]:
    for claim in (claim for cell in cells for claim in find_claims(cell)):
        yield float(claim.value), *claim.bounds()


def _read_lists(listed: Table) -> Iterator[Row]:
    """A list of numbers as value and interval, and as the mean and the range of worlds."""
    rows = zip(*(listed[name].to_pylist() for name in ("table", "labels", "value")), strict=True)
    for _, group in groupby(rows, lambda row: row[:2]):
        values = [value for *_, value in group if value is not None]
        if len(values) > 2:
            yield values[0], values[1], values[2]
            yield float(np.mean(values)), min(values), max(values)


def _read_claim(match: re.Match[str]) -> Claim:
    value, half, low, high = match.groups()
    return Claim(match.group(), value, half, None if half else (low, high))


def _is_among(claim: Claim, estimates: np.ndarray) -> bool:
    value, low, high = estimates.T
    fits = _rounds_to(value, claim.value)
    if claim.half:
        fits &= _rounds_to((high - low) / 2, claim.half)
    if claim.ends:
        fits &= _rounds_to(low, claim.ends[0]) & _rounds_to(high, claim.ends[1])
    return bool(fits.any())


def _rounds_to(numbers: np.ndarray, printed: str) -> np.ndarray:
    digits = len(printed.partition(".")[2])
    return abs(numbers - float(printed)) <= ROUNDING * 10.0**-digits
