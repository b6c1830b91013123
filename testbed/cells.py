"""A cell of a printed table: what people read, and what it says to a program that reads the table as JSON."""

import math
import unicodedata
from numbers import Integral
from typing import Any, NamedTuple

UNPRINTABLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode's categories of control characters and the like."""


class Shown(NamedTuple):
    """A value, and the text that stands for it."""

    text: str
    value: Any

    def __str__(self) -> str:
        return self.text


def show_number(value: float, spec: str = ",") -> Shown:
    """A number as `format(value, spec)` writes it; what is not a number is shown as nothing."""
    return Shown("" if math.isnan(value) else format(value, spec), value)


def cell_text(cell: Any) -> str:
    """A cell as people read it; whole numbers have commas."""
    return f"{cell:,}" if isinstance(cell, Integral) else escape_controls(str(cell))


def escape_controls(text: str) -> str:
    """A text with an escape for every character that moves a terminal's cursor or turns its writing round.

    Line ends stay, and the two marks that letters of some scripts need between them.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c.encode("unicode_escape").decode()
        if c not in "\n\u200c\u200d" and unicodedata.category(c) in UNPRINTABLE
        else c
        for c in text
    )


def as_json(cell: Any) -> Any:
    """A cell as JSON holds it: numbers stay numbers, named fields become objects, no number becomes null."""
    if isinstance(cell, Shown):
        return as_json(cell.value)
    if hasattr(cell, "item"):
        # A number of NumPy's.
        return as_json(cell.item())
    if hasattr(cell, "_asdict"):
        return {key: as_json(value) for key, value in cell._asdict().items()}
    if isinstance(cell, dict):
        return {str(key): as_json(value) for key, value in cell.items()}
    if isinstance(cell, list | tuple):
        return [as_json(value) for value in cell]
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    return cell if isinstance(cell, int | float | str | None) else str(cell)
