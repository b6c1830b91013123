"""The evaluation for worlds of every kind: what the agent changes must follow, all else must stay.

No role is fixed by a relation's place. An edit is drawn, the agent is told it, and its own answers name the
questions: FOLLOWS and OTHERS_FOLLOW, which it changes, of the subject and of others; STATED and SILENT, which
it keeps, of the subject, by whether the corpus states them; OTHERS_STAY, of others. SPOT are facts of others
drawn at random, of which no editor is told. Importing this loads no NumPy and no JAX.
"""

from dataclasses import dataclass
from typing import ClassVar

from testbed.evaluations.interface import Evaluation
from testbed.run.settings import RequestName

REQUEST, FOLLOWS, STATED, SILENT = "request", "follows", "stays, stated", "stays, silent"
OTHERS_FOLLOW, OTHERS_STAY, SPOT = "others follow", "others stay", "spot.others"
OWN, OTHERS = (FOLLOWS, STATED, SILENT), (OTHERS_FOLLOW, OTHERS_STAY, SPOT)
ROLES = (REQUEST, *OWN, *OTHERS)


@dataclass(frozen=True)
class Kinds(Evaluation):
    """Which edits are requested, and how much is asked about each."""

    request: RequestName = "evidence"
    """How the agent takes a request. evidence: n' further statements; correction: a sentence that settles the
    fact; do: the world changed, which not every agent knows."""
    changing: float = 0.75
    """Share of requests that change another answer of the agent's, where the subject has such requests."""
    tries: int = 12
    """Requests about a subject that are tried for one that changes another answer."""
    others: int = 4
    """Facts of others that the request bears on, and as many at random (spot checks), in each case."""
    candidates: int = 24
    """Objects of each question whose probabilities are recorded; all others are one remainder."""

    package: ClassVar[str] = __name__
    version: ClassVar[int] = 1
    can_be_halved: ClassVar[bool] = True
    facets: ClassVar = {"law": str, "changes": bool, "support": int, "stated": int}
    """Columns of cases: the kind of the world; whether the agent changes an answer besides the request's; how
    many subjects have the requested object as truth; how often the corpus states the edited fact."""

    def __post_init__(self) -> None:
        if not 0 <= self.changing <= 1:
            raise ValueError(f"changing is a share in [0, 1]; it is {self.changing}")
        if min(self.tries, self.others) < 1 or self.candidates < 8:
            raise ValueError("tries and others must be at least 1, and candidates at least 8")

    @property
    def interpretations(self) -> tuple[str, ...]:
        """What the request is to the agent."""
        return (self.request,)


EVALUATION = Kinds
