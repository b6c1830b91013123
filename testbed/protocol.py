"""What can be asked of an edited model: three kinds of questions, and a case that asks them (design.md 11).

A choice asks which object a subject has, a claim whether a sentence is true, a passage what is written. Each
carries what the rational agent believes: first before the edit, then after it, once for every interpretation
of the request that the evaluation declares. This axis is T = 1 + interpretations wherever it appears.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bayes.interface import EditRequest, RequestKind
from corpus.text.language import Sentence

ABSENT = -1
"""Stands for no subject, relation or object."""
TIE_TOLERANCE = 1e-9
"""Answers whose probabilities differ by less, relatively, are equally good."""
BEFORE = "before"
Facet = bool | int | float | str | tuple[float, ...]
"""A value of a column that an evaluation declares; several numbers only of choices."""


class Choice(NamedTuple):
    """Which object a subject has: probabilities of the options, and the answer that is generated.

    Asked in an inverse phrasing, which subject has an object: it is said first, and options are subjects.

    Attributes:
        role: what the question is for, in the evaluation's words.
        subject, relation: what is asked; in an inverse phrasing `subject` is the object that is said first.
        options: int64[c], the objects whose probability is recorded, ascending; others are one remainder.
        agent: float64[T, c], p(o | subject, relation) under the agent.
        answer: int64[T], the agent's most probable object, among all there are; ABSENT where the corpus
            leaves it undetermined, so that no answer is right or wrong.
        frequency: float64[T, c], share of the corpus's statements that name each option, the request
            added with its weight.
        stated: how many statements of the corpus are about (subject, relation); ABSENT where nobody counted.
        group: choices of one group belong together, where the evaluation says how.
        phrasing: how the relation is said (see `corpus.text.language.Sentence`).
        offered: bool[c], the options of a multiple choice, where further ones are recorded; None for all.
        facets: the columns that the evaluation declares for choices.
        is_spot_check: whether no editor and no control may know that it is asked; see `hide_spot_checks`.
    """

    role: str
    subject: int
    relation: int
    options: np.ndarray
    agent: np.ndarray
    answer: np.ndarray
    frequency: np.ndarray
    stated: int
    group: str = ""
    phrasing: int = 0
    offered: np.ndarray | None = None
    facets: Mapping[str, Facet] = {}
    is_spot_check: bool = False


def is_equally_good(probability: np.ndarray | float, best: np.ndarray | float) -> np.ndarray:
    """Whether an answer of this probability is as good as the best one."""
    return np.asarray(probability) >= np.asarray(best) * (1 - TIE_TOLERANCE)


def has_answer_changed(choice: Choice, time: int = 1) -> bool:
    """Whether the agent's answer before the edit is none of its best after it."""
    before, after = (choice.options == answer for answer in choice.answer[[0, time]])
    return not is_equally_good(choice.agent[time][before].sum(), choice.agent[time][after].sum())


class Claim(NamedTuple):
    """Whether a sentence is true: p("true") and p("false") after it.

    Attributes:
        role, group: as for a choice.
        sentence: one with a label; the label is not shown to the model.
        agent: float64[T], the agent's belief that it is true.
    """

    role: str
    sentence: Sentence
    agent: np.ndarray
    group: str = ""


class Passage(NamedTuple):
    """What the model writes after an opening, up to the end of a document.

    What the text says is judged by what the agent believes of the case's choices.

    Attributes:
        role: as for a choice.
        opening: int32[p], tokens that the text begins with.
        samples: how many are written.
        longest: most tokens of a text, its opening apart.
        temperature: of sampling; 0 takes the most probable token.
        top_k, top_p: tokens are drawn from the `top_k` most probable ones, and of these from the fewest
            that have `top_p` of their mass.
    """

    role: str
    opening: np.ndarray
    samples: int = 3
    longest: int = 300
    temperature: float = 0.9
    top_k: int = 50
    top_p: float = 0.95


class ControlRequest(NamedTuple):
    """Another fact that the same editor is told in place of the request, under a name for tables."""

    name: str
    fact: tuple[int, int, int]


def names_of_controls(cases: Sequence["Case"], sequence: int) -> list[str]:
    """What editors are told besides requests, by name; in sequences of edits nothing is."""
    return [control.name for control in cases[0].controls] if sequence == 1 else []


def credence_of_request(kind: RequestKind, credence: float) -> float:
    """How sure the person who edits is: of evidence as they say, of a correction or a change entirely."""
    return credence if kind == "evidence" else 1.0


class Case(NamedTuple):
    """One request, and everything about it that does not depend on the model.

    Attributes:
        request: what the editor is told, and what it is to the agent under the first interpretation.
        credence: how sure whoever edits is of the request. Editors are told it, so it is never read from the
            agent; who believes the request more already is to stay so.
        truth: the ground truth of the request's subject and relation.
        facets: the columns that the evaluation declares.
        controls: under the same names in every case of an evaluation.
    """

    request: EditRequest
    credence: float
    truth: int
    facets: dict[str, Facet]
    choices: tuple[Choice, ...]
    claims: tuple[Claim, ...] = ()
    passages: tuple[Passage, ...] = ()
    controls: tuple[ControlRequest, ...] = ()

    @property
    def requested_fact(self) -> tuple[int, int, int]:
        """Subject, relation and object of the request."""
        return self.request[:3]


def hide_spot_checks(case: Case) -> Case:
    """The case without its spot checks, as whoever decides what an editor is told may see it."""
    return case._replace(choices=tuple(choice for choice in case.choices if not choice.is_spot_check))
