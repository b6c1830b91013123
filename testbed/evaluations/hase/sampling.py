"""Drawing test cases: which fact is edited, to what, and who else is asked (Hase A.2, DESIGN 6)."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from bayes import kernels
from bayes.interface import Agent, EditRequest
from corpus.compiled import chosen
from corpus.errors import InputError
from corpus.language import Atom, Kind, Sentence
from corpus.seeds import generator
from testbed.evaluations.hase.roles import CELLS, CHILD, LOGIC, REQUEST
from testbed.evaluations.hase.settings import HaseConfig
from testbed.protocol import ABSENT, Case, Choice, Claim
from testbed.run.strata import SUPPORT_BINS, Stated, stratum, support_bin, support_of
from testbed.run.world import World

CHANGING_SHARE = 0.8
TRIES = 50


class Sampler:
    """Draws cases for one world and agent. Deterministic in (world, agent, count, credence, config, seed).

    Args:
        count: how many.
        credence: the agent's belief in a request after evidence of it, which sets the evidence weight n'.
    """

    def __init__(
        self, world: World, agent: Agent, count: int, credence: float, config: HaseConfig, seed: int
    ) -> None:
        self.world, self.agent, self.config = world, agent, config
        self.count, self.credence = count, credence
        self.graph, self.truth = world.graph, world.generative.truth
        self.rng = generator(seed, "cases")
        self.stated = Stated(self.graph, world.sentences)
        self._support = support_of(world)
        self._bins = [support_bin(self._support[r, named]) for r, named in enumerate(self.stated.named)]
        self._per_bin = np.zeros(len(SUPPORT_BINS), int)
        self._holders: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}

    def __iter__(self) -> Iterator[Case]:
        """The cases; subjects in random order, again from the start when all were used.

        Raises:
            InputError: no fact of any subject takes such requests.
        """
        drawn = 0
        while drawn < self.count:
            before = drawn
            for s in self.rng.permutation(self.graph.subjects).tolist():
                case = self._case(s)
                if case:
                    drawn += 1
                    yield case
                if drawn == self.count:
                    return
            if drawn == before:
                raise InputError(
                    f"no fact takes a request of kind {self.config.request!r} by this agent "
                    f"(--hase.edits {self.config.edits}); choose another --hase.request, --hase.edits "
                    "or --agent"
                )

    def support(self, relation: int, obj: int) -> int:
        """n_u: how many subjects have this object as their ground truth of the relation."""
        return int(self._support[relation, obj])

    def _case(self, s: int) -> Case | None:
        """A case about one subject, or None where none of its facts takes such a request."""
        first, last = np.searchsorted(self.graph.subject, [s, s + 1])
        relations = self.graph.relation[first:last].tolist()
        r1 = self._pick_relation(s, relations)
        if r1 == ABSENT:
            return None
        truth = int(self.truth[first + relations.index(r1)])
        children = [r for r in self.graph.downstream(r1) if r in relations]
        up = int(self.graph.upstream[r1])
        r2 = children[0] if children else self._pick([r for r in relations if r not in (r1, up)])
        reinforces = bool(self.rng.random() < self.config.reinforce)
        target = truth if reinforces else self._false_target(s, r1, r2, truth, bool(children))
        if target == ABSENT:
            return None
        request = self._request(s, r1, target)
        r0 = up if up in relations else ABSENT
        family = self.graph.root_of(r1)
        independent = [r for r in relations if r != r2 and self.graph.root_of(r) != family]
        asked = [(s, r1), (s, r2), (s, r0), (s, self._pick(independent))]
        wanted = tuple(r for r in (r1, r2) if r != ABSENT)
        for holder in (truth, target, ABSENT):
            s2 = self._other_subject(s, wanted, holder)
            asked += [(s2, r1), (s2, r2)]
        other = self._other_statement(s)
        choices, claims = self._questions(asked, request, other)
        child = next((c for c in choices if c.role == CELLS[CHILD]), None)
        stated = len(self.stated.objects(first + relations.index(r2))) if r2 != ABSENT else 0
        seen = self.world.chosen
        return Case(
            request=request,
            credence=float(claims[0].agent[1]),
            truth=truth,
            facets={
                "reinforces": reinforces,
                "child": bool(children),
                "changes": child is not None and bool(child.answer[0] != child.answer[1]),
                "support_new": self.support(r1, target),
                "support_old": self.support(r1, truth),
                "stratum": stratum(stated),
                "seen_subject": seen is not None and s in seen.subjects,
                "seen_object": seen is not None and target in seen.objects,
            },
            choices=choices,
            claims=claims,
        )

    def _pick(self, options: Sequence[int] | np.ndarray) -> int:
        return int(options[int(self.rng.integers(len(options)))]) if len(options) else ABSENT

    def _pick_relation(self, s: int, relations: list[int]) -> int:
        """A relation that takes the request; under `stratified` one with a dependent, if any will do."""
        able = [r for r in relations if self.agent.accepts(s, r, self.config.request)]
        parents = [r for r in able if any(d in relations for d in self.graph.downstream(r))]
        children = [r for r in able if int(self.graph.upstream[r]) in relations]
        preferred = parents if parents and self.config.sampler == "stratified" else able
        return self._pick({"any": preferred, "upstream": parents, "downstream": children}[self.config.edits])

    def _request(self, s: int, r: int, target: int) -> EditRequest:
        certain = self.config.request != "evidence"
        weight = math.inf if certain else self.agent.weight_for(s, r, target, self.credence)
        return EditRequest(s, r, target, weight, self.config.request)

    def _false_target(self, s: int, r1: int, r2: int, truth: int, has_child: bool) -> int:
        named = self.stated.named[r1]
        there = self._can_become(s, r1, truth, named)
        pool = named[there]
        if not len(pool):
            # No other object was ever stated: any that is possible contradicts the truth.
            possible = self.agent.predict(s, r1).support
            return self._pick(possible[self._can_become(s, r1, truth, possible)])
        if self.config.sampler == "stratified":
            # The least filled bin among those this relation can serve.
            bins = self._bins[r1][there]
            filled = np.unique(bins)
            scarce = filled[np.argmin(self._per_bin[filled])]
            self._per_bin[scarce] += 1
            return self._pick(pool[bins == scarce])
        target = self._pick(pool)
        if has_child and self.rng.random() < CHANGING_SHARE:
            before = self.agent.predict(s, r2).mode()
            for _ in range(TRIES):
                if self.agent.with_edit(self._request(s, r1, target)).predict(s, r2).mode() != before:
                    break
                target = self._pick(pool)
        return target

    def _can_become(self, s: int, r: int, truth: int, objects: np.ndarray) -> np.ndarray:
        """Which objects a contradicting request may name."""
        if self.config.request == "do":
            return objects != truth
        return (objects != truth) & ~self.agent.rules_out(s, r, objects)

    def _other_subject(self, s: int, wanted: tuple[int, ...], holder: int) -> int:
        """Another subject with the wanted relations, the first with the given object unless it is ABSENT."""
        if wanted not in self._holders:
            facts = np.flatnonzero(self.graph.relation == wanted[0])
            for relation in wanted[1:]:
                facts = facts[self.graph.find(self.graph.subject[facts], relation) >= 0]
            facts = facts[np.argsort(self.truth[facts], kind="stable")]
            self._holders[wanted] = self.truth[facts], self.graph.subject[facts]
        objects, subjects = self._holders[wanted]
        if holder != ABSENT:
            subjects = subjects[slice(*np.searchsorted(objects, [holder, holder + 1]))]
        return self._pick(subjects[subjects != s])

    def _other_statement(self, s: int) -> Atom:
        """A true or false (fair coin) statement about a random other subject."""
        first, last = np.searchsorted(self.graph.subject, [s, s + 1])
        fact = int(self.rng.integers(len(self.graph) - (last - first)))
        fact += int(last - first) if fact >= first else 0
        obj = int(self.truth[fact])
        if self.rng.random() < 0.5:
            obj = self._pick(self.graph.objects[self.graph.objects != obj])
        return Atom(int(self.graph.subject[fact]), int(self.graph.relation[fact]), obj)

    def _questions(
        self, asked: list[tuple[int, int]], request: EditRequest, other: Atom
    ) -> tuple[tuple[Choice, ...], tuple[Claim, ...]]:
        """Choices about the pairs of subject and relation that are there, claims about request and other."""
        there = [i for i, (s, r) in enumerate(asked) if s != ABSENT and r != ABSENT]
        pairs = [*(asked[i] for i in there), other[:2]]
        subjects, relations = np.array(pairs).T
        agents = (self.agent, self.agent.with_edit(request))
        beliefs = np.stack([agent.distributions(subjects, relations) for agent in agents])
        at = there.index(REQUEST)
        for belief, agent in zip(beliefs, agents, strict=True):
            belief[at] = agent.distributions(subjects[[at]], relations[[at]], "direct")[0]

        objects = self.graph.objects
        a, b = (
            beliefs[:, row, np.searchsorted(objects, o)]
            for row, o in ((at, request.object), (-1, other.object))
        )
        beliefs = beliefs[:, :-1]
        answers = objects[beliefs.argmax(axis=-1)]
        highest = beliefs.max(axis=0)
        count = min(self.config.candidates, len(objects))
        likely = np.empty((len(there), count), np.int64)
        chosen(kernels.most_probable, self.count * len(objects))(0, len(there), highest, count, likely)
        # What shares the smallest value is named nowhere.
        named = np.take_along_axis(highest, likely, axis=1) > highest.min(axis=1, keepdims=True)

        choices = []
        for row, i in enumerate(there):
            s, r = asked[i]
            stated = self.stated.objects(int(self.graph.find(s, r)))
            asked_for = [request.object] if r == request.relation else []
            first = [*answers[:, row].tolist(), *asked_for, *np.unique(stated).tolist()]
            ordered = dict.fromkeys([*first, *objects[likely[row, named[row]]].tolist()])
            options = np.array(sorted(list(ordered)[: self.config.candidates]))
            choices.append(
                Choice(
                    role=CELLS[i],
                    subject=s,
                    relation=r,
                    options=options,
                    agent=beliefs[:, row, np.searchsorted(objects, options)],
                    answer=answers[:, row],
                    frequency=self._frequency(stated, options, request, (s, r)),
                )
            )
        return tuple(choices), logical_claims(Atom(*request[:3]), other, a, b)

    def _frequency(
        self, stated: np.ndarray, options: np.ndarray, request: EditRequest, asked: tuple[int, int]
    ) -> np.ndarray:
        """float64[2, c]: share of statements that name each option, without and with the request."""
        requested = options == request.object
        count = (stated[None, :] == options[:, None]).sum(axis=1).astype(float)
        if not len(stated):
            # Who has read nothing about it can only guess; what the request adds is still counted.
            count = count + 1.0 / len(self.graph.objects)
        before = count / max(len(stated), 1)
        if asked != (request.subject, request.relation):
            return np.stack([before, before])
        # n' copies mean the same to both readers when each counts a sentence as often as the other.
        copies = request.weight / self.agent.evidence_multiplicity
        if math.isinf(copies):
            return np.stack([before, requested.astype(float)])
        return np.stack([before, (count + copies * requested) / (max(len(stated), 1) + copies)])


def logical_claims(a: Atom, b: Atom, p: np.ndarray, q: np.ndarray) -> tuple[Claim, ...]:
    """The claims of LOGIC about two statements, believed with p and q, float64[T], independently."""
    said = (
        (Sentence(Kind.TRUTH, True, a), p),
        (Sentence(Kind.NOT, True, a), 1 - p),
        (Sentence(Kind.AND, True, a, b), p * q),
        (Sentence(Kind.AND, True, b, a), p * q),
        (Sentence(Kind.OR, True, a, b), p + q - p * q),
        (Sentence(Kind.TRUTH, True, b), q),
    )
    return tuple(Claim(role, *one) for role, one in zip(LOGIC, said, strict=True))
