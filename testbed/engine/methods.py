"""What works on a sweep: an editor, and what it is told of a case. Importing this loads no JAX."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from lm.editors.entry import Entry
from testbed.run.settings import AgentName, PaperAgentConfig

if TYPE_CHECKING:
    from lm.editors.interface import Editor
    from testbed.protocol import Case

Triple = tuple[int, int, int]
"""Subject, relation and object."""


class SweepSettings(Protocol):
    """What methods take from the settings of a sweep; `testbed.settings.EditSettings` has it all.

    Attributes:
        configs: hyper-parameters by the prefix of their options.
        runs, run: where the run lies, and its name.
        sequence, batch: edits that build on each other, and facts of one edit.
        agent, paper_agent: the standard, and settings of the paper's agent.
        seed: root seed.
        strength: the request's probability at which edits stop; None for no such stop.
    """

    @property
    def configs(self) -> dict[str, Any]: ...
    @property
    def runs(self) -> Path: ...
    @property
    def run(self) -> str: ...
    @property
    def sequence(self) -> int: ...
    @property
    def batch(self) -> int: ...
    @property
    def agent(self) -> AgentName: ...
    @property
    def paper_agent(self) -> PaperAgentConfig: ...
    @property
    def seed(self) -> int: ...
    @property
    def strength(self) -> float | None: ...


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
    """

    editor: "Editor"
    facts_told: "Callable[[Case], list[Belief]]"
    most: int = 128
    strength: float | None = None


@dataclass(frozen=True)
class Control(Entry):
    """An editor that only a testbed can have: `build` is given (configuration, settings, world).

    It returns a whole `Method`.
    """


def the_request(case: "Case") -> list[Belief]:
    """What every method is told, except controls."""
    return [Belief(case.requested_fact, case.credence)]
