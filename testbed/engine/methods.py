"""What works on a sweep: an editor, and what it is told of a case. Importing this loads no JAX."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from lm.editors.entry import Entry

if TYPE_CHECKING:
    from lm.editors.interface import Editor
    from testbed.protocol import Case

Triple = tuple[int, int, int]
"""Subject, relation and object."""


class Belief(NamedTuple):
    """A fact that an editor is told.

    Attributes:
        credence: how far it is to be believed.
        weight: evidence that the agent takes it for, which is told to controls only.
    """

    fact: Triple
    credence: float
    weight: float = 0.0


class Method(NamedTuple):
    """An editor, and what it is told of a case.

    Attributes:
        facts_told: the request first; the first again, not to be believed at all, where another case has
        more.
        most: how many edits are worth computing side by side.
        strength: the request's probability at which edits stop, see `lm.editors.strength`; None where they
            are taken as the editor makes them.
        author: the user's own function or object that the editor only calls; None where there is none.
        reads_forms: whether `facts_told` says what a request that is no assertion makes of beliefs. Then what
            it says is the method's own, and no gold.
    """

    editor: "Editor"
    facts_told: "Callable[[Case], list[Belief]]"
    most: int = 128
    strength: float | None = None
    author: Any = None
    reads_forms: bool = False

    def tell_facts(self, case: "Case") -> list[Belief]:
        """What the editor is told of a case; even a control that may see gold sees no spot check."""
        from testbed.protocol import hide_spot_checks

        return self.facts_told(hide_spot_checks(case))

    def facts_besides_request(self, case: "Case") -> set[tuple[int, int]]:
        """Subject and relation of all that the editor is told of but the request itself."""
        if self.reads_forms:
            return set()
        told = {belief.fact[:2] for belief in self.tell_facts(case)}
        return told - {part[:2] for part in case.request.parts}


@dataclass(frozen=True)
class Control(Entry):
    """An editor that only a testbed can have: `build` is given (configuration, settings, world).

    It returns a whole `Method`.
    """


def the_request(case: "Case") -> list[Belief]:
    """What every method is told, except controls."""
    return [Belief(part[:3], case.credence) for part in case.request.parts]
