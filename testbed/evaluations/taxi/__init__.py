"""TAXI (Powell et al. 2024): after an edit of what a thing is, do its properties follow?

Every edit makes a subject a member of another category of its superordinate; the model is asked
multiple-choice questions about what should change, what should not, and the same inversely. EDIT asks for the
category, PROPERTY for a property that both categories have, each over a few options; REVERSE asks the same
the other way round: which subject is one, or has it. UNSHARED asks for properties that only one of the
categories has, and OTHER_FACT for facts of other subjects, over all candidates. Importing this loads no NumPy
and no JAX.
"""

from dataclasses import dataclass
from typing import ClassVar

from bayes.request import RequestKind
from testbed.evaluations.held_out import HELD_OUT_FACETS
from testbed.evaluations.interface import Evaluation

EDIT, PROPERTY, REVERSE, UNSHARED, OTHER_FACT = "edit", "property", "reverse", "absent", "other"
INTERPRETATIONS: tuple[RequestKind, ...] = ("do", "correction")
"""What the request is to the agent. Under `do` the category is changed and its properties are drawn again,
which is what TAXI's labels say; a correction keeps what was stated of the subject."""


@dataclass(frozen=True)
class Taxi(Evaluation):
    """Questions beside TAXI's own."""

    others: int = 2
    """Other subjects in each case: do their category and one property stay?"""
    absent: int = 2
    """Questions in each case about properties that only the old or only the new category has; TAXI has
    none."""
    controls: bool = False
    """Also give every editor three contexts that say nothing about the request, as controls. Takes four times
    as long."""

    package: ClassVar[str] = __name__
    version: ClassVar[int] = 1
    interpretations: ClassVar = INTERPRETATIONS
    facets: ClassVar = {"superordinate": str, "typical": bool, "members": int} | HELD_OUT_FACETS
    """Columns of cases: the kind of thing; whether the subject is spoken of often; members of the new one;
    and what was held out."""
    choice_facets: ClassVar = {"label": int, "old": int, "changed": bool, "stratum": str}
    """Columns of choices: the right answer, and that before the edit, ABSENT where the category has none;
    whether TAXI says that they differ; how often the subject's fact was stated."""

    def __post_init__(self) -> None:
        if min(self.others, self.absent) < 0:
            raise ValueError(f"others and absent must not be negative; they are {self.others}, {self.absent}")


EVALUATION = Taxi
