"""Seesaw-CF (Halevy et al. 2024): after an edit of a person, who else is moved, and what else of them?

An edit gives a person another object of one relation: work, language, citizenship, birthplace or gender. EDIT
asks for it; OWN asks for another fact of the same person, over all candidates (cross-property). The three
kinds of OTHERS ask the edited relation of other people, over the old and the new object (cross-subject): of
those who have the new one, as in the paper, of those who have the old one, and of those who have neither.
The model is perhaps asked to write, too. Importing this loads no NumPy and no JAX.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from testbed.evaluations.interface import Evaluation
from testbed.run.settings import RequestName

EDIT, OWN = "edit", "own"
NEW_HOLDERS, OLD_HOLDERS, NEITHER = "new holders", "old holders", "neither"
OTHERS = (NEW_HOLDERS, OLD_HOLDERS, NEITHER)
ALONE = "alone"
"""The role of a passage that opens with the person's name only; others have that of their relation."""
INTERPRETATIONS: tuple[RequestName, ...] = ("correction", "do")
"""What the request is to the agent: one was wrong about the person, or the world changes."""


@dataclass(frozen=True)
class Seesaw(Evaluation):
    """How many questions are asked about others, and how much is written."""

    requests: Literal["drawn", "released"] = "drawn"
    """drawn: edits of the world's people by lot. released: the authors' own requests, from the folder that
    real people or their tags come from, as many as the world can pose."""
    others: int = 24
    """Other people of each kind in a case: those with the new object, with the old one, with neither. The
    paper asks about up to 200 of the first kind alone."""
    phrasings: int = 2
    """Wordings of each question, drawn from the relation's name and its synonyms (ten of work, two of
    language). The paper uses all (10)."""
    samples: int = 0
    """Texts written after every opening, before and after the edit; the paper has 5. 0 by default, because
    they take longer than all else."""
    longest: int = 100
    """Most tokens of a text."""
    controls: bool = False
    """Also make each edit about another person, which shows an edit's mere noise: a control. Takes twice as
    long."""

    package: ClassVar[str] = __name__
    version: ClassVar[int] = 1
    interpretations: ClassVar = INTERPRETATIONS
    facets: ClassVar = {
        "property": str, "category": str, "elsewhere": bool, "race": str,
        "support_new": int, "support_old": int,
    }  # fmt: skip
    """Columns of cases: the property that is edited; the coarser category of the new object, empty where it
    has none, and whether the old object's is another; the race of the edited person; how many people have
    each."""
    choice_facets: ClassVar = {
        "right": int, "wrong": int, "truth": int, "property": str, "stratum": str, "phrasing": int,
        "race": str, "region": str, "gender": str, "race_size": int, "region_size": int, "gender_size": int,
        "frequency": int, "typical_new": str, "typical_old": str,
    }  # fmt: skip
    """Columns of choices: the two objects whose probabilities make D (see `metrics`), ABSENT where there are
    none; the fact before any edit; the property asked about; how often it was stated; how it was asked; the
    groups of whoever is asked about, empty where not known, and how many people each has; how often they are
    spoken of; and of OWN the objects typical of the group of the new and of the old object, by number."""

    def __post_init__(self) -> None:
        for name, least in (("others", 1), ("phrasings", 1), ("samples", 0), ("longest", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}; it is {getattr(self, name)}")


EVALUATION = Seesaw
