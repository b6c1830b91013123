"""Colours: of the model, of the agent, and of every editor, the same in every picture and on every page.

Those of editors are Okabe & Ito's (2008) and two more, which people who see no red or no green tell apart;
each is dark enough to be seen on white, at a contrast of 3 to 1. On a dark page they are lighter.
"""

import re
import zlib
from collections.abc import Iterable
from typing import NamedTuple


class Colour(NamedTuple):
    """As CSS and Matplotlib write it, on a light page and on a dark one."""

    light: str
    dark: str


MODEL_COLOUR = Colour("#2b6cb0", "#63a4e8")
AGENT_COLOUR = Colour("#c9760f", "#f0a63f")
EDITOR_COLOURS = (
    Colour("#0072b2", "#4fb0ea"),
    Colour("#d55e00", "#ff8a45"),
    Colour("#009e73", "#3fcfa4"),
    Colour("#cc79a7", "#e6a3c8"),
    Colour("#8a6d00", "#d9b93a"),
    Colour("#3a99d0", "#8fd0f5"),
    Colour("#7a4fbf", "#b498ea"),
    Colour("#5f6c7b", "#a5b2bf"),
)
SLOTS = 2 * len(EDITOR_COLOURS)
"""A slot is a colour, and whether its mark is full or a ring: twice as many editors are told apart."""


def assign_slots(editors: Iterable[str]) -> dict[str, int]:
    """A slot for each editor, by its name without its settings, so that it is the same on every page.

    Where another editor shown has it already, the next that is free: up to SLOTS editors all differ.
    """
    slots: dict[str, int] = {}
    for name in dict.fromkeys(editors):
        base = re.split(r"[^\w.:-]", name)[0]
        first = zlib.crc32(base.encode()) % SLOTS
        taken = set(slots.values())
        free = [(first + i) % SLOTS for i in range(SLOTS) if (first + i) % SLOTS not in taken]
        slots[name] = free[0] if free else first
    return slots


def colour_of(slot: int) -> Colour:
    """The colour of a slot."""
    return EDITOR_COLOURS[slot % len(EDITOR_COLOURS)]


def has_ring(slot: int) -> bool:
    """Whether the mark of a slot is a ring."""
    return slot % SLOTS >= len(EDITOR_COLOURS)


def palette_css() -> str:
    """The colours as CSS variables: --model, --agent, --e0 and on; for a light page, and for a dark one."""
    named = {"model": MODEL_COLOUR, "agent": AGENT_COLOUR} | {
        f"e{i}": c for i, c in enumerate(EDITOR_COLOURS)
    }
    light, dark = ("".join(f"--{name}:{c[k]};" for name, c in named.items()) for k in (0, 1))
    marks = "".join(f".e{i}{{--mine:var(--e{i})}}" for i in range(len(EDITOR_COLOURS)))
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}{marks}"


MODEL, AGENT, QUIET, LATER = MODEL_COLOUR.light, AGENT_COLOUR.light, "#9aa5b1", "#8f3d76"
LINES = (MODEL, AGENT, LATER, "#2f855a", QUIET, "#1a202c")
GRID, TEXT, PAPER, JOIN = "#e4e7eb", "#1f2933", "#ffffff", "#b8c2cc"
ON_DARK = {
    **dict((MODEL_COLOUR, AGENT_COLOUR, *EDITOR_COLOURS)),
    **dict(zip(LINES[2:], ("#d58ac0", "#6fd3a0", "#75818d", "#cbd5df"), strict=True)),
    **{GRID: "#2a343e", TEXT: "#e6ebf0", PAPER: "#14191f", JOIN: "#566472", "#000000": "#e6ebf0"},
}
