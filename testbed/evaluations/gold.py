"""What the agent believes and what the corpus says, as choices with their gold (design.md 11)."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from bayes import kernels
from bayes.interface import Agent, Belief, tell_agent
from bayes.request import EditRequest
from corpus import compiled
from corpus.graph import KnowledgeGraph
from corpus.text.language import Atom
from testbed.protocol import Choice, Facet
from testbed.run.strata import StatementIndex
from testbed.run.world import World

Pair = tuple[int, int]
"""Subject and relation."""
Question = tuple[str, int, int]
"""Role, subject and relation of a choice."""
SURE = 1 - 1e-9
"""Whoever is believed to have an object so surely is believed so after an edit of somebody else, too."""


def ask_agents(agents: Sequence[Agent], pairs: Sequence[Pair], belief: Belief = "best") -> np.ndarray:
    """float64[agents, pairs, objects]: p(o | s, r) of all objects, under several agents.

    Args:
        belief: "direct" asks for a fact itself, not through what it depends on.
    """
    subjects, relations = np.array(pairs, int).reshape(-1, 2).T
    return np.stack([agent.distributions(subjects, relations, belief) for agent in agents])


def ask_beliefs(graph: KnowledgeGraph, agent: Agent, pairs: Sequence[Pair]) -> dict[Pair, np.ndarray]:
    """p(o | s, r) of the candidates of each relation."""
    if not pairs:
        return {}
    (beliefs,) = ask_agents([agent], pairs)
    places = {r: np.searchsorted(graph.objects, graph.candidates_of(r)) for _, r in pairs}
    return {pair: belief[places[pair[1]]] for pair, belief in zip(pairs, beliefs, strict=True)}


class Gold:
    """A world's statements, and what an agent believes before any edit, each asked once."""

    def __init__(self, world: World, agent: Agent) -> None:
        self.world, self.graph, self.agent = world, world.graph, agent
        self.stated = StatementIndex(world.graph, world.sentences)
        self._before: dict[Pair, np.ndarray] = {}

    def beliefs_before(self, pairs: Iterable[Pair]) -> dict[Pair, np.ndarray]:
        """p(o | s, r) of the candidates of each relation, before any edit."""
        unique_pairs = [*dict.fromkeys(pairs)]
        missing = [pair for pair in unique_pairs if pair not in self._before]
        self._before |= ask_beliefs(self.graph, self.agent, missing)
        return {pair: self._before[pair] for pair in unique_pairs}

    def objects_stated(self, pair: Pair) -> np.ndarray:
        """The object of every statement of a fact."""
        return self.stated.objects_of(int(self.graph.find(*pair)))


class Asker:
    """Beliefs before a request and under each of its interpretations, and choices made of them.

    What is believed of others is asked once, before any edit. After `do` it stays, since that is no
    observation; after anything else those whose facts are not known anyway are asked again.

    Args:
        requests: the same fact, as it is under each interpretation.
    """

    def __init__(self, gold: Gold, requests: Sequence[EditRequest]) -> None:
        self.gold, self.graph, self.requests = gold, gold.graph, requests
        self.agents = [gold.agent, *(tell_agent(gold.agent, request) for request in requests)]
        self._known: list[dict[Pair, np.ndarray]] = [{} for _ in self.agents]

    def learn_beliefs(self, pairs: Iterable[Pair]) -> None:
        """Ask for the beliefs that choices will need, many at once."""
        before = self.gold.beliefs_before(pairs)
        self._known[0] |= before
        for t, (agent, request) in enumerate(zip(self.agents[1:], self.requests, strict=True), start=1):
            self._known[t] |= before | self.ask_again(agent, request, before)

    def ask_again(
        self, agent: Agent, request: EditRequest, before: Mapping[Pair, np.ndarray]
    ) -> dict[Pair, np.ndarray]:
        """The beliefs that may have moved: of the subject itself, and of others who are not known anyway.

        Args:
            agent: it has been told the request.
            before: all that is to be learned, as it was before the request.
        """
        moving = [
            pair for pair, belief in before.items()
            if pair[0] == request.subject or (request.kind != "do" and belief.max() < SURE)
        ]  # fmt: skip
        return ask_beliefs(self.graph, agent, moving)

    def beliefs_in(self, pair: Pair) -> np.ndarray:
        """float64[T, candidates] of a fact that was learned about."""
        return np.stack([known[pair] for known in self._known])

    def make_choice(
        self,
        role: str,
        pair: Pair,
        options: np.ndarray,
        facets: Mapping[str, Facet],
        phrasing: int = 0,
        offered: np.ndarray | None = None,
    ) -> Choice:
        """Which of some objects a subject has; see `testbed.protocol.Choice`.

        Args:
            options: int64, ascending; what is no candidate of the relation is believed with 0.
        """
        candidates, beliefs, statements = (
            self.graph.candidates_of(pair[1]), self.beliefs_in(pair), self.gold.objects_stated(pair),
        )  # fmt: skip
        at = np.minimum(np.searchsorted(candidates, options), len(candidates) - 1)
        is_candidate = candidates[at] == options
        count = (statements[None, :] == options[:, None]).sum(axis=1)
        before = count / len(statements) if len(statements) else is_candidate / len(candidates)
        request = self.requests[0]
        after = (options == request.object).astype(float) if pair == request[:2] else before
        return Choice(
            role=role,
            subject=pair[0],
            relation=pair[1],
            options=options,
            agent=np.where(is_candidate, beliefs[:, at], 0.0),
            answer=candidates[beliefs.argmax(axis=1)].astype(np.int64),
            frequency=np.stack([before, *([after] * len(self.requests))]),
            stated=len(statements),
            phrasing=phrasing,
            offered=offered,
            facets=facets,
        )


class GoldMaker:
    """Makes choices over the likeliest objects, with gold of a request that may be any evidence.

    Args:
        options: most objects of a choice whose probability is recorded; what matters most comes first: the
            agent's answers, the request, what was stated, then what is most probable.
        cases: about how many there will be, which decides whether kernels are worth compiling.
    """

    def __init__(self, world: World, agent: Agent, options: int, cases: int) -> None:
        self.graph, self.agent, self.options, self.cases = world.graph, agent, options, cases
        self.stated = StatementIndex(world.graph, world.sentences)

    def make_choices(
        self,
        requests: Sequence[EditRequest],
        questions: Sequence[Question],
        statements: Sequence[Atom] = (),
        alike: Collection[int] = (),
    ) -> tuple[tuple[Choice, ...], np.ndarray]:
        """Choices, and the belief in some statements, before the edit and under each interpretation of it.

        A requested fact itself is believed directly, not through what it depends on, as the request speaks
        of it alone.

        Args:
            requests: the same fact, as it is under each interpretation.
            alike: relations of which the requested object is recorded, too, however improbable.

        Returns:
            The choices, and float64[1 + interpretations, statements].
        """
        facts = [part[:2] for part in requests[0].parts]
        pairs = [(s, r) for _, s, r in questions] + [a[:2] for a in statements]
        agents = (self.agent, *(tell_agent(self.agent, request) for request in requests))
        beliefs = ask_agents(agents, pairs)
        for fact in facts:
            itself = [row for row, pair in enumerate(pairs) if pair == fact]
            if itself:
                beliefs[:, itself] = ask_agents(agents, [fact], "direct")
        places = np.searchsorted(self.graph.objects, [a.object for a in statements])
        statement_beliefs = beliefs[:, np.arange(len(questions), len(pairs)), places]
        choices = self._build_choices(requests, questions, beliefs[:, : len(questions)], alike)
        return choices, statement_beliefs

    def _build_choices(
        self,
        requests: Sequence[EditRequest],
        questions: Sequence[Question],
        beliefs: np.ndarray,
        alike: Collection[int],
    ) -> tuple[Choice, ...]:
        objects = self.graph.objects
        answers = objects[beliefs.argmax(axis=-1)]
        highest = beliefs.max(axis=0)
        count = min(self.options, len(objects))
        if self.cases * len(objects) < compiled.LEAST_WORK:
            likely = np.argsort(-highest, axis=1, kind="stable")[:, :count]
        else:
            likely = np.empty((len(questions), count), np.int64)
            compiled.compile_kernel(kernels.rank_most_probable)(0, len(questions), highest, count, likely)
        # What shares the smallest value is named nowhere.
        is_named = np.take_along_axis(highest, likely, axis=1) > highest.min(axis=1, keepdims=True)
        choices = []
        for row, (role, s, r) in enumerate(questions):
            statements = self.stated.objects_of(int(self.graph.find(s, r)))
            asked_for = [requests[0].object] if r == requests[0].relation or r in alike else []
            first = [*answers[:, row].tolist(), *asked_for, *np.unique(statements).tolist()]
            ordered = dict.fromkeys([*first, *objects[likely[row, is_named[row]]].tolist()])
            options = np.array(sorted(list(ordered)[: self.options]))
            choices.append(
                Choice(
                    role=role,
                    subject=s,
                    relation=r,
                    options=options,
                    agent=beliefs[:, row, np.searchsorted(objects, options)],
                    answer=answers[:, row],
                    frequency=self._corpus_frequency(statements, options, requests, (s, r)),
                    stated=len(statements),
                )
            )
        return tuple(choices)

    def _corpus_frequency(
        self, statements: np.ndarray, options: np.ndarray, requests: Sequence[EditRequest], pair: Pair
    ) -> np.ndarray:
        """float64[1 + interpretations, c]: share of statements naming each option, then with the request."""
        count = (statements[None, :] == options[:, None]).sum(axis=1).astype(float)
        if not len(statements):
            # Who has read nothing about it can only guess; what the request adds is still counted.
            count = count + 1.0 / len(self.graph.objects)
        before = count / max(len(statements), 1)
        shares = [before]
        for request in requests:
            part = next((part for part in request.parts if part[:2] == pair), None)
            if part is None:
                shares.append(before)
                continue
            # n' copies mean the same to both readers when each counts a sentence as often as the other.
            copies = part.weight / self.agent.evidence_multiplicity
            requested = options == part.object
            if math.isinf(copies):
                shares.append(requested.astype(float))
            else:
                shares.append((count + copies * requested) / (max(len(statements), 1) + copies))
        return np.stack(shares)
