"""What works on a sweep: an editor, and which facts it is given for a case. Importing this loads no JAX."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lm.editors.entry import Entry

if TYPE_CHECKING:
    from lm.editors.interface import Editor
    from testbed.protocol import Case

Fact = tuple[int, int, int]


class Method(NamedTuple):
    """An editor, and which facts it is given for a case.

    Attributes:
        facts: what it is told; the first again where another case has more.
        most: how many edits are worth computing side by side.
    """

    editor: "Editor"
    facts: "Callable[[Case], list[Fact]]"
    most: int = 128


@dataclass(frozen=True)
class Control(Entry):
    """An editor that only a testbed can have: `build` is given (configuration, settings, world).

    It returns a whole `Method`.
    """


def the_request(case: "Case") -> list[Fact]:
    """What every method is given, except controls."""
    return [case.fact]
