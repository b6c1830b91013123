"""What every agent offers: beliefs as sparse distributions, edits, and how exact its answers are.

An agent is fitted once and never changes. `with_edit` returns another agent, which shares all that is
unchanged. Arguments of `probability` broadcast, so one call can answer a million questions.
"""

from typing import Literal, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from bayes.request import EditRequest, RequestKind

DEFAULT_TARGET = 0.95
Belief = Literal["best", "direct"]


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


AnyAgent = TypeVar("AnyAgent", bound=Agent)


def tell_agent(agent: AnyAgent, request: EditRequest) -> AnyAgent:
    """The agent after a request and all that is said together with it, whatever the order."""
    for part in request.parts:
        agent = agent.with_edit(part)
    return agent


def _find_among(sorted_objects: np.ndarray, objects: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether each object is in a sorted array, and where."""
    if not len(sorted_objects):
        return np.zeros(objects.shape, bool), np.zeros(objects.shape, np.int64)
    at = np.minimum(np.searchsorted(sorted_objects, objects), len(sorted_objects) - 1)
    return sorted_objects[at] == objects, at
