"""What an agent or a model is told about one fact. Importing this loads no NumPy."""

from typing import Literal, NamedTuple

RequestKind = Literal["evidence", "correction", "do"]
StatementForm = Literal[
    "assertion",
    "denial",
    "true",
    "false",
    "probability",
    "disjunction",
    "source",
    "replacement",
    "retraction",
]
"""The forms that a request can have (`bayes.statements`)."""


class EditRequest(NamedTuple):
    """A request about (subject, relation, object).

    Kinds, which say how an agent takes an assertion:
        evidence: `weight` further statements of the fact.
        correction: a sentence that settles the fact.
        do: the world changes. The fact is set and its cause stays. A fact that depends on one that was set
            or drawn again is drawn again, with probability `redraw`. Other subjects are not affected, since
            nothing was observed.

    Forms, of which all but an assertion are evidence; S stands for "subject relation object":
        denial: not S. `probability` is that of the denial's being right.
        true, false: "S" is true, "S" is false.
        probability: S with this `probability`.
        disjunction: S, or S with one of `others` as its object. `probability` is that of its being right.
        source: somebody who is right with this `probability` says S.
        replacement: S with `others` as its object was wrong; S is right.
        retraction: sentences that name S, or S with one of `others`, count as never read.

    `further` requests, about other facts, are said together with this one (`bayes.interface.tell_agent`).
    """

    subject: int
    relation: int
    object: int
    weight: float = 1.0
    kind: RequestKind = "evidence"
    redraw: float = 1.0
    form: StatementForm = "assertion"
    probability: float = 1.0
    others: tuple[int, ...] = ()
    further: tuple["EditRequest", ...] = ()

    @property
    def parts(self) -> tuple["EditRequest", ...]:
        """This request alone, and then the further ones: each is about one fact."""
        return (self._replace(further=()), *self.further)
