"""What the agent believes, and what the corpus says, about LEME's questions.

An agent's beliefs about the facts of a couple are not independent: where the park lies decides its state.
So a choice holds, besides p(o), what the fact is given each object of the fact it depends on. Along a tree of
facts these say everything that is believed of all of them together.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bayes.exact import ExactAgent
from bayes.interface import Agent
from bayes.request import EditRequest, RequestKind
from corpus.errors import InputError
from corpus.text.language import Atom, Kind, Sentence
from testbed.evaluations.gold import Asker, Gold, Pair, ask_beliefs
from testbed.evaluations.leme import FIRST, Leme
from testbed.protocol import ABSENT, Choice, Facet
from testbed.run.strata import stratum
from testbed.run.world import World

UNLIKELY = 1e-9
"""What the fact above is with less probability is not asked about."""


class LemeGold(Gold):
    """A world's statements and links, and the exact agent's beliefs about them.

    Raises:
        InputError: the agent is not the exact one.
    """

    agent: ExactAgent

    def __init__(self, world: World, agent: object) -> None:
        if not isinstance(agent, ExactAgent):
            raise InputError("LEME's evaluation needs --agent exact, and a world of --kind exact")
        super().__init__(world, agent)
        self._language = world.tokenizer.language

    def pair_of(self, fact: int) -> Pair:
        """Subject and relation of a fact."""
        return int(self.graph.subject[fact]), int(self.graph.relation[fact])

    def make_requests(self, fact: int, new: int, evaluation: Leme, credence: float) -> list[EditRequest]:
        """A request, under each interpretation."""
        pair = self.pair_of(fact)
        is_evidence = evaluation.second == "evidence"
        weight = self.agent.weight_for(*pair, new, credence) if is_evidence else math.inf
        return [EditRequest(*pair, new, math.inf, FIRST), EditRequest(*pair, new, weight, evaluation.second)]

    def accepts_request(self, fact: int, new: int, kinds: Sequence[RequestKind]) -> bool:
        """Whether a request means anything to the agent under every interpretation."""
        pair = self.pair_of(fact)
        is_accepted = all(self.agent.accepts(*pair, kind) for kind in kinds)
        return is_accepted and not self.agent.rules_out(*pair, np.array([new]))[0]

    def depends_on(self, fact: int, above: int) -> bool:
        """Whether a fact depends on another one, directly or through others."""
        while (fact := int(self.graph.upstream_fact[fact])) >= 0:
            if fact == above:
                return True
        return False

    def statement_text(self, pair: Pair, obj: int) -> str:
        """A statement as a sentence of the world's language."""
        return self._language.render(Sentence(Kind.ATOMIC, None, Atom(*pair, obj)))

    def implied_objects(self, relation: int) -> tuple[float, ...]:
        """By object of what a fact depends on: what then is likelier than not, ABSENT where nothing is.

        This is what is known of all who are so linked, not of one of them.
        """
        counts = self.agent.known.rows[relation].by_row.toarray()
        mass = self.agent.config.row_mass
        share = (mass / counts.shape[1] + counts) / (mass + counts.sum(axis=1, keepdims=True))
        candidates = self.graph.candidates_of(relation)
        return tuple(float(candidates[row.argmax()]) if row.max() > 0.5 else float(ABSENT) for row in share)


class LemeAsker(Asker):
    """Choices about one request, which may move the facts of whoever is linked with its subject."""

    gold: LemeGold

    def ask_again(
        self,
        agent: Agent,
        request: EditRequest,  # noqa: ARG002
        before: Mapping[Pair, np.ndarray],
    ) -> dict[Pair, np.ndarray]:
        """All of them, since links are between subjects."""
        return ask_beliefs(self.graph, agent, list(before))

    def ask_object(self, role: str, fact: int, implied: bool = False, phrasing: int = 0) -> Choice:
        """Which object a fact has; `above` is asked too where it depends on a fact that was learned about."""
        gold, pair = self.gold, self.gold.pair_of(fact)
        beliefs, candidates = self.beliefs_in(pair), self.graph.candidates_of(pair[1])
        answer = candidates[beliefs.argmax(axis=1)]
        # Of a link, whose objects are subjects, only the one it has is of interest.
        is_link = pair[1] in self.graph.links
        places = np.flatnonzero(np.isin(candidates, answer)) if is_link else np.arange(len(candidates))
        up = self._fact_above(fact)
        above = gold.pair_of(up) if up >= 0 else (ABSENT, ABSENT)
        conditional = self._conditional_beliefs(up, fact)[:, :, places] if up >= 0 else np.zeros(0)
        facets: dict[str, Facet] = {
            "stratum": stratum(len(gold.objects_stated(pair))),
            "true": gold.statement_text(pair, int(answer[0])),
            "above": above[0],
            "above_relation": above[1],
            "given": tuple(conditional.ravel().tolist()),
            "implied": gold.implied_objects(pair[1]) if implied else (),
        }
        return self.make_choice(role, pair, candidates[places].astype(np.int64), facets, phrasing)

    def _fact_above(self, fact: int) -> int:
        """The fact that it depends on, ABSENT where that was not learned about."""
        up = int(self.graph.upstream_fact[fact])
        return up if up >= 0 and self.gold.pair_of(up) in self._known[0] else ABSENT

    def _conditional_beliefs(self, up: int, fact: int) -> np.ndarray:
        """float64[T, A, C]: p(fact = c | what it depends on = a), before and after the request.

        Where the fact above is hardly a, it is p(fact = c). After the world changed, what was drawn again is
        drawn from the row of what is above it now; so is it after a change of that one alone.
        """
        edited = int(self.graph.find(*self.requests[0][:2]))
        beliefs_above = self.beliefs_in(self.gold.pair_of(up))
        rows = np.repeat(self.beliefs_in(self.gold.pair_of(fact))[:, None], beliefs_above.shape[1], axis=1)
        for t, above in enumerate(beliefs_above):
            if above.max() > 1 - UNLIKELY:
                continue
            has_world_changed = t > 0 and self.requests[t - 1].kind == "do"
            start = self.gold.agent if has_world_changed else self.agents[t]
            kind: RequestKind = (
                "do" if has_world_changed and self.gold.depends_on(up, edited) else "correction"
            )
            for a in np.flatnonzero(above > UNLIKELY).tolist():
                rows[t, a] = self._belief_given_object(start, up, a, kind, fact)
        return rows

    def _belief_given_object(
        self, agent: Agent, up: int, place: int, kind: RequestKind, fact: int
    ) -> np.ndarray:
        pair = self.gold.pair_of(up)
        obj = int(self.graph.candidates_of(pair[1])[place])
        return (
            agent.with_edit(EditRequest(*pair, obj, math.inf, kind))
            .predict(*self.gold.pair_of(fact))
            .dense_probabilities()
        )
