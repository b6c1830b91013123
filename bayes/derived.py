"""An agent of any kind of world: whoever says `predict` has everything else, if slowly.

Evidence about a fact is the log-likelihood of each of its candidates. The corpus gives it by the model of
sentences that all exact worlds share (design.md 5.3, points 5 and 6), and an edit adds to it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy

from bayes.interface import DEFAULT_TARGET, Belief, Distribution, Exactness
from bayes.request import EditRequest, RequestKind
from bayes.statements import statement_ratios
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.likelihood import log_ratios, statement_strength
from corpus.text.sentences import Sentences
from corpus.worlds.own import OwnWorld

MOST_WEIGHT = 1e9
LEAST_WEIGHT = 1e-12
SLACK = 1e-6
"""By which a belief may miss the sum of one."""


@dataclass(frozen=True, eq=False)
class DerivedAgent:
    """A rational agent of a world of its kind. A subclass says `predict`, and how exact that is.

    Attributes:
        world: what the agent is told of the law by which facts are drawn.
        graph: subjects, relations and candidates. Its objects are the truth: never read them.
        config: how sentences are written about facts.
        evidence: of each fact that was spoken of, float64[K]: the log-likelihood of each candidate, up to a
            constant, edits included; minus infinity where it is ruled out.
    """

    world: OwnWorld
    graph: KnowledgeGraph
    config: ExactConfig
    evidence: Mapping[int, np.ndarray]

    @property
    def exactness(self) -> Exactness:
        """How far the answers are Bayes' rule; of your own agent nobody knows but you."""
        return Exactness("approximation", None, "an agent of a user's own, which says no more")

    def predict(self, subject: int, relation: int, belief: Belief = "best") -> Distribution:  # noqa: ARG002
        """p(o | s, r, evidence) of each candidate; see `make_distribution`."""
        raise InputError(f"{type(self).__name__} needs a method predict(subject, relation)")

    def with_edit(self, request: EditRequest) -> Self:
        """The agent after a request: `weight` further statements, one that settles the fact, or another form.

        Raises:
            InputError: no such fact or candidate, a weight that is not positive, a change of the world, a
                form that is no evidence, or what the evidence rules out or has settled.
        """
        s, r, target, weight, kind, _, form, *_ = request
        fact, place = self.find_fact(s, r), self._find_place(r, target)
        if kind == "do" or (kind == "correction" and form != "assertion"):
            raise InputError(
                "this agent takes assertions as evidence or as a correction, and other forms as evidence; "
                "choose one of these"
            )
        if not weight > 0:
            raise InputError(f"an edit's weight should be positive, not {weight}")
        told = self.evidence_about(fact).copy()
        if form != "assertion":
            self._hear_statement(request, told)
        elif told[place] == -math.inf:
            raise InputError(
                f"the evidence rules out {self.graph.entities[target]!r} as what {self.graph.entities[s]!r} "
                f"{self.graph.relations[r]!r}; choose a fact that no sentence settles"
            )
        elif kind == "correction" or weight > MOST_WEIGHT:
            told[np.arange(len(told)) != place] = -math.inf
        else:
            told[place] += weight * float(statement_strength(self.config, len(told) - 1))
        return replace(self, evidence={**self.evidence, fact: told})

    def _hear_statement(self, request: EditRequest, told: np.ndarray) -> None:
        """Add to the evidence about a fact what a form other than an assertion is (`bayes.statements`)."""
        places = [self._find_place(request.relation, o) for o in (request.object, *request.others)]
        if request.form != "retraction":
            with np.errstate(divide="ignore"):
                log_belief = np.log(self.believe(*request[:2]).dense_probabilities())
            for place, ratio in statement_ratios(
                self.graph, self.config, request, places, log_belief
            ).items():
                told[place] += ratio
            return
        is_settled = np.isinf(told).sum() >= len(told) - 1
        if len(set(places)) < len(told) and (is_settled or np.isinf(told[places]).any()):
            raise InputError(
                "what settles this fact, or rules the object out, is not kept by object; retract all objects "
                "of the fact, or fit the agent without these sentences"
            )
        told[places] = 0.0

    def relate_facts(self, subject: int, relation: int) -> np.ndarray:  # noqa: ARG002
        """int64: the facts that an edit of this one may move; by default all of the world."""
        return np.arange(len(self.graph))

    # What follows from these.

    def believe(self, subject: int, relation: int) -> Distribution:
        """What `predict` says, if it is a belief.

        Raises:
            InputError: it is none; the message names the fact.
        """
        belief, candidates = self.predict(subject, relation), self.graph.candidates_of(relation)
        wrong = _describe_wrong_belief(belief, candidates)
        if wrong:
            fact = f"{self.graph.entities[subject]!r} {self.graph.relations[relation]!r}"
            raise InputError(f"{type(self).__name__}.predict of {fact} {wrong}")
        return belief

    def tell(self, request: EditRequest) -> Self:
        """The agent that `with_edit` makes.

        Raises:
            InputError: it is no agent.
        """
        edited = self.with_edit(request)
        if not isinstance(edited, type(self)):
            raise InputError(
                f"{type(self).__name__}.with_edit should return such an agent; it returned "
                f"{type(edited).__name__}"
            )
        return edited

    @property
    def objects(self) -> np.ndarray:
        """int[K]: the objects of the world, ascending."""
        return self.graph.objects

    @property
    def evidence_multiplicity(self) -> float:
        """Copies of a sentence are not evidence."""
        return 1.0

    def accepts(self, subject: int, relation: int, kind: RequestKind) -> bool:
        """Whether more than one candidate is possible, so that evidence means something."""
        possible = self.believe(subject, relation).dense_probabilities() > 0
        return kind != "do" and int(possible.sum()) > 1

    def rules_out(self, subject: int, relation: int, objects: np.ndarray) -> np.ndarray:
        """Whether each object has probability 0; same shape as `objects`."""
        return self.believe(subject, relation).of(objects) == 0

    def probability(
        self,
        subject: np.ndarray | int,
        relation: np.ndarray | int,
        objects: np.ndarray | int,
        belief: Belief = "best",  # noqa: ARG002
    ) -> np.ndarray:
        """p(o | s, r, evidence) of each triple; the arguments broadcast."""
        s, r, o = np.broadcast_arrays(subject, relation, objects)
        triples = zip(s.ravel().tolist(), r.ravel().tolist(), o.ravel(), strict=True)
        return np.array([float(self.believe(*pair).of(obj)) for *pair, obj in triples]).reshape(o.shape)

    def distributions(
        self,
        subjects: np.ndarray,
        relations: np.ndarray,
        belief: Belief = "best",  # noqa: ARG002
    ) -> np.ndarray:
        """float64[n, K]: p(o | s, r, evidence) of each pair, columns as in `objects`."""
        pairs = zip(np.asarray(subjects).tolist(), np.asarray(relations).tolist(), strict=True)
        beliefs = [self.believe(s, r).of(self.objects) for s, r in pairs]
        return np.array(beliefs).reshape(-1, len(self.objects))

    def weight_for(self, subject: int, relation: int, target: int, credence: float = DEFAULT_TARGET) -> float:
        """The weight of evidence that brings the belief in `target` to `credence`, by root finding.

        A belief that has the credence already is brought halfway to 1.

        Raises:
            InputError: no evidence brings it there.
        """

        def believe_after(weight: float) -> float:
            edited = self.tell(EditRequest(subject, relation, target, weight))
            return float(edited.believe(subject, relation).of(np.array(target)))

        before = float(self.believe(subject, relation).of(np.array(target)))
        wanted = credence if before < credence else (1 + before) / 2
        if believe_after(LEAST_WEIGHT) >= wanted:
            return LEAST_WEIGHT
        most = 1.0
        while believe_after(most) < wanted:
            most *= 2
            if most > MOST_WEIGHT:
                raise InputError(f"no evidence makes {self.graph.entities[target]!r} as likely as {wanted:g}")
        return float(scipy.optimize.brentq(lambda weight: believe_after(weight) - wanted, LEAST_WEIGHT, most))

    # For `predict`.

    def find_fact(self, subject: int, relation: int) -> int:
        """Index of a fact.

        Raises:
            InputError: there is no such fact.
        """
        fact = int(self.graph.find(subject, relation))
        if fact < 0:
            raise InputError(f"there is no fact of entity {subject} and relation {relation} in this world")
        return fact

    def evidence_about(self, fact: int) -> np.ndarray:
        """float64[K]: the log-likelihood of each candidate of a fact; zeros if nothing was said of it."""
        known = self.evidence.get(fact)
        return np.zeros(len(self.graph.candidates_of(self.graph.relation[fact]))) if known is None else known

    def make_distribution(self, relation: int, probability: np.ndarray) -> Distribution:
        """The probabilities of a relation's candidates, in the order of `graph.candidates_of`."""
        candidates = self.graph.candidates_of(relation).copy()
        return Distribution(candidates, np.asarray(probability, float), 0.0, candidates)

    def order_of(self, relation: int) -> list[int]:
        """Of each candidate in the graph's order, where it stands in `world.candidates`."""
        names = {name: i for i, name in enumerate(self.world.candidates[self.graph.relations[relation]])}
        return [names[self.graph.entities[o]] for o in self.graph.candidates_of(relation).tolist()]

    def _find_place(self, relation: int, target: int) -> int:
        candidates = self.graph.candidates_of(relation)
        place = int(np.searchsorted(candidates, target))
        if place == len(candidates) or candidates[place] != target:
            name = self.graph.relations[relation]
            raise InputError(
                f"{self.graph.entities[target]!r} cannot be the object of {name!r} in this world"
            )
        return place


def _describe_wrong_belief(belief: object, candidates: np.ndarray) -> str:
    """Why something is no belief about a fact with these candidates; empty if it is one."""
    if not isinstance(belief, Distribution):
        return (
            f"should return make_distribution(relation, probabilities); it returned {type(belief).__name__}"
        )
    if belief.probability.shape != belief.objects.shape or not np.array_equal(belief.support, candidates):
        found = belief.probability.size
        return f"should have a probability for each of {len(candidates)} candidates; it has {found}"
    p = belief.dense_probabilities()
    if not np.isfinite(p).all() or p.min() < 0:
        return f"should have probabilities; it has {p[~(p >= 0) | ~np.isfinite(p)][0]}"
    return "" if abs(p.sum() - 1) <= SLACK else f"should sum to one; it sums to {p.sum():.6g}"


def read_likelihoods(
    graph: KnowledgeGraph, config: ExactConfig, sentences: Sentences
) -> dict[int, np.ndarray]:
    """The evidence of a corpus of kind `exact` about each fact that it speaks of; see `DerivedAgent`."""
    evidence: dict[int, np.ndarray] = {}
    settled: dict[int, int] = {}
    facts, objects, ratios = log_ratios(graph, config, sentences)
    for fact, obj, ratio in zip(facts.tolist(), objects.tolist(), ratios.tolist(), strict=True):
        candidates = graph.candidates_of(graph.relation[fact])
        place = int(np.searchsorted(candidates, obj))
        told = evidence.setdefault(fact, np.zeros(len(candidates)))
        if ratio == math.inf:
            settled[fact] = place
        else:
            told[place] += ratio
    for fact, place in settled.items():
        evidence[fact] = np.where(np.arange(len(evidence[fact])) == place, 0.0, -math.inf)
    return evidence


def normalise_logs(log_p: np.ndarray) -> np.ndarray:
    """Probabilities from their logs up to a constant.

    Raises:
        InputError: all are minus infinity: what was said contradicts itself.
    """
    most = log_p.max()
    if most == -math.inf:
        raise InputError("what was said contradicts itself: nothing that is possible fits it")
    p = np.exp(log_p - most)
    return p / p.sum()
