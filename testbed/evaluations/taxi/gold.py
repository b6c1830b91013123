"""What the agent believes, and what the corpus says, about the questions of TAXI's examination."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from bayes.interface import Agent, EditRequest
from corpus.errors import InputError
from corpus.text.language import Atom
from testbed.evaluations.beliefs import SURE, Pair, PriorBeliefs, ask_beliefs
from testbed.evaluations.taxi.kinds import Taxonomy
from testbed.evaluations.taxi.roles import READINGS
from testbed.protocol import ABSENT, Choice, Facet
from testbed.run.strata import StatementIndex, stratum
from testbed.run.world import World


class Gold:
    """Makes choices about one edit after another.

    What is believed of others is asked once, before any edit. After `do` it stays, since that is no
    observation. A correction takes the subject out of the rows of its old category and into those of the new
    one; so the members of these two are asked again, where their facts are not known anyway: those of the old
    one once for all corrections of the subject, which leaves the same rows whatever it becomes.
    """

    def __init__(self, world: World, agent: Agent, kinds: Taxonomy) -> None:
        self.world, self.graph, self.agent, self.kinds = world, world.graph, agent, kinds
        self.stated = StatementIndex(world.graph, world.sentences)
        self.before = PriorBeliefs(world.graph, agent)
        self._left: dict[tuple[int, Pair], np.ndarray] = {}

    def ask_about(self, subject: int, old: int, new: int) -> "Asker":
        """Beliefs before and after a request, under each reading.

        Raises:
            InputError: the agent knows no such request, or the evidence rules it out.
        """
        s, r = subject, self.kinds.root
        requests = [EditRequest(s, r, new, math.inf, kind) for kind in READINGS]
        for request in requests:
            if not self.agent.accepts(s, r, request.kind) or (
                request.kind == "correction" and self.agent.rules_out(s, r, np.array([new]))[0]
            ):
                raise InputError(
                    f"the agent takes no {request.kind} to {' '.join(self._fact_names(s, r, new))!r}; this "
                    "examination needs --agent exact and a taxonomy of --kind exact, in which categories are "
                    "open to correction"
                )
        return Asker(self, requests, old)

    def beliefs_of_category_left(
        self, subject: int, agent: Agent, pairs: Sequence[Pair]
    ) -> dict[Pair, np.ndarray]:
        """Beliefs about members of a category that a subject has left, by a correction that `agent` knows."""
        missing = [pair for pair in pairs if (subject, pair) not in self._left]
        self._left |= {
            (subject, pair): belief for pair, belief in ask_beliefs(self.graph, agent, missing).items()
        }
        return {pair: self._left[subject, pair] for pair in pairs}

    def count_statements(self, pair: Pair, objects: np.ndarray) -> np.ndarray:
        """float64: how many statements of a fact name each object."""
        said = self.stated.objects_of(int(self.graph.find(*pair)))
        return (said[None, :] == objects[:, None]).sum(axis=1).astype(float)

    def stratum_of(self, pair: Pair) -> str:
        """How often a fact was stated."""
        return stratum(len(self.stated.objects_of(int(self.graph.find(*pair)))))

    def _fact_names(self, s: int, r: int, o: int) -> tuple[str, str, str]:
        return self.graph.entities[s], self.graph.relations[r], self.graph.entities[o]


class Asker:
    """Choices about one request.

    Args:
        requests: it, under each reading.
        old: the category that the subject leaves.
    """

    def __init__(self, gold: Gold, requests: Sequence[EditRequest], old: int) -> None:
        self.gold, self.requests, self.old = gold, requests, old
        self.agents = [gold.agent.with_edit(request) for request in requests]
        self._known: list[dict[Pair, np.ndarray]] = [{}, *({} for _ in requests)]

    def learn_beliefs(self, pairs: Iterable[Pair]) -> None:
        """Ask for all beliefs that the choices will need, in one pass over each subject."""
        pairs_to_ask, s = [*dict.fromkeys(pairs)], self.requests[0].subject
        before = self.gold.before(pairs_to_ask)
        self._known[0] |= {pair: before[pair] for pair in pairs_to_ask}
        for t, (agent, request) in enumerate(zip(self.agents, self.requests, strict=True), start=1):
            known = self._known[0] | ask_beliefs(
                self.gold.graph, agent, [pair for pair in pairs_to_ask if pair[0] == s]
            )
            if request.kind != "do":
                unsure = [p for p in pairs_to_ask if p[0] != s and before[p].max() < SURE]
                category = [self.gold.kinds.category_by_member.get(other) for other, _ in unsure]
                pairs_left = [p for p, c in zip(unsure, category, strict=True) if c == self.old]
                pairs_joined = [p for p, c in zip(unsure, category, strict=True) if c == request.object]
                known |= self.gold.beliefs_of_category_left(s, agent, pairs_left) | ask_beliefs(
                    self.gold.graph, agent, pairs_joined
                )
            self._known[t] |= known

    def belief(self, statement: Atom) -> np.ndarray:
        """float64[T]: the belief in a statement that was learned about."""
        place = int(np.searchsorted(self.gold.graph.candidates_of(statement.relation), statement.object))
        return np.array([known[statement[:2]][place] for known in self._known])

    def forward_choice(
        self,
        role: str,
        pair: Pair,
        offered_objects: Sequence[int],
        with_all_candidates: bool,
        facets: dict[str, Facet],
    ) -> Choice:
        """Which of some objects a subject has; with `with_all_candidates`, all it might have are recorded."""
        gold, candidates = self.gold, self.gold.graph.candidates_of(pair[1])
        options = (
            np.union1d(offered_objects, candidates) if with_all_candidates else np.unique(offered_objects)
        )
        beliefs = np.stack([known[pair] for known in self._known])
        at = np.minimum(np.searchsorted(candidates, options), len(candidates) - 1)
        agent = np.where(candidates[at] == options, beliefs[:, at], 0.0)
        counts = gold.count_statements(pair, options)
        total = len(gold.stated.objects_of(int(gold.graph.find(*pair))))
        before = counts / total if total else np.isin(options, candidates) / len(candidates)
        request = self.requests[0]
        after = (options == request.object).astype(float) if pair == request[:2] else before
        return Choice(
            role=role,
            subject=pair[0],
            relation=pair[1],
            options=options,
            agent=agent,
            answer=candidates[beliefs.argmax(axis=1)].astype(np.int64),
            frequency=np.stack([before, *([after] * len(self.requests))]),
            stated=total,
            offered=np.isin(options, offered_objects),
            facets=facets,
        )

    def inverse_choice(
        self, role: str, obj: int, relation: int, subjects: Sequence[int], facets: dict[str, Facet]
    ) -> Choice:
        """Which of some subjects has an object: by the belief in each, and how often each is spoken of."""
        options, gold = np.unique(subjects), self.gold
        candidates = gold.graph.candidates_of(relation)
        place = int(np.searchsorted(candidates, obj))
        often = gold.graph.frequency[options].astype(float)
        agent = np.zeros((len(self._known), len(options)))
        for t, known in enumerate(self._known):
            has = np.array([self._belief_in_object(known, s, relation, place) for s in options.tolist()])
            agent[t] = _normalise(has * often)
        counts = np.array([self._statement_count(s, relation, obj) for s in options.tolist()]) * often
        request = self.requests[0]
        mine = (options == request.subject).astype(float)
        after = mine if (relation, obj) == request[1:3] else _normalise(counts)
        return Choice(
            role=role,
            subject=obj,
            relation=relation,
            options=options,
            agent=agent,
            answer=options[agent.argmax(axis=1)].astype(np.int64),
            frequency=np.stack([_normalise(counts), *([after] * len(self.requests))]),
            stated=ABSENT,
            phrasing=gold.kinds.inverse_phrasing(relation),
            facets=facets,
        )

    def _belief_in_object(
        self, known: dict[Pair, np.ndarray], subject: int, relation: int, place: int
    ) -> float:
        found = known.get((subject, relation))
        return 0.0 if found is None else float(found[place])

    def _statement_count(self, subject: int, relation: int, obj: int) -> float:
        fact = int(self.gold.graph.find(subject, relation))
        return float((self.gold.stated.objects_of(fact) == obj).sum()) if fact >= 0 else 0.0


def _normalise(weights: np.ndarray) -> np.ndarray:
    """Weights as shares of 1; equal ones where all are 0."""
    total = weights.sum()
    return weights / total if total else np.full(len(weights), 1 / len(weights))
