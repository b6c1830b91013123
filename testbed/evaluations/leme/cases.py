"""LEME's edits as cases: a subject, the entity coupled with it, the twin, and passages about all three.

The agent's beliefs about the facts of a couple are not independent: where the park lies decides its state. So
a choice holds, besides p(o), what the fact is given each object of the fact it depends on. Along a tree of
facts these say everything that is believed of all of them together.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from bayes.exact import ExactAgent
from bayes.interface import Agent
from bayes.request import EditRequest, RequestKind
from corpus.errors import InputError
from corpus.graph import NO_LINK
from corpus.seeds import generator
from corpus.text.language import Atom, Kind, Sentence
from corpus.text.tokenizer import BOS, SEP
from testbed.evaluations.gold import Asker, Gold, Pair, ask_beliefs
from testbed.evaluations.leme import (
    BELOW,
    BESIDE,
    CHILD,
    COUPLED,
    EDIT,
    FIRST,
    OTHER,
    OWN,
    RELATED,
    SUBJECT,
    SYNONYM,
    TWIN,
    TWIN_BESIDE,
    Leme,
)
from testbed.protocol import ABSENT, Case, Choice, ControlRequest, Facet, Passage, credence_of_request
from testbed.run.strata import strata_of, stratum
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


CONTROLS = ("something true of the subject", "the same of somebody else, which is not true")
"""What editors are told that says nothing about the request."""


class Couple(NamedTuple):
    """Two facts of two subjects: the `coupled` one depends on the `edited` one by a link."""

    edited: int
    coupled: int


def make_cases(
    world: World, agent: Agent, count: int, credence: float, evaluation: Leme, seed: int
) -> Iterator[Case]:
    """Edits of coupled pairs; fewer than `count` where there are not so many.

    Raises:
        InputError: nobody can be edited, or the agent is not exact.
    """
    maker = CaseMaker(LemeGold(world, agent), evaluation, credence, generator(seed, "leme"))
    edits = maker.draw_edits(count)
    if not edits:
        raise InputError("no couple of this world can be edited: what was said settles every coupled fact")
    for couple, new in edits:
        yield maker.make_case(couple, new)


class CaseMaker:
    """Draws edits of a world's couples and makes cases of them."""

    def __init__(self, gold: LemeGold, evaluation: Leme, credence: float, rng: np.random.Generator) -> None:
        self.gold, self.evaluation, self.credence, self.rng = gold, evaluation, credence, rng
        self.world, self.graph, self.stated_object = gold.world, gold.graph, gold.world.generative.truth
        self.couples = Couples(gold)

    def draw_edits(self, count: int) -> list[tuple[Couple, int]]:
        """Couples with another object for the edited fact, injections and corrections in their shares.

        Every couple is taken once before any is taken again, with an object that it had not. What was stated
        wrongly is corrected only, and that once.

        Raises:
            InputError: corrections are wanted where nothing is stated wrongly.
        """
        shares = self.evaluation
        order = [self.couples.all[i] for i in self.rng.permutation(len(self.couples.all))]
        wrong = [c for c in order if self._is_told_wrongly(c)]
        right = [c for c in order if not self._is_told_wrongly(c)]
        if shares.corrections and not wrong:
            raise InputError(
                f"leme.corrections is {shares.corrections}, but the corpus states no fact of a couple "
                "wrongly; build one that does with --exact.planted"
            )
        kinds = [[c for c in right if self.couples.is_stated(c.edited) == stated] for stated in (True, False)]
        corrected = round(shares.corrections * count)
        share = shares.injections if all(kinds) else float(not kinds[0])
        injected = min(round(share * count), count - corrected)
        edits: list[tuple[Couple, int]] = []
        for couples, n in zip(kinds, (count - injected - corrected, injected), strict=True):
            objects = [
                self.rng.permutation(self.graph.candidates_of(self._relation_of(c.edited))) for c in couples
            ]
            edits += islice(self._iterate_edits(couples, objects), n)
        truths = [self.graph.object[[couple.edited]] for couple in wrong]
        edits += islice(self._iterate_edits(wrong, truths), corrected)
        return [edits[i] for i in self.rng.permutation(len(edits))]

    def _is_told_wrongly(self, couple: Couple) -> bool:
        return bool(self.stated_object[couple.edited] != self.graph.object[couple.edited])

    def _iterate_edits(
        self, couples: Sequence[Couple], candidates: Sequence[np.ndarray]
    ) -> Iterator[tuple[Couple, int]]:
        """Every couple with its first object that was not told, then every one with its second."""
        kinds: tuple[RequestKind, ...] = (FIRST, self.evaluation.second)
        for turn in range(max(map(len, candidates), default=0)):
            for couple, objects in zip(couples, candidates, strict=True):
                others = [int(o) for o in objects if o != self.stated_object[couple.edited]]
                if turn < len(others) and self.gold.accepts_request(couple.edited, others[turn], kinds):
                    yield couple, others[turn]

    def make_case(self, couple: Couple, new: int) -> Case:
        """One request with its questions and passages."""
        gold, couples, names = self.gold, self.couples, self.graph.entities
        asker = LemeAsker(gold, gold.make_requests(couple.edited, new, self.evaluation, self.credence))
        twin = couples.draw_twin(couple, self.rng)
        others = self._facts_of_others(couple, new)[: self.evaluation.others]
        facts = self._facts_by_role(couple, twin, others)
        asker.learn_beliefs([gold.pair_of(fact) for _, fact in facts])
        choices = [asker.ask_object(role, fact, role in (COUPLED, TWIN)) for role, fact in facts]
        choices += [
            asker.ask_object(SYNONYM, couple.edited, phrasing=way)
            for way in self._phrasings_of(couple.edited)
        ]
        (subject, relation), (related, _) = gold.pair_of(couple.edited), gold.pair_of(couple.coupled)
        passages = [
            self._request_passage(SUBJECT, subject, [relation]),
            self._request_passage(RELATED, related),
        ]
        if twin >= 0:
            passages.append(self._request_passage(TWIN, gold.pair_of(twin)[0]))
        return Case(
            request=asker.requests[0],
            credence=credence_of_request(asker.requests[0].kind, self.credence),
            truth=int(self.graph.object[couple.edited]),
            facets={
                "couple": " -> ".join(
                    couples.graph.relations[couples.graph.relation[fact]] for fact in couple
                ),
                "related": related,
                "twin": gold.pair_of(twin)[0] if twin >= 0 else ABSENT,
                "stated": couples.is_stated(couple.edited),
                "request": gold.statement_text((subject, relation), new),
                "subject_name": names[subject],
                "related_name": names[related],
            },
            choices=tuple(choices),
            passages=tuple(passages),
            controls=self._make_controls(couple.edited, new) if self.evaluation.controls else (),
        )

    def _facts_by_role(self, couple: Couple, twin: int, others: Sequence[int]) -> list[tuple[str, int]]:
        """Facts with what they are asked for: all of subject, related entity and twin, and some of others."""

        def facts_of(main: int, role: str, below: str, beside: str) -> list[tuple[str, int]]:
            return [
                (role if fact == main else below if self.gold.depends_on(fact, main) else beside, fact)
                for fact in self.graph.facts_of(int(self.graph.subject[main]))
            ]

        facts = facts_of(couple.edited, EDIT, CHILD, OWN) + facts_of(couple.coupled, COUPLED, BELOW, BESIDE)
        if twin >= 0:
            facts += facts_of(twin, TWIN, TWIN_BESIDE, TWIN_BESIDE)
        own = {fact for _, fact in facts}
        return facts + [(OTHER, fact) for fact in others if fact not in own]

    def _facts_of_others(self, couple: Couple, new: int) -> list[int]:
        """The edited relation of others that were spoken of: of those with the old and the new object."""
        is_same = (self.graph.relation == self._relation_of(couple.edited)) & ~self.graph.silent
        is_same[couple.edited] = False
        old = self.stated_object[couple.edited]
        holders = [
            self.rng.permutation(np.flatnonzero(is_same & (self.stated_object == o))).tolist()
            for o in (old, new)
        ]
        in_turn = [fact for pair in zip(*holders, strict=False) for fact in pair]
        return [*dict.fromkeys([*in_turn, *holders[0], *holders[1]])]

    def _phrasings_of(self, fact: int) -> list[int]:
        """The other words for a fact's relation."""
        relation = self._relation_of(fact)
        ways = enumerate(self.graph.phrasings, 1)
        return [i for i, way in ways if way.relation == relation and not way.inverse]

    def _request_passage(self, role: str, entity: int, relations: Sequence[int] = ()) -> Passage:
        """The entity, behind an outline where one is wanted: some relations and those of stated facts."""
        evaluation, tokenizer = self.evaluation, self.world.tokenizer
        opening = [np.array([BOS])]
        if evaluation.outline:
            stated_relations = [
                self._relation_of(f) for f in self.graph.facts_of(entity) if self.couples.is_stated(f)
            ]
            for relation in dict.fromkeys([*relations, *stated_relations]):
                sentence = Sentence(Kind.ABOUT, None, Atom(entity, relation, entity))
                opening += [tokenizer.sentence(sentence), np.array([SEP])]
        opening.append(tokenizer.entity(entity))
        return Passage(
            role,
            np.concatenate(opening).astype(np.int32),
            evaluation.samples,
            evaluation.longest,
            evaluation.temperature,
            evaluation.top_k,
            evaluation.top_p,
        )

    def _make_controls(self, edited: int, new: int) -> tuple[ControlRequest, ...]:
        """CONTROLS for one edit."""
        subject, relation = self.gold.pair_of(edited)
        own = [f for f in self.graph.facts_of(subject) if f != edited and self.couples.is_stated(f)]
        true = int(self.rng.choice(own)) if own else edited
        others = np.flatnonzero((self.graph.relation == relation) & (self.stated_object != new))
        other = int(self.rng.choice(others[others != edited]))
        facts = (
            (*self.gold.pair_of(true), int(self.stated_object[true])),
            (int(self.graph.subject[other]), relation, new),
        )
        return tuple(ControlRequest(name, fact) for name, fact in zip(CONTROLS, facts, strict=True))

    def _relation_of(self, fact: int) -> int:
        return int(self.graph.relation[fact])


class Couples:
    """The couples of a world.

    Raises:
        InputError: nobody's facts depend on another subject's.
    """

    def __init__(self, gold: LemeGold) -> None:
        self.graph = graph = gold.graph
        beliefs = gold.agent.distributions(graph.subject, graph.relation)
        self._believed_objects = graph.objects[beliefs.argmax(axis=1)]
        self.statement_counts = np.array([len(gold.stated.objects_of(fact)) for fact in range(len(graph))])
        self._stratum = strata_of(self.statement_counts)
        self.all = self._find_couples()
        if not self.all:
            raise InputError(
                "in this world no fact depends on another subject's, so no two passages can be about a "
                "couple; build one with --world.source coupled"
            )

    def _find_couples(self) -> list[Couple]:
        """One coupled fact for each edited one: that of whom shares most relations with the subject."""
        graph = self.graph
        linked = (graph.via[graph.relation] != NO_LINK) & (graph.upstream_fact >= 0)
        by_edited: dict[int, list[int]] = {}
        for fact in np.flatnonzero(linked).tolist():
            by_edited.setdefault(int(graph.upstream_fact[fact]), []).append(fact)
        return [
            Couple(edited, max(below, key=lambda fact: self._count_shared(edited, fact)))
            for edited, below in sorted(by_edited.items())
        ]

    def _count_shared(self, first: int, second: int) -> int:
        """How many objects and relations the subjects of two facts share."""
        of = [np.flatnonzero(self.graph.subject == self.graph.subject[fact]) for fact in (first, second)]
        return sum(
            len(np.intersect1d(column[of[0]], column[of[1]]))
            for column in (self.graph.object, self.graph.relation)
        )

    def is_stated(self, fact: int) -> bool:
        """Whether the corpus says anything of a fact."""
        return bool(self.statement_counts[fact])

    def draw_twin(self, couple: Couple, rng: np.random.Generator) -> int:
        """The fact of an uncoupled entity, stated as often as the coupled one and believed to be the same.

        Where nobody states such facts, nobody knows what they are, and any of them will do. Of several it is
        one whose number of statements is nearest; ABSENT where there is none.
        """
        graph, (edited, coupled) = self.graph, couple
        alike = (graph.relation == graph.relation[coupled]) & (self._stratum == self._stratum[coupled])
        alike[coupled] = False
        above = graph.upstream_fact
        # Whether anybody says what it depends on decides what is known of it.
        alike &= (above >= 0) & ((self.statement_counts[above] > 0) == (self.statement_counts[edited] > 0))
        if self.statement_counts[edited] or self.statement_counts[coupled]:
            alike &= self._believed_objects == self._believed_objects[coupled]
        twins = np.flatnonzero(alike)
        if not len(twins):
            return ABSENT
        far = np.abs(self.statement_counts[twins] - self.statement_counts[coupled])
        return int(rng.choice(twins[far == far.min()]))
