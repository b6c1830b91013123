"""Drawing test cases: which fact is edited, to what, and who else is asked (Hase A.2, design.md 6)."""

from collections.abc import Iterator, Sequence
from typing import get_args

import numpy as np

from bayes.interface import Agent
from bayes.request import EditRequest, RequestKind
from corpus.errors import InputError
from corpus.seeds import generator
from corpus.text.language import Atom
from corpus.worlds.reversals import reverse_of
from testbed.engine.evidence import evidence_of
from testbed.engine.request_parser import parse_request
from testbed.evaluations.dutch_book import logical_claims
from testbed.evaluations.gold import GoldMaker, Question
from testbed.evaluations.hase import (
    CHILD,
    CONTROL,
    GRANDCHILD,
    INDEPENDENT,
    OTHER_CHILD,
    OTHER_SIDE,
    OTHERS,
    PARENT,
    REPLACED,
    REQUEST,
    SAME_SET,
    SIBLING,
    SPOT_CHECKS,
    Hase,
)
from testbed.evaluations.hase.spot_checks import SpotCheckSampler
from testbed.evaluations.held_out import held_out_facets
from testbed.evaluations.sets import SetSampler
from testbed.protocol import (
    ABSENT,
    Case,
    ControlRequest,
    credence_of_request,
    has_answer_changed,
    is_equally_good,
)
from testbed.run.strata import SUPPORT_BINS, stratum, support_bin, support_of
from testbed.run.world import World

CHANGING_SHARE = 0.8
TRIES = 50
ROUNDS = 10
"""How often all subjects are gone through in vain before no request is taken to change anything."""


def make_cases(
    world: World, agent: Agent, count: int, credence: float, config: Hase, seed: int
) -> Iterator[Case]:
    """The edits, with their questions and the agent's answers; see `Sampler`."""
    return iter(Sampler(world, agent, count, credence, config, seed))


class Sampler:
    """Draws cases for one world and agent. Deterministic in (world, agent, count, credence, config, seed).

    Args:
        count: how many.
        credence: how sure whoever edits is; evidence of a request weighs as much (n') as brings the agent to
            it.
    """

    def __init__(
        self, world: World, agent: Agent, count: int, credence: float, config: Hase, seed: int
    ) -> None:
        self.world, self.agent, self.config = world, agent, config
        self.count, self.credence = count, credence
        self.graph, self.truth = world.graph, world.generative.truth
        self.rng = generator(seed, "requests")
        # A stream for each kind of question: what is asked besides changes no request and no other question.
        self._question_rngs = {
            name: generator(seed, f"hase {name}") for name in ("s1r2", "s1rx", "s2", "other", "control")
        }
        self._spot_checks = SpotCheckSampler(self.graph, config.spot_checks, seed)
        self._sets = SetSampler(self.graph, self.truth, generator(seed, "hase sets"))
        self._reverse = reverse_of(world.reversals)
        self.gold = GoldMaker(world, agent, config.candidates, count)
        self.stated = self.gold.stated
        self._support = support_of(world)
        self._bins = [
            support_bin(self._support[r, named]) for r, named in enumerate(self.stated.objects_by_relation)
        ]
        self._per_bin = np.zeros(len(SUPPORT_BINS), int)
        self._drawn: set[tuple[int, int, int]] = set()
        self._holders: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}

    def __iter__(self) -> Iterator[Case]:
        """The cases; subjects in random order, again from the start when all were used.

        No two are the same request. Fewer than `count` where the world has no more of them.

        Raises:
            InputError: no fact of any subject takes such requests.
        """
        if self.config.requests:
            said = [(text, parse_request(self.world, text)) for text in self.config.requests[: self.count]]
            if len({len(request.parts) for _, request in said}) > 1:
                raise InputError(
                    "some of these requests replace an object of a set and others do not, and an editor is "
                    "told as many facts of each: put those that replace into a file of their own"
                )
            yield from (self._make_named_case(*one) for one in said)
            return
        number, fruitless = 0, 0
        while number < self.count:
            before = number
            for s in self.rng.permutation(self.graph.subjects).tolist():
                case = self._draw_case(s)
                if case and (case.facets["changes"] or not self.config.changing):
                    number += 1
                    yield case
                if number == self.count:
                    return
            fruitless = fruitless + 1 if number == before else 0
            if number and fruitless == ROUNDS:
                return
            # Another object may change what this one did not.
            if not number and fruitless == (ROUNDS if self.config.changing else 1):
                raise InputError(
                    f"no fact takes a request of kind {self.config.request!r} by this agent "
                    f"(--hase.edits {self.config.edits}"
                    + ", --hase.changing" * self.config.changing
                    + "); choose another --hase.request, --hase.edits or --agent"
                )

    def support(self, relation: int, obj: int) -> int:
        """n_u: how many subjects have this object as their ground truth of the relation."""
        return int(self._support[relation, obj])

    def _draw_case(self, s: int) -> Case | None:
        """A case about one subject, or None where none of its facts takes such a request."""
        facts = self.graph.facts_of(s)
        relations = self.graph.relation[facts].tolist()
        # Relations that take the request; under `stratified` one with a dependent, if there is any.
        able = [r for r in relations if self.agent.accepts(s, r, self.config.request)]
        parents = [r for r in able if any(d in relations for d in self.graph.downstream(r))]
        children = [r for r in able if int(self.graph.upstream[r]) in relations]
        preferred = parents if parents and self.config.sampler == "stratified" else able
        r1 = self._pick_fact(
            {"any": preferred, "upstream": parents, "downstream": children}[self.config.edits]
        )
        if r1 == ABSENT:
            return None
        truth = int(self.truth[facts[relations.index(r1)]])
        r2, has_child = self._pick_second(r1, relations)
        reinforces = bool(self.rng.random() < self.config.reinforce)
        target = truth if reinforces else self._false_target(s, r1, r2, truth, has_child)
        if target == ABSENT or (s, r1, target) in self._drawn:
            return None
        self._drawn.add((s, r1, target))
        return self._make_case(EditRequest(s, r1, target), r2)

    def _make_named_case(self, text: str, said: EditRequest) -> Case:
        """The case of a request as the user wrote it, and what it says.

        Raises:
            InputError: an unknown name, a fact that this world has not, or that no such request is about.
        """
        relations = self.graph.relation[self.graph.facts_of(said.subject)].tolist()
        if said.form != "assertion":
            raise InputError(
                f"request {text!r} is of form {said.form!r}, and hase takes assertions; --evaluation "
                "requests asks about requests of every form"
            )
        if said.further and self.config.controls:
            raise InputError(f"request {text!r} states two facts, for which there is no --hase.controls")
        for s, r1, *_ in said.parts:
            if r1 not in relations:
                known = ", ".join(self.graph.relations[r] for r in relations)
                raise InputError(
                    f"request {text!r}: this world has no such fact to edit; the subject has {known}"
                )
            if not self.agent.accepts(s, r1, self.config.request):
                taken = [kind for kind in get_args(RequestKind) if self.agent.accepts(s, r1, kind)]
                instead = " or ".join(f"--hase.request {kind}" for kind in taken) or "another fact"
                raise InputError(
                    f"request {text!r}: the agent takes none of kind {self.config.request!r} about this "
                    f"fact, which its sentences may have settled; take {instead}"
                )
        others = [r for r in relations if r not in {part.relation for part in said.further}]
        return self._make_case(said, self._pick_second(said.relation, others)[0])

    def _pick_second(self, r1: int, relations: list[int]) -> tuple[int, bool]:
        """What depends on r1 among the relations of a subject, or else any other one; and which of both."""
        children = [r for r in self.graph.downstream(r1) if r in relations]
        if children:
            return children[0], True
        up = int(self.graph.upstream[r1])
        return self._pick_fact([r for r in relations if r not in (r1, up)], "s1r2"), False

    def _make_case(self, said: EditRequest, r2: int) -> Case:
        """The questions about a request and the agent's answers."""
        s, r1, target = said[:3]
        facts = self.graph.facts_of(s)
        relations = self.graph.relation[facts].tolist()
        truth = int(self.truth[facts[relations.index(r1)]])
        request, replaced = self._weigh_request(said), [part.relation for part in said.further]
        others = [r for r in relations if r not in replaced]
        questions = self._draw_questions(s, r1, r2, others, (truth, target, ABSENT))
        questions += [(REPLACED, s, r) for r in replaced]
        known = {question[1:] for question in questions}
        below = dict.fromkeys(d for r in replaced for d in self.graph.downstream(r) if d in others)
        questions += [(OTHER_CHILD, s, d) for d in below if (s, d) not in known]
        known |= {(s, d) for d in below}
        questions += [(SAME_SET, *pair) for pair in self._sets.draw_others(s, r1, known)]
        about, other = Atom(s, r1, target), self._other_statement(s)
        questions += self._spot_checks.draw_questions(s, r1, [*(q[1:] for q in questions), other[:2]])
        choices, beliefs = self.gold.make_choices(
            [request], questions, [about, other], self._sets.relations_of_set(r1)
        )
        choices = tuple(c._replace(is_spot_check=c.role in SPOT_CHECKS) for c in choices)
        choices = self._sets.group_choices(request, choices)
        child = next((c for c in choices if c.role == CHILD), None)
        statements = len(self.stated.objects_of(facts[relations.index(r2)])) if r2 != ABSENT else 0
        return Case(
            request=request,
            credence=credence_of_request(request.kind, self.credence),
            truth=truth,
            facets={
                "reinforces": all(self.truth[self.graph.find(*p[:2])] == p.object for p in said.parts),
                "child": r2 in self.graph.downstream(r1),
                "changes": child is not None and has_answer_changed(child),
                "support_new": self.support(r1, target),
                "support_old": self.support(r1, truth),
                "stratum": stratum(statements),
                **held_out_facets(self.world, s, target),
            },
            choices=choices,
            claims=logical_claims(about, other, *beliefs.T),
            controls=self._make_controls(s, r1, target) if self.config.controls else (),
        )

    def _draw_questions(
        self, s: int, r1: int, r2: int, relations: Sequence[int], holders: tuple[int, ...]
    ) -> list[Question]:
        """What is asked about a request of s and r1.

        Args:
            relations: those that s has.
            holders: what the other subjects' object of r1 is, as OTHERS has them; ABSENT takes anybody.
        """

        def facts_below(r: int) -> list[int]:
            return [d for d in self.graph.downstream(r) if d in relations]

        r0 = int(self.graph.upstream[r1])
        siblings = [r for r in facts_below(r0) if r != r1] if r0 in relations else []
        family = self.graph.root_of(r1)
        independent = [r for r in relations if r != r2 and self.graph.root_of(r) != family]
        questions = [(REQUEST, s, r1), (SIBLING if r2 in siblings else CHILD, s, r2)]
        questions += [(PARENT, s, r0)] if r0 in relations else []
        questions += [(INDEPENDENT, s, self._pick_fact(independent, "s1rx"))]
        wanted = tuple(r for r in (r1, r2) if r != ABSENT)
        for k, holder in enumerate(holders):
            s2 = self._other_subject(s, wanted, holder)
            questions += [(OTHERS[2 * k], s2, r1), (OTHERS[2 * k + 1], s2, r2)]
        questions += [(OTHER_CHILD, s, r) for r in facts_below(r1)[1:]]
        generation = facts_below(r1)
        while generation:
            generation = [d for r in generation for d in facts_below(r)]
            questions += [(GRANDCHILD, s, r) for r in generation]
        questions += [(SIBLING, s, r) for r in siblings if r != r2]
        back = self._reverse.get(r1, ABSENT)
        others = [o for o in dict.fromkeys(holders) if o not in (s, ABSENT) and back != ABSENT]
        questions += [(OTHER_SIDE, o, back) for o in others if self.graph.find(o, back) >= 0]
        return [question for question in questions if ABSENT not in question]

    def _pick_fact(self, options: Sequence[int] | np.ndarray, question_kind: str = "") -> int:
        """One of the options at random, for a kind of question or else for the request; ABSENT of none."""
        rng = self._question_rngs[question_kind] if question_kind else self.rng
        return int(options[int(rng.integers(len(options)))]) if len(options) else ABSENT

    def _weigh_request(self, said: EditRequest) -> EditRequest:
        return evidence_of(self.agent, said, self.credence, self.config.request)

    def _make_controls(self, s: int, r: int, target: int) -> tuple[ControlRequest, ...]:
        """The request said of somebody else, of whom it is not true where there is such a one."""
        facts = np.flatnonzero((self.graph.relation == r) & (self.graph.subject != s))
        others = facts[self.truth[facts] != target]
        subject = self._pick_fact(self.graph.subject[others if len(others) else facts], "control")
        return (ControlRequest(CONTROL, (s if subject == ABSENT else subject, r, target)),)

    def _false_target(self, s: int, r1: int, r2: int, truth: int, has_child: bool) -> int:
        candidates = self.stated.objects_by_relation[r1]
        allowed = self._can_become(s, r1, truth, candidates)
        pool = candidates[allowed]
        if not len(pool):
            # No other object was ever stated: any that is possible contradicts the truth.
            possible = self.agent.predict(s, r1).support
            return self._pick_fact(possible[self._can_become(s, r1, truth, possible)])
        if self.config.sampler == "stratified":
            # The least filled bin among those this relation can serve.
            bins = self._bins[r1][allowed]
            filled = np.unique(bins)
            scarce = filled[np.argmin(self._per_bin[filled])]
            self._per_bin[scarce] += 1
            return self._pick_fact(pool[bins == scarce])
        target = self._pick_fact(pool)
        if has_child and self.rng.random() < CHANGING_SHARE:
            before = np.array(self.agent.predict(s, r2).mode())
            for _ in range(TRIES):
                request = self._weigh_request(EditRequest(s, r1, target))
                after = self.agent.with_edit(request).predict(s, r2)
                if not is_equally_good(after.of(before), after.of(np.array(after.mode()))):
                    break
                target = self._pick_fact(pool)
        return target

    def _can_become(self, s: int, r: int, truth: int, objects: np.ndarray) -> np.ndarray:
        """Which objects a contradicting request may name."""
        if self.config.request == "do":
            return objects != truth
        return (objects != truth) & ~self.agent.rules_out(s, r, objects)

    def _other_subject(self, s: int, relations: tuple[int, ...], holder: int) -> int:
        """Another subject with the wanted relations, the first with the given object unless it is ABSENT."""
        if relations not in self._holders:
            facts = np.flatnonzero(self.graph.relation == relations[0])
            for relation in relations[1:]:
                facts = facts[self.graph.find(self.graph.subject[facts], relation) >= 0]
            facts = facts[np.argsort(self.truth[facts], kind="stable")]
            self._holders[relations] = self.truth[facts], self.graph.subject[facts]
        objects, subjects = self._holders[relations]
        if holder != ABSENT:
            subjects = subjects[
                slice(*np.searchsorted(objects, np.array([holder, holder + 1], objects.dtype)))
            ]
        return self._pick_fact(subjects[subjects != s], "s2")

    def _other_statement(self, s: int) -> Atom:
        """A true or false (fair coin) statement about a random other subject."""
        own, rng = self.graph.facts_of(s), self._question_rngs["other"]
        fact = int(rng.integers(len(self.graph) - len(own)))
        fact += len(own) if fact >= own.start else 0
        obj = int(self.truth[fact])
        if rng.random() < 0.5:
            obj = self._pick_fact(self.graph.objects[self.graph.objects != obj], "other")
        return Atom(int(self.graph.subject[fact]), int(self.graph.relation[fact]), obj)
