"""What every agent offers: beliefs as sparse distributions, edits as cheap views, and how exact it all is.

An agent is fitted once and never changes; `with_edit` returns another one that shares all that is
unchanged. Arguments of `probability` broadcast, so that one call answers a question or a million.
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
"""What is said of a fact (`bayes.statements`)."""


class EditRequest(NamedTuple):
    """A request about (subject, relation, object).

    evidence: `weight` further statements of it. correction: a sentence that settles it. do: the world
    changes; the fact is set, what it depends on stays, and what depends on a fact that was set or drawn
    again is drawn again with probability `redraw`. Being no observation, it moves nobody else.

    Every other form than an assertion is evidence. "S" stands for "subject relation object":
    denial: not S. true, false: "S" is true, is false. probability: S with this probability. disjunction: S,
    or one of `others` in its place. source: somebody says S who is right with this probability. replacement:
    what `others` say was wrong, it is S. retraction: whatever was said that names S, or one of `others` in
    its place, is withdrawn, as if it had never been read. `probability` of a denial or disjunction is that
    of its being right.
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
        kind: "exact", up to `bound`; "exact, rows given", for whoever knows what facts are drawn from; or
            "approximation", by an unknown amount.
        bound: at most this is the probability that an answer takes anybody's fact for another one; None
            for an approximation.
        why: one clause for people.
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
        """Whether a request of this kind about (subject, relation) means anything to the agent."""

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
