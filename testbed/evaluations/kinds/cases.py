"""Drawing edits of worlds of any kind; the agent's answers say what each one asks."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from bayes.interface import Agent
from bayes.request import EditRequest
from corpus.errors import InputError
from corpus.seeds import generator
from testbed.evaluations.gold import GoldMaker, ask_agents
from testbed.evaluations.kinds import (
    FOLLOWS,
    OTHERS_FOLLOW,
    OTHERS_STAY,
    REQUEST,
    SILENT,
    SPOT,
    STATED,
    Kinds,
)
from testbed.evaluations.sets import SetSampler
from testbed.protocol import Case, credence_of_request, is_equally_good
from testbed.run.strata import support_of
from testbed.run.world import World


def make_cases(
    world: World, agent: Agent, count: int, credence: float, config: Kinds, seed: int
) -> Iterator[Case]:
    """The edits, with their questions and the agent's answers; see `Sampler`."""
    return iter(Sampler(world, agent, count, credence, config, seed))


class Sampler:
    """Draws cases for one world and agent; deterministic in its arguments."""

    def __init__(
        self, world: World, agent: Agent, count: int, credence: float, config: Kinds, seed: int
    ) -> None:
        self.world, self.agent, self.config, self.graph = world, agent, config, world.graph
        self.count, self.credence = count, credence
        self.rng, self._spot_rng = generator(seed, "kinds"), generator(seed, "kinds spot checks")
        self.gold = GoldMaker(world, agent, config.candidates, count)
        self._sets = SetSampler(self.graph, world.generative.truth, self._spot_rng)
        self._support = support_of(world)
        self._drawn: set[tuple[int, int, int]] = set()

    def __iter__(self) -> Iterator[Case]:
        """The cases, no two with the same request; subjects in random order, again when all were used.

        Raises:
            InputError: no fact of any subject takes such requests.
        """
        if (listed := getattr(self.agent, "requests", None)) is not None:
            yield from map(self._make_listed_case, listed[: self.count])
            return
        number = 0
        while number < self.count:
            before = number
            for s in self.rng.permutation(self.graph.subjects).tolist():
                case = self._draw_case(s)
                if case:
                    number += 1
                    yield case
                if number == self.count:
                    return
            if number == before:
                break
        if not number:
            raise InputError(
                f"no fact takes a request of kind {self.config.request!r} by this agent; choose another "
                "--kinds.request or --agent"
            )

    def _draw_case(self, s: int) -> Case | None:
        """A case about a subject: of so many requests the first that changes something, if it is to."""
        has_to_change = self.rng.random() < self.config.changing
        last = None
        for fact, target in self._draw_requests(s):
            related = self._find_related(fact)
            request = self._make_request(fact, target)
            moved = self._find_changes(request, related)
            last = request, fact, related, moved
            if moved.any() == has_to_change:
                break
        if last is None:
            return None
        self._drawn.add(last[0][:3])
        return self._make_case(*last)

    def _make_listed_case(self, request: EditRequest) -> Case:
        """A case of a request that the agent lists, which cannot answer anything else."""
        fact = int(self.graph.find(*request[:2]))
        related = self.agent.with_edit(request).relate_facts(*request[:2])  # type: ignore[attr-defined]
        related = related[related != fact]
        return self._make_case(request, fact, related, self._find_changes(request, related))

    def _draw_requests(self, s: int) -> Iterator[tuple[int, int]]:
        """Facts of a subject and objects that contradict what the agent believes of them, in random order."""
        options = []
        for fact in self.graph.facts_of(s):
            r = int(self.graph.relation[fact])
            if not self.agent.accepts(s, r, self.config.request):
                continue
            belief = self.agent.predict(s, r)
            objects = belief.support[belief.support != belief.mode()]
            if self.config.request != "do":
                objects = objects[~self.agent.rules_out(s, r, objects)]
            options += [(fact, int(o)) for o in objects if (s, r, int(o)) not in self._drawn]
        for i in self.rng.permutation(len(options))[: self.config.tries].tolist():
            yield options[i]

    def _find_related(self, fact: int) -> np.ndarray:
        """The facts besides this one that an edit of it may move, as far as the agent tells."""
        s, r = int(self.graph.subject[fact]), int(self.graph.relation[fact])
        relate = getattr(self.agent, "relate_facts", None)
        own = np.array(self.graph.facts_of(s))
        related = own if relate is None else np.union1d(own, relate(s, r))
        return related[related != fact]

    def _make_request(self, fact: int, target: int) -> EditRequest:
        s, r, kind = int(self.graph.subject[fact]), int(self.graph.relation[fact]), self.config.request
        weight = self.agent.weight_for(s, r, target, self.credence) if kind == "evidence" else math.inf
        return EditRequest(s, r, target, weight, kind)

    def _find_changes(self, request: EditRequest, facts: np.ndarray) -> np.ndarray:
        """bool[facts]: whether the agent's answer before the request is none of its best after it."""
        pairs = self._pairs_of(facts)
        before, after = ask_agents([self.agent, self.agent.with_edit(request)], pairs)
        kept = np.take_along_axis(after, before.argmax(axis=1)[:, None], axis=1)[:, 0]
        return ~is_equally_good(kept, after.max(axis=1))

    def _pairs_of(self, facts: np.ndarray | Sequence[int]) -> list[tuple[int, int]]:
        return [(int(self.graph.subject[f]), int(self.graph.relation[f])) for f in facts]

    def _make_case(self, request: EditRequest, fact: int, related: np.ndarray, moved: np.ndarray) -> Case:
        named: dict[str, list[int]] = {
            role: [] for role in (FOLLOWS, STATED, SILENT, OTHERS_FOLLOW, OTHERS_STAY)
        }
        for other, follows in zip(related.tolist(), moved.tolist(), strict=True):
            is_own = self.graph.subject[other] == request.subject
            is_stated = len(self.gold.stated.objects_of(other)) > 0
            stays = (STATED if is_stated else SILENT) if is_own else OTHERS_STAY
            named[(FOLLOWS if is_own else OTHERS_FOLLOW) if follows else stays].append(other)
        for role in (OTHERS_FOLLOW, OTHERS_STAY):
            named[role] = self.rng.permutation(named[role]).astype(int)[: self.config.others].tolist()
        named[SPOT] = [] if hasattr(self.agent, "requests") else self._draw_spot_checks(fact, related)
        questions = [(REQUEST, *request[:2])]
        questions += [(role, *pair) for role, facts in named.items() for pair in self._pairs_of(facts)]
        choices, _ = self.gold.make_choices(
            [request], questions, alike=self._sets.relations_of_set(request.relation)
        )
        choices = tuple(c._replace(is_spot_check=c.role == SPOT) for c in choices)
        return Case(
            request=request,
            credence=credence_of_request(request.kind, self.credence),
            truth=int(self.world.generative.truth[fact]),
            facets={
                "law": self.world.kind,
                "changes": bool(moved.any()),
                "support": int(self._support[request.relation, request.object]),
                "stated": len(self.gold.stated.objects_of(fact)),
            },
            choices=self._sets.group_choices(request, choices),
        )

    def _draw_spot_checks(self, fact: int, related: np.ndarray) -> list[int]:
        """Random facts of others on which the request does not bear, by a stream of their own."""
        unrelated = np.setdiff1d(np.arange(len(self.graph)), [*related, fact])
        unrelated = unrelated[self.graph.subject[unrelated] != self.graph.subject[fact]]
        size = min(self.config.others, len(unrelated))
        return self._spot_rng.choice(unrelated, size, replace=False).tolist()
