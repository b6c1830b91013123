"""What every agent offers: beliefs as sparse distributions, edits, and how exact its answers are.

An agent is fitted once and never changes. `with_edit` returns another agent, which shares all that is
unchanged. Arguments of `probability` broadcast, so one call can answer a million questions.
"""

from typing import Literal, NamedTuple, Protocol, Self

import numpy as np

DEFAULT_TARGET = 0.95
Belief = Literal["best", "direct"]
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


class Exactness(NamedTuple):
    """How far an agent's answers are Bayes' rule for the process that wrote its corpus.

    Attributes:
        kind: "exact", up to `bound`; "exact, rows given", for an agent that knows the distributions from
            which facts are drawn; or "approximation", whose error is unknown.
        bound: largest probability that the agent takes some fact for another one; None for an
            approximation.
        why: a clause that a table can print.
    """

    kind: Literal["exact", "exact, rows given", "approximation"]
    bound: float | None
    why: str


class Distribution(NamedTuple):
    """A categorical distribution: named objects, and one value shared by the rest of its support.

    Attributes:
        objects: int64[named], ascending.
        probability: float64[named].
        remainder: probability of each single object of the support that is not named.
        support: int[K], every object that is possible at all, ascending.
    """

    objects: np.ndarray
    probability: np.ndarray
    remainder: float
    support: np.ndarray

    def of(self, objects: np.ndarray) -> np.ndarray:
        """Probability of each given object, 0 outside the support; same shape as `objects`."""
        objects = np.asarray(objects)
        probabilities = np.where(_find_among(self.support, objects)[0], self.remainder, 0.0)
        named, at = _find_among(self.objects, objects)
        probabilities[named] = self.probability[at[named]]
        return probabilities

    def dense_probabilities(self) -> np.ndarray:
        """float64[K]: probability of every object of the support, in its order."""
        probabilities = np.full(len(self.support), self.remainder)
        probabilities[np.searchsorted(self.support, self.objects)] = self.probability
        return probabilities

    def mode(self) -> int:
        """The most probable object; ties go to the lower id."""
        return int(self.support[np.argmax(self.dense_probabilities())])

    def top(self, count: int) -> np.ndarray:
        """The most probable named objects, most probable first."""
        return self.objects[np.lexsort((self.objects, -self.probability))[:count]]


class Agent(Protocol):
    """Beliefs p(o | s, r, evidence, edits)."""

    @property
    def objects(self) -> np.ndarray:
        """int[K]: the objects of the world, ascending."""

    @property
    def evidence_multiplicity(self) -> float:
        """How often each sentence of the corpus was counted."""

    @property
    def exactness(self) -> Exactness:
        """How far the answers are Bayes' rule for the corpus that was read."""

    def accepts(self, subject: int, relation: int, kind: RequestKind) -> bool:
        """Whether the agent has a rule for a request of this kind about (subject, relation)."""

    def rules_out(self, subject: int, relation: int, objects: np.ndarray) -> np.ndarray:
        """Whether each object has probability 0, whatever evidence may come; same shape as `objects`."""

    def predict(self, subject: int, relation: int, belief: Belief = "best") -> Distribution:
        """p(o | s, r, evidence, edits) over all o that are possible."""

    def probability(
        self,
        subject: np.ndarray | int,
        relation: np.ndarray | int,
        objects: np.ndarray | int,
        belief: Belief = "best",
    ) -> np.ndarray:
        """p(o | s, r, evidence, edits) of each triple; the arguments broadcast."""

    def distributions(
        self, subjects: np.ndarray, relations: np.ndarray, belief: Belief = "best"
    ) -> np.ndarray:
        """float64[n, K]: p(o | s, r, evidence, edits) of each pair, columns as in `objects`."""

    def with_edit(self, request: EditRequest) -> Self:
        """The agent after a request."""

    def weight_for(self, subject: int, relation: int, target: int, credence: float = DEFAULT_TARGET) -> float:
        """The weight of an edit that brings the belief in `target` to `credence`.

        A belief that has the credence already is brought halfway to 1.
        """


def _find_among(sorted_objects: np.ndarray, objects: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether each object is in a sorted array, and where."""
    if not len(sorted_objects):
        return np.zeros(objects.shape, bool), np.zeros(objects.shape, np.int64)
    at = np.minimum(np.searchsorted(sorted_objects, objects), len(sorted_objects) - 1)
    return sorted_objects[at] == objects, at
