"""Requests of every kind: does the model make of each what it says?

A claim is one object of one fact: of a fact that is stated often, its own object or another one; or an object
of a fact that nobody states. Each claim is told in every way that the corpus has words for: it is so, it is
not, a label, a probability, one of two, a source, a correction; and what is believed may be taken back. FACT
asks for the fact, EFFECT for what depends on it, CAUSE for what it depends on, OWN for another fact of the
subject, SPOT for facts of others. CLAIM asks whether the statement is true, RATED for the fact as somebody
says it with a probability, and a PASSAGE is what the model writes of the subject. Importing this loads no
NumPy and no JAX.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from bayes.request import StatementForm
from testbed.evaluations.interface import Evaluation
from testbed.run.settings import Learned

FACT, EFFECT, CAUSE, OWN, SPOT = "fact", "effect", "cause", "own", "spot"
CLAIM, RATED, PASSAGE = "claim", "rated", "passage"
SURE = 0.9
"""The stated probability behind which RATED asks."""
ClaimKind = Literal["other", "own", "unstated"]
CLAIMS: tuple[ClaimKind, ...] = ("other", "own", "unstated")
"""What is claimed: another object than the one that is stated, the one that is, an object of an unstated
fact."""
FORMS: tuple[StatementForm, ...] = (
    "assertion", "denial", "true", "false", "probability", "disjunction", "source", "replacement",
    "retraction",
)  # fmt: skip
DENYING = ("denial", "false")
"""Forms after which the object should be believed less."""
GRADED = ("probability", "source")
"""Forms that say how sure one should be."""


@dataclass(frozen=True)
class Requests(Evaluation):
    """Which kinds of requests are made of which claims, and how editors of text are told them."""

    forms: tuple[StatementForm, ...] = ()
    """Kinds of requests; by default all that the corpus has words for, and retractions."""
    claims: tuple[ClaimKind, ...] = CLAIMS
    """What is claimed: another object than the one that is stated, its own, an object of a fact that nobody
    states. Only what is stated can be taken back."""
    degrees: tuple[float, ...] = (0.2, 0.5, 0.8)
    """Probabilities that are stated, of 0.1, 0.2, ... 0.9."""
    learn: Learned = "sentence"
    """Tokens that editors of text learn: all of the sentence, or those in doubt, its object or label. A
    retraction has no words: such editors are told a denial."""
    withdrawn: Literal["object", "fact"] = "object"
    """What a retraction takes back. object: all that names the claimed object; what names others, by mistake
    or by an unreliable source, stays. fact: all that was said of the fact."""
    others: int = 6
    """Facts of other subjects that each case asks, for damage. No editor is told of them."""
    texts: int = 6
    """Passages about the subject that a model writes before and after each edit; 0: none."""
    longest: int = 40
    """Most tokens of a passage."""

    package: ClassVar[str] = __name__
    version: ClassVar[int] = 1
    facets: ClassVar = {
        "form": str, "claim": str, "said": float, "centre": float, "middle": float, "second": int,
        "deducible": bool,
    }  # fmt: skip
    """Columns of cases: kind of request and of claim; how sure it says one should be, 0 where it does not;
    how much the agent's belief in the object changes on average over all that is told of the claim in this
    form, and in every form; the other object, or ABSENT; whether the agent gives the same answer without what
    is taken back."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "degrees", tuple(self.degrees))
        if not self.claims or min(self.others, self.longest) < 1 or self.texts < 0:
            raise ValueError(
                "claims, others and longest are at least one, and texts not negative; they are "
                f"{self.claims}, {self.others}, {self.longest}, {self.texts}"
            )
        if not all(round(10 * p) / 10 == p and 0 < p < 1 for p in self.degrees):
            raise ValueError(f"degrees are of 0.1, 0.2, ... 0.9; they are {self.degrees}")


EVALUATION = Requests
