"""LEME (Rosati et al. 2024): what does an edited model write?

A fact of a subject is edited on which, by a link, a fact of a related entity depends: where a tower stands,
and where the park near it lies. The model writes passages about both, and about a twin: an entity of the
related one's kind with the same old object, linked to somebody else. Importing this loads no NumPy and no
JAX, so that options can be read quickly.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from testbed.evaluations.interface import Evaluation

if TYPE_CHECKING:
    from bayes.request import RequestKind
    from testbed.engine.results import Results
    from testbed.scores.readers import Reader

EDIT, SYNONYM, CHILD, OWN = "edit", "synonym", "child", "own"
"""The edited fact; it in other words; what depends on it in the subject; the subject's other facts."""
COUPLED, BELOW, BESIDE = "coupled", "below", "beside"
"""The fact of the related entity that depends on it; what depends on that one; its other facts."""
TWIN, TWIN_BESIDE, OTHER = "twin", "twin beside", "other"
"""The twin's fact of the link; its other facts; other subjects' facts."""
SUBJECT, RELATED = "subject", "related"
"""Whom passages are about, beside TWIN."""
FIRST: "RequestKind" = "do"
"""The first interpretation: the world changed, and what depends on the edited fact is drawn again."""


@dataclass(frozen=True)
class Leme(Evaluation):
    """Which edits are made, and how passages are written."""

    samples: int = 3
    """Passages about each entity, written independently."""
    longest: int = 300
    """Most tokens of a passage."""
    temperature: float = 0.9
    """Temperature of sampling; 0 writes the most probable words."""
    top_k: int = 50
    """Each word is drawn from this many of the most probable ones."""
    top_p: float = 0.95
    """Each word is drawn from the fewest that have this probability together."""
    outline: bool = False
    """Open a passage by an outline: the edited relation and those of the stated facts."""
    injections: float = 0.3
    """Share of edits of facts that the corpus never states."""
    corrections: float = 0.0
    """Share of edits of facts that the corpus states wrongly (--exact.planted), to what is true."""
    others: int = 2
    """Other subjects in each case: do their facts stay?"""
    second: Literal["correction", "evidence"] = "correction"
    """How the agent takes the request in the second interpretation; in the first one the world changed."""
    controls: bool = False
    """Also give every editor two requests that have nothing to do with the case's, as controls. Takes three
    times as long."""

    package: ClassVar[str] = __name__
    version: ClassVar[int] = 1
    facets: ClassVar = {
        "couple": str, "related": int, "twin": int, "stated": bool, "request": str, "subject_name": str,
        "related_name": str,
    }  # fmt: skip
    """Which relations are coupled; the related entity and the twin, ABSENT where there is none; whether the
    edited fact was stated; the request as a sentence; what subject and related entity are called."""
    choice_facets: ClassVar = {
        "stratum": str, "true": str, "above": int, "above_relation": int, "given": tuple, "implied": tuple,
    }  # fmt: skip
    """How often the fact was stated; what is believed of it before, as a sentence; the fact of the case on
    which it depends, ABSENT where it depends on none; p(object | object of that fact), float64[T, objects
    above, objects] as one row; and of a coupled fact what the link implies for each object above, ABSENT
    where nothing is likelier than not."""

    def __post_init__(self) -> None:
        if min(self.samples, self.longest, self.top_k) < 1 or self.others < 0:
            raise ValueError("samples, longest and top_k must be at least 1, and others not negative")
        if self.temperature < 0 or not 0 < self.top_p <= 1:
            raise ValueError(
                "temperature must not be negative and top_p in (0, 1]; they are "
                f"{self.temperature}, {self.top_p}"
            )
        if min(self.injections, self.corrections) < 0 or self.injections + self.corrections > 1:
            raise ValueError(
                "injections and corrections must be shares that sum to 1 at most; they are "
                f"{self.injections}, {self.corrections}"
            )

    @property
    def interpretations(self) -> tuple[str, ...]:
        """What the request is to the agent: the world changed; or one is told of it."""
        return FIRST, self.second

    def readers(self, results: "Results", editor: str) -> "dict[str, Reader]":
        """The edited model and the references, with what each of them writes."""
        return self._load("readers", "make_readers")(results, editor)


EVALUATION = Leme
