"""What the agent believes, and what the corpus says, about the questions of TAXI's examination."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from bayes.interface import Agent, EditRequest
from corpus.errors import InputError
from corpus.language import Atom
from testbed.evaluations.beliefs import SURE, BeforeEdit, Pair, asked
from testbed.evaluations.taxi.kinds import Kinds
from testbed.evaluations.taxi.roles import READINGS
from testbed.protocol import ABSENT, Choice, Facet
from testbed.run.strata import Stated, stratum
from testbed.run.world import World


class Gold:
    """Makes choices about one edit after another.

    What is believed of others is asked once, before any edit. After `do` it stays, since that is no
    observation. A correction takes the subject out of the rows of its old category and into those of the new
    one; so the members of these two are asked again, where their facts are not known anyway: those of the old
    one once for all corrections of the subject, which leaves the same rows whatever it becomes.
    """

    def __init__(self, world: World, agent: Agent, kinds: Kinds) -> None:
        self.world, self.graph, self.agent, self.kinds = world, world.graph, agent, kinds
        self.stated = Stated(world.graph, world.sentences)
        self.before = BeforeEdit(world.graph, agent)
        self._left: dict[tuple[int, Pair], np.ndarray] = {}

    def about(self, subject: int, old: int, new: int) -> "Asker":
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
                    f"the agent takes no {request.kind} to {' '.join(self._named(s, r, new))!r}; this "
                    "examination needs --agent exact and a taxonomy of --kind exact, in which categories are "
                    "open to correction"
                )
        return Asker(self, requests, old)

    def left_by(self, subject: int, agent: Agent, pairs: Sequence[Pair]) -> dict[Pair, np.ndarray]:
        """Beliefs about members of a category that a subject has left, by a correction that `agent` knows."""
        missing = [pair for pair in pairs if (subject, pair) not in self._left]
        self._left |= {(subject, pair): belief for pair, belief in asked(self.graph, agent, missing).items()}
        return {pair: self._left[subject, pair] for pair in pairs}

    def counts(self, pair: Pair, objects: np.ndarray) -> np.ndarray:
        """float64: how many statements of a fact name each object."""
        said = self.stated.objects(int(self.graph.find(*pair)))
        return (said[None, :] == objects[:, None]).sum(axis=1).astype(float)

    def stratum(self, pair: Pair) -> str:
        """How often a fact was stated."""
        return stratum(len(self.stated.objects(int(self.graph.find(*pair)))))

    def _named(self, s: int, r: int, o: int) -> tuple[str, str, str]:
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

    def learn(self, pairs: Iterable[Pair]) -> None:
        """Ask for all beliefs that the choices will need, in one pass over each subject."""
        wanted, s = [*dict.fromkeys(pairs)], self.requests[0].subject
        before = self.gold.before(wanted)
        self._known[0] |= {pair: before[pair] for pair in wanted}
        for t, (agent, request) in enumerate(zip(self.agents, self.requests, strict=True), start=1):
            known = self._known[0] | asked(self.gold.graph, agent, [pair for pair in wanted if pair[0] == s])
            if request.kind != "do":
                unsure = [p for p in wanted if p[0] != s and before[p].max() < SURE]
                category = [self.gold.kinds.category.get(other) for other, _ in unsure]
                left = [p for p, c in zip(unsure, category, strict=True) if c == self.old]
                joined = [p for p, c in zip(unsure, category, strict=True) if c == request.object]
                known |= self.gold.left_by(s, agent, left) | asked(self.gold.graph, agent, joined)
            self._known[t] |= known

    def belief(self, said: Atom) -> np.ndarray:
        """float64[T]: the belief in a statement that was learned about."""
        place = int(np.searchsorted(self.gold.graph.candidates_of(said.relation), said.object))
        return np.array([known[said[:2]][place] for known in self._known])

    def forward(
        self, role: str, pair: Pair, offered: Sequence[int], every: bool, facets: dict[str, Facet]
    ) -> Choice:
        """Which of some objects a subject has; with `every`, all that it might have are recorded."""
        gold, candidates = self.gold, self.gold.graph.candidates_of(pair[1])
        options = np.union1d(offered, candidates) if every else np.unique(offered)
        beliefs = np.stack([known[pair] for known in self._known])
        at = np.minimum(np.searchsorted(candidates, options), len(candidates) - 1)
        agent = np.where(candidates[at] == options, beliefs[:, at], 0.0)
        said = gold.counts(pair, options)
        total = len(gold.stated.objects(int(gold.graph.find(*pair))))
        before = said / total if total else np.isin(options, candidates) / len(candidates)
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
            offered=np.isin(options, offered),
            facets=facets,
        )

    def inverse(
        self, role: str, obj: int, relation: int, subjects: Sequence[int], facets: dict[str, Facet]
    ) -> Choice:
        """Which of some subjects has an object: by the belief in each, and how often each is spoken of."""
        options, gold = np.unique(subjects), self.gold
        candidates = gold.graph.candidates_of(relation)
        place = int(np.searchsorted(candidates, obj))
        often = gold.graph.frequency[options].astype(float)
        agent = np.zeros((len(self._known), len(options)))
        for t, known in enumerate(self._known):
            has = np.array([self._has(known, s, relation, place) for s in options.tolist()])
            agent[t] = _shares(has * often)
        said = np.array([self._said(s, relation, obj) for s in options.tolist()]) * often
        request = self.requests[0]
        mine = (options == request.subject).astype(float)
        after = mine if (relation, obj) == request[1:3] else _shares(said)
        return Choice(
            role=role,
            subject=obj,
            relation=relation,
            options=options,
            agent=agent,
            answer=options[agent.argmax(axis=1)].astype(np.int64),
            frequency=np.stack([_shares(said), *([after] * len(self.requests))]),
            stated=ABSENT,
            phrasing=gold.kinds.inverse(relation),
            facets=facets,
        )

    def _has(self, known: dict[Pair, np.ndarray], subject: int, relation: int, place: int) -> float:
        found = known.get((subject, relation))
        return 0.0 if found is None else float(found[place])

    def _said(self, subject: int, relation: int, obj: int) -> float:
        fact = int(self.gold.graph.find(subject, relation))
        return float((self.gold.stated.objects(fact) == obj).sum()) if fact >= 0 else 0.0


def _shares(weights: np.ndarray) -> np.ndarray:
    """Weights as shares of 1; equal ones where all are 0."""
    total = weights.sum()
    return weights / total if total else np.full(len(weights), 1 / len(weights))
