"""What the agent believes and what the corpus says, as choices with their gold (design.md 11)."""

import math
from collections.abc import Sequence

import numpy as np

from bayes import kernels
from bayes.interface import Agent, EditRequest
from corpus.compiled import choose_kernels
from corpus.text.language import Atom
from testbed.protocol import Choice
from testbed.run.strata import StatementIndex
from testbed.run.world import World

Question = tuple[str, int, int]
"""Role, subject and relation of a choice."""


class GoldMaker:
    """Makes choices about a world: their options, the agent's beliefs, and the corpus's frequencies.

    Args:
        options: most objects of a choice whose probability is recorded; what matters most comes first: the
            agent's answers, the request, what was stated, then what is most probable.
        cases: about how many there will be, which decides whether kernels are worth compiling.
    """

    def __init__(self, world: World, agent: Agent, options: int, cases: int) -> None:
        self.graph, self.agent, self.options, self.cases = world.graph, agent, options, cases
        self.stated = StatementIndex(world.graph, world.sentences)

    def make_choices(
        self, requests: Sequence[EditRequest], questions: Sequence[Question], statements: Sequence[Atom] = ()
    ) -> tuple[tuple[Choice, ...], np.ndarray]:
        """Choices, and the belief in some statements, before the edit and after each reading of it.

        The requested fact itself is believed directly, not through what it depends on, as the request speaks
        of it alone.

        Args:
            requests: the same fact, as it is under each reading.

        Returns:
            The choices, and float64[1 + readings, statements].
        """
        objects, fact = self.graph.objects, requests[0][:2]
        pairs = [(s, r) for _, s, r in questions] + [a[:2] for a in statements]
        subjects, relations = np.array(pairs).T
        agents = (self.agent, *(self.agent.with_edit(request) for request in requests))
        beliefs = np.stack([agent.distributions(subjects, relations) for agent in agents])
        itself = [row for row, pair in enumerate(pairs) if pair == fact]
        if itself:
            for belief, agent in zip(beliefs, agents, strict=True):
                belief[itself] = agent.distributions(np.array(fact[:1]), np.array(fact[1:]), "direct")[0]
        places = np.searchsorted(objects, [a.object for a in statements])
        statement_beliefs = beliefs[:, np.arange(len(questions), len(pairs)), places]
        return self._build_choices(requests, questions, beliefs[:, : len(questions)]), statement_beliefs

    def _build_choices(
        self, requests: Sequence[EditRequest], questions: Sequence[Question], beliefs: np.ndarray
    ) -> tuple[Choice, ...]:
        objects = self.graph.objects
        answers = objects[beliefs.argmax(axis=-1)]
        highest = beliefs.max(axis=0)
        count = min(self.options, len(objects))
        likely = np.empty((len(questions), count), np.int64)
        most_probable = choose_kernels(kernels.most_probable, self.cases * len(objects))
        most_probable(0, len(questions), highest, count, likely)
        # What shares the smallest value is named nowhere.
        named = np.take_along_axis(highest, likely, axis=1) > highest.min(axis=1, keepdims=True)
        choices = []
        for row, (role, s, r) in enumerate(questions):
            stated = self.stated.objects_of(int(self.graph.find(s, r)))
            asked_for = [requests[0].object] if r == requests[0].relation else []
            first = [*answers[:, row].tolist(), *asked_for, *np.unique(stated).tolist()]
            ordered = dict.fromkeys([*first, *objects[likely[row, named[row]]].tolist()])
            options = np.array(sorted(list(ordered)[: self.options]))
            choices.append(
                Choice(
                    role=role,
                    subject=s,
                    relation=r,
                    options=options,
                    agent=beliefs[:, row, np.searchsorted(objects, options)],
                    answer=answers[:, row],
                    frequency=self._corpus_frequency(stated, options, requests, (s, r)),
                    stated=len(stated),
                )
            )
        return tuple(choices)

    def _corpus_frequency(
        self,
        stated: np.ndarray,
        options: np.ndarray,
        requests: Sequence[EditRequest],
        asked: tuple[int, int],
    ) -> np.ndarray:
        """float64[1 + readings, c]: share of statements that name each option, then with the request."""
        count = (stated[None, :] == options[:, None]).sum(axis=1).astype(float)
        if not len(stated):
            # Who has read nothing about it can only guess; what the request adds is still counted.
            count = count + 1.0 / len(self.graph.objects)
        before = count / max(len(stated), 1)
        shares = [before]
        for request in requests:
            # n' copies mean the same to both readers when each counts a sentence as often as the other.
            copies = request.weight / self.agent.evidence_multiplicity
            requested = options == request.object
            if asked != (request.subject, request.relation):
                shares.append(before)
            elif math.isinf(copies):
                shares.append(requested.astype(float))
            else:
                shares.append((count + copies * requested) / (max(len(stated), 1) + copies))
        return np.stack(shares)
