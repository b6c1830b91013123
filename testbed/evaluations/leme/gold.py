"""What the agent believes, and what the corpus says, about the questions of LEME's examination.

An agent's beliefs about the facts of a couple are not independent: where the park lies decides its state.
So a choice holds, besides p(o), what the fact is given each object of the fact it depends on. Along a tree of
facts these say everything that is believed of all of them together.
"""

import math
from collections.abc import Sequence

import numpy as np

from bayes.exact import ExactAgent
from bayes.interface import EditRequest, RequestKind
from corpus.errors import InputError
from corpus.text.language import Atom, Kind, Sentence
from testbed.evaluations.leme.settings import LemeConfig
from testbed.protocol import ABSENT, Choice
from testbed.run.strata import StatementIndex, stratum
from testbed.run.world import World

UNLIKELY = 1e-9
"""What the fact above is with less probability is not asked about."""


class Gold:
    """Makes choices about one edit after another."""

    def __init__(self, world: World, agent: ExactAgent) -> None:
        self.graph, self.agent = world.graph, agent
        self.statement_index = StatementIndex(world.graph, world.sentences)
        self._language = world.tokenizer.language

    def asker_for_request(self, fact: int, new: int, config: LemeConfig, credence: float) -> "Asker":
        """Beliefs before and after a request, under each reading.

        Raises:
            InputError: the agent knows no such request, or the evidence rules it out.
        """
        s, r = int(self.graph.subject[fact]), int(self.graph.relation[fact])
        second: EditRequest = EditRequest(s, r, new, math.inf, config.second)
        if config.second == "evidence":
            second = second._replace(weight=self.agent.weight_for(s, r, new, credence))
        return Asker(self, fact, [EditRequest(s, r, new, math.inf, "do"), second])

    def accepts_request(self, fact: int, new: int, kinds: Sequence[RequestKind]) -> bool:
        """Whether a request means anything to the agent under every reading."""
        s, r = int(self.graph.subject[fact]), int(self.graph.relation[fact])
        accepted = all(self.agent.accepts(s, r, kind) for kind in kinds)
        return accepted and not self.agent.rules_out(s, r, np.array([new]))[0]

    def statement_text(self, subject: int, relation: int, obj: int) -> str:
        """A statement as a sentence of the world's language."""
        return self._language.render(Sentence(Kind.ATOMIC, None, Atom(subject, relation, obj)))

    def implied_objects(self, fact: int) -> tuple[int, ...]:
        """By object of what a fact depends on: what then is likelier than not, ABSENT where nothing is.

        This is what is known of all who are so linked, not of this one.
        """
        relation = int(self.graph.relation[fact])
        counts = self.agent.known.rows[relation].by_row.toarray()
        mass = self.agent.config.row_mass
        share = (mass / counts.shape[1] + counts) / (mass + counts.sum(axis=1, keepdims=True))
        candidates = self.graph.candidates_of(relation)
        return tuple(int(candidates[row.argmax()]) if row.max() > 0.5 else ABSENT for row in share)


class Asker:
    """Choices about one request.

    Args:
        fact: the one that is edited.
        requests: it, under each reading.
    """

    def __init__(self, gold: Gold, fact: int, requests: Sequence[EditRequest]) -> None:
        self.gold, self.graph, self.requests, self._edited = gold, gold.graph, requests, fact
        self.agents = [gold.agent, *(gold.agent.with_edit(request) for request in requests)]
        self._beliefs: dict[int, np.ndarray] = {}

    def learn_beliefs(self, facts: Sequence[int]) -> None:
        """Ask for all beliefs that choices will need, in one pass over each tree of facts."""
        s, r = self.graph.subject[facts], self.graph.relation[facts]
        beliefs = np.stack([agent.distributions(s, r) for agent in self.agents])
        for i, fact in enumerate(facts):
            places = np.searchsorted(self.graph.objects, self._candidates(fact))
            self._beliefs[fact] = beliefs[:, i, places]

    def make_choice(self, role: str, fact: int, implied: bool = False, phrasing: int = 0) -> Choice:
        """Which object a fact has; `above` is asked too where it depends on a fact that was learned about."""
        gold, beliefs, every = self.gold, self._beliefs[fact], self._candidates(fact)
        s, r = int(self.graph.subject[fact]), int(self.graph.relation[fact])
        answer = every[beliefs.argmax(axis=1)].astype(np.int64)
        # Of a link, whose objects are subjects, only the one it has is of interest.
        is_link = r in self.graph.links
        kept = np.flatnonzero(np.isin(every, answer)) if is_link else np.arange(len(every))
        options = every[kept].astype(np.int64)
        up = int(self.graph.upstream_fact[fact])
        up = up if up in self._beliefs else ABSENT
        said = gold.statement_index.objects_of(fact)
        counts = (said[None, :] == options[:, None]).sum(axis=1).astype(float)
        before = counts / len(said) if len(said) else np.full(len(options), 1 / len(every))
        after = (options == self.requests[0].object).astype(float) if fact == self._edited else before
        given = self._conditional_beliefs(up, fact)[:, :, kept] if up >= 0 else np.zeros(0)
        return Choice(
            role=role,
            subject=s,
            relation=r,
            options=options,
            agent=beliefs[:, kept],
            answer=answer,
            frequency=np.stack([before, *([after] * len(self.requests))]),
            stated=len(said),
            phrasing=phrasing,
            facets={
                "stratum": stratum(len(said)),
                "true": gold.statement_text(s, r, int(answer[0])),
                "above": int(self.graph.subject[up]) if up >= 0 else ABSENT,
                "above_relation": int(self.graph.relation[up]) if up >= 0 else ABSENT,
                "given": tuple(given.ravel().tolist()),
                "implied": tuple(map(float, gold.implied_objects(fact))) if implied else (),
            },
        )

    def _conditional_beliefs(self, up: int, fact: int) -> np.ndarray:
        """float64[T, A, C]: p(fact = c | what it depends on = a), before and after the request.

        Where the fact above is hardly a, it is p(fact = c). After the world changed, what was drawn again is
        drawn from the row of what is above it now; so is it after a change of that one alone.
        """
        rows = np.repeat(self._beliefs[fact][:, None], len(self._candidates(up)), axis=1)
        for t, above in enumerate(self._beliefs[up]):
            if above.max() > 1 - UNLIKELY:
                continue
            request = self.requests[t - 1] if t else None
            changed = request is not None and request.kind == "do"
            start = self.gold.agent if changed else self.agents[t]
            kind: RequestKind = "do" if changed and self._depends_on_edited(up) else "correction"
            for a in np.flatnonzero(above > UNLIKELY).tolist():
                rows[t, a] = self._belief_given_object(start, up, a, kind, fact)
        return rows

    def _depends_on_edited(self, fact: int) -> bool:
        """Whether a fact depends on the edited one."""
        while (fact := int(self.graph.upstream_fact[fact])) >= 0:
            if fact == self._edited:
                return True
        return False

    def _belief_given_object(
        self, agent: ExactAgent, up: int, place: int, kind: RequestKind, fact: int
    ) -> np.ndarray:
        s, r = int(self.graph.subject[up]), int(self.graph.relation[up])
        told = agent.with_edit(EditRequest(s, r, int(self._candidates(up)[place]), math.inf, kind))
        return told.predict(int(self.graph.subject[fact]), int(self.graph.relation[fact])).dense()

    def _candidates(self, fact: int) -> np.ndarray:
        return self.graph.candidates_of(int(self.graph.relation[fact]))


def require_exact_agent(agent: object) -> ExactAgent:
    """The agent, if it can answer.

    Raises:
        InputError: it is not the exact one.
    """
    if not isinstance(agent, ExactAgent):
        raise InputError("LEME's examination needs --agent exact, and a world of --kind exact")
    return agent
