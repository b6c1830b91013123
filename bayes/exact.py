"""The exact agent: Bayes' rule for the model W of worlds of kind `exact` (design.md 5.3).

Everybody but the subject asked about is resolved: their facts count as what their evidence makes them,
which the corpus builder bounds (`corpus.resolution`). Other subjects then enter only through counts of rows
(`bayes.known`), and a subject's own facts form trees, over which a pass up and a pass down are exact
(`bayes.tree`). An edited subject is no longer resolved, nor one in focus: answers about others sum over the
states of its tree as well (`bayes.enumeration`). An agent that is told the rows needs nobody resolved: no
tree tells it anything of another.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

import numpy as np
import scipy
from scipy.special import logit, logsumexp

from bayes.enumeration import log_beliefs
from bayes.interface import DEFAULT_TARGET, Belief, Distribution, Exactness
from bayes.known import UNRESOLVED, KnownEvidence, read_evidence
from bayes.request import EditRequest, RequestKind
from bayes.statements import statement_ratios
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.text.sentences import Sentences

# Beyond this many statements, differences of what they say drown in rounding.
MOST_WEIGHT = 1e9
LEAST_WEIGHT = 1e-12
LEAST_DOUBT = 1e-12
"""What is left of it on the other side of a statement that evidence made as good as certain."""
Triple = tuple[int, int, int]
UNBOUNDED = Exactness("approximation", None, "nobody has bounded the doubt that the evidence leaves")


@dataclass(frozen=True, eq=False)
class ExactAgent:
    """Beliefs after reading a corpus of kind `exact`. Fit with `fit_exact`; never changed afterwards.

    Attributes:
        known: what was said, edits included.
        exactness: how far the facts of everybody but who is asked about are resolved.
        focus: facts not to be taken as resolved.
        done: {fact: (place it was set to, probability of drawing again what depends on it)}.
        reverse: the inverse of each relation that has one; a symmetric relation is its own.
    """

    known: KnownEvidence
    exactness: Exactness = UNBOUNDED
    focus: frozenset[int] = frozenset()
    done: Mapping[int, tuple[int, float]] = field(default_factory=dict)
    reverse: Mapping[int, int] = field(default_factory=dict)

    @property
    def graph(self) -> KnowledgeGraph:
        """Subjects, relations and candidates."""
        return self.known.graph

    @property
    def config(self) -> ExactConfig:
        """The model's constants."""
        return self.known.config

    @property
    def objects(self) -> np.ndarray:
        """int[K]: the objects of the world, ascending."""
        return self.graph.objects

    @property
    def evidence_multiplicity(self) -> float:
        """Copies of a sentence are not evidence."""
        return 1.0

    def predict(
        self,
        subject: int,
        relation: int,
        belief: Belief = "best",  # noqa: ARG002
    ) -> Distribution:
        """p(z[s, r] = o | evidence, edits) of each candidate o of the relation, whatever the `belief`.

        For a downstream relation under persistence "sentence": p(o | ...) of its next statement.

        Raises:
            InputError: the subject has no such fact, or too many states are to be enumerated.
        """
        fact = self._find_fact(subject, relation)
        return self._compute_beliefs([fact])[fact]

    def probability(
        self,
        subject: np.ndarray | int,
        relation: np.ndarray | int,
        objects: np.ndarray | int,
        belief: Belief = "best",  # noqa: ARG002
    ) -> np.ndarray:
        """p(o | s, r, evidence, edits) as in `predict`, of each triple; the arguments broadcast."""
        subject, relation, objects = np.broadcast_arrays(subject, relation, objects)
        pairs, which = np.unique(
            np.column_stack([subject.ravel(), relation.ravel()]), axis=0, return_inverse=True
        )
        facts = [self._find_fact(s, r) for s, r in pairs.tolist()]
        beliefs = self._compute_beliefs(facts)
        probabilities = np.empty(objects.size)
        for i, fact in enumerate(facts):
            here = which.ravel() == i
            probabilities[here] = beliefs[fact].of(objects.ravel()[here])
        return probabilities.reshape(objects.shape)

    def distributions(
        self,
        subjects: np.ndarray,
        relations: np.ndarray,
        belief: Belief = "best",  # noqa: ARG002
    ) -> np.ndarray:
        """float64[n, K]: p(o | s, r, evidence, edits) of each pair; 0 for objects that are not candidates.

        One pass over a subject's tree of facts answers all that is asked of it.
        """
        facts = [self._find_fact(int(s), int(r)) for s, r in zip(subjects, relations, strict=True)]
        beliefs = self._compute_beliefs(facts)
        probabilities = np.zeros((len(facts), len(self.objects)))
        for row, fact, relation in zip(probabilities, facts, relations.tolist(), strict=True):
            row[self.graph.among_objects[relation]] = beliefs[fact].probability
        return probabilities

    def with_edit(self, request: EditRequest) -> "ExactAgent":
        """The agent after one further observation: a view that shares everything unchanged.

        "Ann married to Bob" and "Bob married to Ann" are one event. So of a relation with an inverse the
        other side is believed as much as this one by Jeffrey's rule (`bayes.statements`), and so is that
        Ann's former spouse is married to her, and Bob's to him. A change (`do`) is made on both sides.

        Raises:
            InputError: no such fact, an object that the relation cannot have, a weight that is not
                positive or beyond MOST_WEIGHT, a request that the evidence rules out, or anything after
                a `do` about the same tree of facts.
        """
        agent = self._hear(request)
        s, r, target = request[:3]
        back = self.reverse.get(r)
        if back is None:
            return agent
        if request.kind == "do":
            is_open = s != target and agent._can_hear((target, back, s), "do")
            return (
                agent._hear(request._replace(subject=target, relation=back, object=s)) if is_open else agent
            )
        for obj in dict.fromkeys((target, *request.others, self.predict(s, r).mode())):
            agent = agent._believe_alike((s, r, obj), (obj, back, s), request.kind == "correction")
        if s != target and self.graph.find(target, back) >= 0:
            rival = self.predict(target, back).mode()
            agent = agent._believe_alike(
                (target, back, rival), (rival, r, target), request.kind == "correction"
            )
        return agent

    def _believe_alike(self, one: Triple, other: Triple, for_certain: bool) -> "ExactAgent":
        """The agent when it believes the second statement as much as the first, if anything can move that."""
        if one == other or not self._can_hear(other, "evidence"):
            return self
        p = float(self.probability(*one))
        least = 0.0 if for_certain else LEAST_DOUBT
        p = min(max(p, least), 1 - least)
        return self._hear(EditRequest(*other, form="probability", probability=p))

    def _can_hear(self, statement: Triple, kind: RequestKind) -> bool:
        """Whether this world has such a fact, of which evidence or a change would mean something."""
        s, r, o = statement
        fact = int(self.graph.find(s, r))
        if fact < 0 or not self.has_truth(fact) or not self._leaves_open(fact, np.array(o)):
            return False
        return self.accepts(s, r, kind)

    def _hear(self, request: EditRequest) -> "ExactAgent":
        """The agent after a request about the one fact that it names; see `with_edit`."""
        s, r, target, weight, kind, redraw, form, *_ = request
        fact, place = self._find_fact(s, r), self._find_place(r, target)
        if kind not in get_args(RequestKind):
            raise InputError(f"a request is one of {', '.join(get_args(RequestKind))}, not {kind!r}")
        self._refuse_if_changed(fact)
        if self.graph.is_link[fact]:
            raise InputError(
                f"{self.name_ids(s, r)!r} is a link, by which other facts depend; edit those instead"
            )
        if form != "assertion":
            return self._hear_statement(request)
        if kind != "evidence" and not self.has_truth(fact):
            raise InputError(
                f"{self.name_ids(s, r)!r} is drawn for every statement; use a request 'evidence'"
            )
        if kind == "do":
            if not 0 <= redraw <= 1:
                raise InputError(f"redraw is a probability; {redraw} is not in [0, 1]")
            return replace(self, done={**self.done, fact: (place, redraw)})
        if kind == "correction":
            if self.rules_out(s, r, np.array(target)):
                raise InputError(
                    f"the evidence rules out {self.name_ids(s, r, target)!r}, so no correction can say it"
                )
            return replace(self, known=self.known.with_evidence(fact, place, math.inf))
        _refuse_weight(weight)
        worth = self.known.statement_strength(r) if self.has_truth(fact) else 1.0
        return replace(self, known=self.known.with_evidence(fact, place, weight * worth))

    def _hear_statement(self, request: EditRequest) -> "ExactAgent":
        """The agent after evidence of another form than an assertion (`bayes.statements`)."""
        fact = self._find_fact(request.subject, request.relation)
        places = [self._find_place(request.relation, o) for o in (request.object, *request.others)]
        if request.kind != "evidence":
            raise InputError(f"a request of form {request.form!r} is evidence, not {request.kind!r}")
        if request.form == "retraction":
            _refuse_retraction(self.known, fact, places)
            return replace(self, known=self.known.without_evidence(fact, places))
        if not self.has_truth(fact):
            name = self.name_ids(request.subject, request.relation)
            raise InputError(f"{name!r} is drawn for every statement; only assert it, or retract")
        _refuse_weight(request.weight)
        ratios = statement_ratios(self.graph, self.config, request, places, self._log_beliefs([fact])[fact])
        known = self.known
        for place, ratio in ratios.items():
            known = known.with_evidence(fact, place, ratio)
        return replace(self, known=known)

    def with_focus(self, subjects: Iterable[int]) -> "ExactAgent":
        """The agent that takes none of these subjects' facts as resolved, but sums over what they may be.

        For subjects whom their evidence leaves in doubt: answers about anybody who shares rows with them
        are then exact, at the price of an enumeration.

        Raises:
            InputError: a subject without facts.
        """
        subject_ids = np.array(sorted(subjects), int)
        if not np.isin(subject_ids, self.graph.subjects).all():
            stranger = subject_ids[~np.isin(subject_ids, self.graph.subjects)][0]
            raise InputError(
                f"{self.name_ids(stranger)!r} is not the subject of any fact, so it cannot be in focus"
            )
        facts = np.flatnonzero(np.isin(self.graph.subject, subject_ids))
        return replace(self, focus=self.focus | frozenset(facts.tolist()))

    def weight_for(self, subject: int, relation: int, target: int, credence: float = DEFAULT_TARGET) -> float:
        """The weight of evidence that brings p(z[s, r] = target) to `credence`, downstream evidence included.

        Evidence of weight w multiplies the odds of the target by exp(w * strength), which solves for w. Of
        a fact without a truth of its own, w statements bring p(next statement = target) there, by root
        finding. A belief that has the credence already is brought halfway to 1.

        Raises:
            InputError: the evidence settles the fact, or rules the target out; or the fact, or one of its
                tree, was changed by a `do`.
        """
        fact, place = self._find_fact(subject, relation), self._find_place(relation, target)
        self._refuse_if_changed(fact)
        if self.known.is_settled(fact) or self.rules_out(subject, relation, np.array(target)):
            raise InputError(
                f"no evidence can change the belief in {self.name_ids(subject, relation, target)!r}, which "
                "what was said settles; a request of kind 'do' changes the world instead"
            )
        log_belief = self._log_beliefs([fact])[fact]
        before = log_belief[place]
        if self.has_truth(fact):
            # In logs, since a belief and its doubt may both be too small to be numbers.
            if before >= math.log(credence):
                shift = np.log1p(np.exp(before)) - before
            else:
                shift = logit(credence) - before + logsumexp(np.delete(log_belief, place))
            # A belief that is all but there needs some evidence still.
            return max(float(shift / self.known.statement_strength(relation)), LEAST_WEIGHT)
        p = float(np.exp(before))
        wanted = credence if p < credence else (1 + p) / 2

        def missing_credence(weight: float) -> float:
            edited = self.with_edit(EditRequest(subject, relation, target, weight))
            return float(np.exp(edited._log_beliefs([fact])[fact][place])) - wanted

        most = 1.0
        while missing_credence(most) < 0:
            most *= 2
        return (
            LEAST_WEIGHT
            if missing_credence(LEAST_WEIGHT) >= 0
            else float(scipy.optimize.brentq(missing_credence, LEAST_WEIGHT, most))
        )

    def accepts(self, subject: int, relation: int, kind: RequestKind) -> bool:
        """Whether a request of this kind about (subject, relation) means anything.

        No evidence moves what sentences have settled, and nothing a link; only a fact with a truth of its own
        can be corrected, or change, and nothing is modelled after a change.
        """
        fact = self._find_fact(subject, relation)
        open_to_it = not self.graph.is_link[fact] and (kind == "do" or self._settled_object(fact) is None)
        has_meaning = kind == "evidence" or self.has_truth(fact)
        return open_to_it and has_meaning and not self._has_changed(fact)

    def rules_out(self, subject: int, relation: int, objects: np.ndarray) -> np.ndarray:
        """Whether it is impossible, by what was said for certain, that (subject, relation) is each object."""
        possible = self._leaves_open(self._find_fact(subject, relation), objects)
        if relation in self.reverse:
            others = self.graph.find(objects, self.reverse[relation])
            settled = {f: self._settled_object(f) for f in np.unique(others[others >= 0]).tolist()}
            possible &= ~np.isin(others, [f for f, o in settled.items() if o not in (None, subject)])
        return ~possible

    def _leaves_open(self, fact: int, objects: np.ndarray) -> np.ndarray:
        """Whether what was said of a fact itself leaves each object possible."""
        own = self.known.evidence_about(fact)
        candidates = self.graph.candidates_of(self.graph.relation[fact])
        sure = [candidates[k] for k, ratio in own.items() if ratio == math.inf]
        never = [candidates[k] for k, ratio in own.items() if ratio == -math.inf]
        return np.isin(objects, sure) if sure else np.isin(objects, candidates) & ~np.isin(objects, never)

    def _settled_object(self, fact: int) -> int | None:
        """What a fact is for certain, by what was said of it or of the same from the other side."""
        own, subject, r = self._own_settled_object(fact), self.graph.subject[fact], self.graph.relation[fact]
        back, place = self.reverse.get(int(r)), int(self.known.resolved[fact])
        if own is not None or back is None or place == UNRESOLVED:
            return own
        likeliest = int(self.graph.candidates_of(r)[place])
        other = int(self.graph.find(likeliest, back))
        return likeliest if other >= 0 and self._own_settled_object(other) == subject else None

    def _own_settled_object(self, fact: int) -> int | None:
        if not self.known.is_settled(fact):
            return None
        candidates, own = self.graph.candidates_of(self.graph.relation[fact]), self.known.evidence_about(fact)
        return int(candidates[max(range(len(candidates)), key=lambda place: own.get(place, 0.0))])

    def has_truth(self, fact: int) -> bool:
        """Whether a fact is drawn once, not once per statement."""
        return self.known.has_truth(fact)

    def name_ids(self, *ids: int) -> str:
        """Subject, relation and perhaps object as their names, or as numbers where there are none."""
        columns = (self.graph.entities, self.graph.relations, self.graph.entities)
        return " ".join(
            names[i] if 0 <= i < len(names) else str(i) for i, names in zip(ids, columns, strict=False)
        )

    def _find_fact(self, subject: int, relation: int) -> int:
        known = 0 <= subject < len(self.graph.entities) and 0 <= relation < len(self.graph.relations)
        fact = int(self.graph.find(subject, relation)) if known else -1
        if fact < 0:
            raise InputError(f"there is no fact {self.name_ids(subject, relation)!r} in this world")
        return fact

    def _has_changed(self, fact: int) -> bool:
        return bool(self.done.keys() & set(self.known.tree_of(fact)))

    def _refuse_if_changed(self, fact: int) -> None:
        if self._has_changed(fact):
            name = self.graph.entities[self.graph.subject[fact]]
            raise InputError(f"{name} changed already; what came after a change is not modelled")

    def _find_place(self, relation: int, target: int) -> int:
        candidates = self.graph.candidates_of(relation)
        place = int(np.searchsorted(candidates, target))
        if place == len(candidates) or candidates[place] != target:
            name = self.graph.relations[relation]
            raise InputError(f"{self.name_ids(target)!r} cannot be the object of {name!r} in this world")
        return place

    def _compute_beliefs(self, facts: Iterable[int]) -> dict[int, Distribution]:
        """What `predict` says of each fact, by one pass over each tree of which any are asked."""
        trees: dict[int, list[int]] = {}
        for fact in dict.fromkeys(facts):
            trees.setdefault(self.known.upstream_facts(fact)[-1], []).append(fact)
        beliefs = {}
        for tree_facts in trees.values():
            for fact, log_p in self._log_beliefs(tree_facts).items():
                candidates = self.graph.candidates_of(int(self.graph.relation[fact])).copy()
                beliefs[fact] = Distribution(candidates, np.exp(log_p), 0.0, candidates)
        return beliefs

    def _log_beliefs(self, facts: Sequence[int]) -> dict[int, np.ndarray]:
        """Log p(k) of the candidates of each fact's relation; the facts are of one tree."""
        return log_beliefs(self.known, self.focus, self.done, facts)


def _refuse_retraction(known: KnownEvidence, fact: int, places: Sequence[int]) -> None:
    """Refuse retractions after which sentences would count that the agent has not kept.

    Of facts that a sentence settles, and/or sentences are not kept, nor is which request ruled what out.

    Raises:
        InputError: such a retraction.
    """
    if any(math.isinf(ratio) for ratio in known.edited.get(fact, {}).values()):
        raise InputError("a request has settled this fact; take the agent from before that request instead")
    own = known.evidence_about(fact)
    sure = any(math.isinf(own.get(place, 0.0)) for place in places)
    everything = len(set(places)) == known.count_candidates(fact)
    if sure and known.config.logical and not everything:
        remaining = known.without_evidence(fact, places)
        if not remaining.is_settled(fact):
            raise InputError(
                "and/or sentences about this fact may remain, which were not kept because it was settled; "
                "retract all objects of the fact, or fit the agent without these sentences"
            )


def _refuse_weight(weight: float) -> None:
    if not 0 < weight <= MOST_WEIGHT:
        raise InputError(f"an edit's weight should be positive and at most {MOST_WEIGHT:g}, not {weight}")


def fit_exact(
    graph: KnowledgeGraph, config: ExactConfig, sentences: Sentences, exactness: Exactness = UNBOUNDED
) -> ExactAgent:
    """The agent that has read the sentences of a world of kind `exact`.

    Args:
        graph: subjects, relations and candidates; its objects are not read, unless rows are given that the
            graph does not keep (`corpus.rows`).
        exactness: what the corpus's builder knows about how far facts are resolved.

    Raises:
        InputError: a relation in which a statement would be no evidence for what it states.
    """
    return ExactAgent(read_evidence(graph, config, sentences), exactness)
