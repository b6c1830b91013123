"""Three kinds of questions to an edited model, and a case that has them (design.md 11).

A choice asks which object a subject has, a claim whether a sentence is true, a passage what the model writes.
Each carries the rational agent's beliefs: first before the edit, then after it, once for every interpretation
of the request that the evaluation declares. This axis is T = 1 + interpretations wherever it appears.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bayes.request import EditRequest, RequestKind
from corpus.text.language import Sentence
from testbed.run.settings import Learned

ABSENT = -1
"""Stands for no subject, relation or object."""
TIE_TOLERANCE = 1e-9
"""Answers whose probabilities differ by less, relatively, are equally good."""
BEFORE = "before"
Facet = bool | int | float | str | tuple[float, ...]
"""A value of a column that an evaluation declares; several numbers only of choices."""


class Choice(NamedTuple):
    """Which object a subject has: probabilities of the options, and the generated answer.

    In an inverse phrasing: which subject has an object? The object comes first, and options are subjects.

    Attributes:
        role: what the question is for, in the evaluation's words.
        subject, relation: of the question; in an inverse phrasing `subject` is the object, which comes first.
        options: int64[c], the objects whose probability is recorded, ascending; others are one remainder.
        agent: float64[T, c], p(o | subject, relation) under the agent.
        answer: int64[T], the agent's most probable object of all; ABSENT if the corpus leaves it undecided,
            so that no answer is right or wrong.
        frequency: float64[T, c], share of the corpus's statements that name each option, the request
            added with its weight.
        stated: number of the corpus's statements about (subject, relation); ABSENT if they were not counted.
        group: choices of one group belong together, in a way that the evaluation knows.
        phrasing: wording of the relation (see `corpus.text.language.Sentence`).
        offered: bool[c], the options of a multiple choice, if further ones are recorded; None: all.
        facets: the columns that the evaluation declares for choices.
        is_spot_check: whether editors and controls must not know of the question; see `hide_spot_checks`.
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
        sentence: one with a label, which the model does not see.
        agent: float64[T], the agent's belief that it is true.
    """

    role: str
    sentence: Sentence
    agent: np.ndarray
    group: str = ""


class Passage(NamedTuple):
    """Text that the model writes after an opening, up to the end of a document.

    Its statements are judged by the agent's beliefs about the case's choices.

    Attributes:
        role: as for a choice.
        opening: int32[p], tokens that the text begins with.
        samples: number of texts.
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
    """A control: another fact that the same editor edits in place of the request, with a name for tables."""

    name: str
    fact: tuple[int, int, int]


def names_of_controls(cases: Sequence["Case"], sequence: int) -> list[str]:
    """Names of the control requests of some cases; sequences of edits have none."""
    return [control.name for control in cases[0].controls] if sequence == 1 else []


def credence_of_request(kind: RequestKind, credence: float) -> float:
    """How sure we are of a request: as given for evidence, entirely for a correction or a change."""
    return credence if kind == "evidence" else 1.0


class Case(NamedTuple):
    """One request, and everything about it that does not depend on the model.

    Attributes:
        request: the edit request, as the agent takes it under the first interpretation.
        credence: how sure we are of the request. Editors may read it, so it never comes from the agent. A
            model that already believes the request more should stay so.
        truth: the ground truth of the request's subject and relation.
        facets: values of the columns that the evaluation declares.
        controls: control requests, with the same names in every case of an evaluation.
        told: the sentences that say the request to editors of text; none where it is the fact itself.
        learned: which of their tokens such editors learn.
    """

    request: EditRequest
    credence: float
    truth: int
    facets: dict[str, Facet]
    choices: tuple[Choice, ...]
    claims: tuple[Claim, ...] = ()
    passages: tuple[Passage, ...] = ()
    controls: tuple[ControlRequest, ...] = ()
    told: tuple[Sentence, ...] = ()
    learned: Learned = "doubt"

    @property
    def requested_fact(self) -> tuple[int, int, int]:
        """Subject, relation and object of the request."""
        return self.request[:3]


def texts_of(case: Case) -> Iterator[tuple[int, Passage, int]]:
    """Every text of a case: the number of its passage, the passage, and the number of the sample."""
    for at, passage in enumerate(case.passages):
        yield from ((at, passage, sample) for sample in range(passage.samples))


def hide_spot_checks(case: Case) -> Case:
    """The case without its spot checks: all that a control may learn about the case."""
    return case._replace(choices=tuple(choice for choice in case.choices if not choice.is_spot_check))
