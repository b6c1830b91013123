"""What the agent believes, and what the corpus says, about the questions of Seesaw-CF's examination."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bayes.interface import Agent, EditRequest
from corpus.errors import InputError
from testbed.evaluations.beliefs import SURE, Pair, PriorBeliefs, ask_beliefs
from testbed.evaluations.seesaw.edits import Edit
from testbed.evaluations.seesaw.population import Population
from testbed.evaluations.seesaw.roles import READINGS
from testbed.protocol import Choice, Facet


class Gold:
    """Makes choices about one edit after another.

    What is believed of others is asked once, before any edit. After `do` it stays, since that is no
    observation. After a correction it may move by what one person adds to a row; only those whose facts are
    not known anyway are asked again.
    """

    def __init__(self, population: Population, agent: Agent) -> None:
        self.population, self.agent, self.graph = population, agent, population.graph
        self.before = PriorBeliefs(population.graph, agent)

    def ask_about(self, edit: Edit, relations: Sequence[int], others: Iterable[int]) -> "Asker":
        """Beliefs before and after an edit, under each reading.

        Args:
            relations: those of the edited person that are asked about.
            others: people whose edited relation is asked about.

        Raises:
            InputError: the agent knows no such request, or the evidence rules it out.
        """
        s, r = edit.person, edit.relation
        requests = [EditRequest(s, r, edit.new, math.inf, kind) for kind in READINGS]
        mine, theirs = [(s, one) for one in relations], [(other, r) for other in dict.fromkeys(others)]
        every = self.before([*mine, *theirs])
        beliefs = [{pair: every[pair] for pair in (*mine, *theirs)}]
        for request in requests:
            if not self.agent.accepts(s, r, request.kind):
                named = " ".join((self.graph.entities[s], self.graph.relations[r]))
                raise InputError(f"the agent takes no {request.kind} about {named!r}; use --agent exact")
            agent = self.agent.with_edit(request)
            unsure = [] if request.kind == "do" else [p for p in theirs if beliefs[0][p].max() < SURE]
            beliefs.append(
                beliefs[0] | ask_beliefs(self.graph, agent, mine) | ask_beliefs(self.graph, agent, unsure)
            )
        return Asker(self, requests, beliefs)


class Asker:
    """Choices about one request.

    Args:
        requests: it, under each reading.
        known: p(o | s, r) of the candidates of all that is asked, before the edit and under each reading.
    """

    def __init__(
        self, gold: Gold, requests: Sequence[EditRequest], known: Sequence[Mapping[Pair, np.ndarray]]
    ) -> None:
        self.gold, self.requests, self._known = gold, requests, known

    def make_choice(
        self, role: str, pair: Pair, options: np.ndarray, facets: Mapping[str, Facet], phrasing: int = 0
    ) -> Choice:
        """Which of some objects a person has.

        Args:
            options: int64, some candidates of the relation, ascending.
        """
        gold, candidates = self.gold, self.gold.graph.candidates_of(pair[1])
        beliefs = np.stack([known[pair] for known in self._known])
        objects_stated = gold.population.stated.objects_of(int(gold.graph.find(*pair)))
        count = (objects_stated[None, :] == options[:, None]).sum(axis=1)
        before = (
            count / len(objects_stated) if len(objects_stated) else np.full(len(options), 1 / len(candidates))
        )
        request = self.requests[0]
        after = (options == request.object).astype(float) if pair == request[:2] else before
        return Choice(
            role=role,
            subject=pair[0],
            relation=pair[1],
            options=options,
            agent=beliefs[:, np.searchsorted(candidates, options)],
            answer=candidates[beliefs.argmax(axis=1)].astype(np.int64),
            frequency=np.stack([before, *([after] * len(self.requests))]),
            stated=len(objects_stated),
            phrasing=phrasing,
            facets=facets,
        )
