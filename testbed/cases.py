"""Test cases: one edit request each, its probes, and what the agent believes before and after (DESIGN 6).

Probes of a request (s1, r1, o*) are *cells*, (subject, relation) pairs in the fixed order of `CELLS`:
s1r1 the request itself; s1r2 what depends on it (or else another relation of s1); s1r0 what it depends
on; s1rx an independent relation; and r1 and r2 of three other subjects, who share s1's old object, the
new one, or are drawn at random.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bayes.interface import Belief, Distribution, EditRequest
from bayes.paper import PaperAgent
from corpus.language import Atom, Kind
from corpus.seeds import generator
from testbed.presets import CaseConfig
from testbed.world import World

CELLS = (
    "s1r1", "s1r2", "s1r0", "s1rx",
    "old.r1", "old.r2", "new.r1", "new.r2", "random.r1", "random.r2",
)  # fmt: skip
REQUEST, CHILD, PARENT, INDEPENDENT = range(4)
SUPPORT_BINS = ("0", "1", "2-4", "5-19", "20+")
_BIN_STARTS = (1, 2, 5, 20)
STRATA = ("S0", "S1", "S2")
_STRATUM_STARTS = (1, 4)
CHANGING_SHARE = 0.8
TRIES = 50
ABSENT = -1


def support_bin(support: np.ndarray) -> np.ndarray:
    """Index into SUPPORT_BINS of each support n_u."""
    return np.searchsorted(_BIN_STARTS, support, side="right")


class Cell(NamedTuple):
    """One probe of one case.

    Attributes:
        subject, relation: what is asked.
        candidates: int64[c], objects whose probability is recorded.
        agent: float64[2, c], p(o | s, r) under the agent before and after the edit.
        answer: int64[2], the agent's most probable object before and after.
        frequency: float64[2, c], share of the corpus's atomic sentences, before and after adding the
            request with its weight.
    """

    subject: int
    relation: int
    candidates: np.ndarray
    agent: np.ndarray
    answer: np.ndarray
    frequency: np.ndarray


class Case(NamedTuple):
    """One request and everything about it that does not depend on the model.

    Attributes:
        subject, relation, object: the request.
        truth: the ground truth of (subject, relation).
        reinforces: whether the request repeats the truth.
        weight: evidence weight of the request.
        child: whether s1r2 depends on r1.
        changes: whether the agent's answer to s1r2 changes.
        support_new, support_old: how many subjects have the requested, the old object as truth.
        stratum: how often s1r2 was stated: S0 never, S1 one to three times, S2 more.
        cells: in the order of CELLS, None where there is no such probe.
        other: a statement about another subject, the B of logical probes.
    """

    subject: int
    relation: int
    object: int
    truth: int
    reinforces: bool
    weight: float
    child: bool
    changes: bool
    support_new: int
    support_old: int
    stratum: str
    cells: tuple[Cell | None, ...]
    other: Atom

    @property
    def credence(self) -> float:
        """The agent's belief in the request after the edit."""
        asked = self.cells[REQUEST]
        assert asked is not None, "the request is always a probe"
        return float(asked.agent[1][asked.candidates == self.object][0])


class Sampler:
    """Draws cases for one world and agent. Deterministic in (world, config, seed)."""

    def __init__(self, world: World, agent: PaperAgent, config: CaseConfig, seed: int) -> None:
        self.world, self.agent, self.config = world, agent, config
        self.graph, self.truth = world.graph, world.generative.truth
        self.rng = generator(seed, "cases")
        relations = len(self.graph.relations)
        key = self.graph.relation.astype(np.int64) * len(self.graph.entities) + self.truth
        self._support = dict(zip(*(x.tolist() for x in np.unique(key, return_counts=True)), strict=True))
        atomic = world.sentences.a[world.sentences.kind == Kind.ATOMIC].astype(np.int64)
        pair, self._stated = np.unique(atomic[:, 0] * relations + atomic[:, 1], return_counts=True)
        self._stated_pair = pair
        order = np.argsort(atomic[:, 0] * relations + atomic[:, 1], kind="stable")
        self._stated_objects = np.split(atomic[order, 2], np.cumsum(self._stated)[:-1])
        self._mentioned = [np.unique(atomic[atomic[:, 1] == r, 2]) for r in range(relations)]
        self._bins: dict[int, np.ndarray] = {}
        self._per_bin = np.zeros(len(SUPPORT_BINS), int)

    def __iter__(self) -> Iterator[Case]:
        """`config.count` cases; subjects in random order, again from the start when all were used."""
        order: list[int] = []
        for _ in range(self.config.count):
            if not order:
                order = self.rng.permutation(self.graph.subjects).tolist()
            yield self._case(order.pop())

    def support(self, relation: int, obj: int) -> int:
        """n_u: how many subjects have this object as their ground truth of the relation."""
        return self._support.get(relation * len(self.graph.entities) + obj, 0)

    def _case(self, s: int) -> Case:
        facts = np.flatnonzero(self.graph.subject == s)
        relations = self.graph.relation[facts].tolist()
        r1 = self._pick_relation(relations)
        truth = int(self.truth[self.graph.find(s, r1)])
        children = [r for r in self.graph.downstream(r1) if r in relations]
        up = int(self.graph.upstream[r1])
        r2 = children[0] if children else self._pick([r for r in relations if r not in (r1, up)])
        reinforces = bool(self.rng.random() < self.config.reinforce)
        target = truth if reinforces else self._false_target(s, r1, r2, truth, bool(children))

        request = self._request(s, r1, target)
        edited = self.agent.with_edit(request)
        r0 = up if up in relations else ABSENT
        independent = [r for r in relations if r not in (r1, r2, r0)]
        asked = [(s, r1), (s, r2), (s, r0), (s, self._pick(independent))]
        wanted = [r for r in (r1, r2) if r != ABSENT]
        for holder in (truth, target, ABSENT):
            s2 = self._other_subject(s, wanted, holder)
            asked += [(s2, r1), (s2, r2)]
        cells = tuple(
            self._cell(s2, r, request, edited, "direct" if i == REQUEST else "best")
            if s2 != ABSENT and r != ABSENT
            else None
            for i, (s2, r) in enumerate(asked)
        )
        child = cells[CHILD]
        stated = len(self._objects_stated(s, r2)) if r2 != ABSENT else 0
        return Case(
            subject=s,
            relation=r1,
            object=target,
            truth=truth,
            reinforces=reinforces,
            weight=request.weight,
            child=bool(children),
            changes=child is not None and bool(child.answer[0] != child.answer[1]),
            support_new=self.support(r1, target),
            support_old=self.support(r1, truth),
            stratum=STRATA[int(np.searchsorted(_STRATUM_STARTS, stated, side="right"))],
            cells=cells,
            other=self._other_statement(s),
        )

    def _pick(self, options: list[int]) -> int:
        return int(self.rng.choice(options)) if options else ABSENT

    def _pick_relation(self, relations: list[int]) -> int:
        """Any relation of the subject; under `stratified` one with a dependent, if there is any."""
        parents = [r for r in relations if any(d in relations for d in self.graph.downstream(r))]
        return self._pick(parents if parents and self.config.sampler == "stratified" else relations)

    def _request(self, s: int, r: int, target: int) -> EditRequest:
        return EditRequest(s, r, target, self.agent.weight_for(s, r, target, self.config.credence))

    def _false_target(self, s: int, r1: int, r2: int, truth: int, has_child: bool) -> int:
        pool = self._mentioned[r1][self._mentioned[r1] != truth]
        if not len(pool):
            # Every subject has the same object and no noise: any other object contradicts it.
            return self._pick(self.graph.objects[self.graph.objects != truth].tolist())
        if self.config.sampler == "stratified":
            # The least filled bin among those this relation can serve.
            bins = self._support_bins(r1)[self._mentioned[r1] != truth]
            there = np.unique(bins)
            chosen = there[np.argmin(self._per_bin[there])]
            self._per_bin[chosen] += 1
            return self._pick(pool[bins == chosen].tolist())
        target = self._pick(pool.tolist())
        if has_child and self.rng.random() < CHANGING_SHARE:
            before = self.agent.predict(s, r2).mode()
            for _ in range(TRIES):
                if self.agent.with_edit(self._request(s, r1, target)).predict(s, r2).mode() != before:
                    break
                target = self._pick(pool.tolist())
        return target

    def _support_bins(self, relation: int) -> np.ndarray:
        """Index into SUPPORT_BINS of each object mentioned with a relation."""
        if relation not in self._bins:
            support = [self.support(relation, int(o)) for o in self._mentioned[relation]]
            self._bins[relation] = support_bin(np.array(support))
        return self._bins[relation]

    def _other_subject(self, s: int, wanted: list[int], holder: int) -> int:
        """Another subject with the wanted relations, the first with the given object unless it is ABSENT."""
        mine = (self.graph.relation == wanted[0]) & (self.graph.subject != s)
        if holder != ABSENT:
            mine &= self.truth == holder
        subjects = self.graph.subject[mine]
        for relation in wanted[1:]:
            subjects = subjects[self.graph.find(subjects, np.full(len(subjects), relation)) >= 0]
        return self._pick(subjects.tolist())

    def _other_statement(self, s: int) -> Atom:
        """A true or false (fair coin) statement about a random other subject."""
        fact = int(self.rng.choice(np.flatnonzero(self.graph.subject != s)))
        obj = int(self.truth[fact])
        if self.rng.random() < 0.5:
            obj = int(self.rng.choice(self.graph.objects[self.graph.objects != obj]))
        return Atom(int(self.graph.subject[fact]), int(self.graph.relation[fact]), obj)

    def _objects_stated(self, s: int, r: int) -> np.ndarray:
        key = s * len(self.graph.relations) + r
        at = int(np.searchsorted(self._stated_pair, key))
        there = at < len(self._stated_pair) and self._stated_pair[at] == key
        return self._stated_objects[at] if there else np.empty(0, np.int64)

    def _cell(self, s: int, r: int, request: EditRequest, edited: PaperAgent, belief: Belief) -> Cell:
        before, after = (agent.predict(s, r, belief) for agent in (self.agent, edited))
        stated = self._objects_stated(s, r)
        first = [before.mode(), after.mode(), *np.unique(stated).tolist()]
        if r == request.relation:
            first += [request.object]
        candidates = _most_relevant(first, before, after, self.config.candidates)
        count = (stated[None, :] == candidates[:, None]).sum(axis=1).astype(float)
        # n' copies mean the same to both readers when each counts a sentence as often as the other.
        mine = (s, r) == (request.subject, request.relation)
        copies = request.weight / self.agent.evidence_multiplicity if mine else 0.0
        edited_count = count + copies * (candidates == request.object)
        if not len(stated):
            # Who has read nothing about it can only guess; what the request adds is still counted.
            count = count + 1.0 / len(self.graph.objects)
            edited_count = edited_count + 1.0 / len(self.graph.objects)
        total = max(len(stated), 1)
        return Cell(
            subject=s,
            relation=r,
            candidates=candidates,
            agent=np.stack([before.of(candidates), after.of(candidates)]),
            answer=np.array([before.mode(), after.mode()]),
            frequency=np.stack([count / total, edited_count / (total + copies)]),
        )


def _most_relevant(first: list[int], before: Distribution, after: Distribution, most: int) -> np.ndarray:
    """int64[at most `most`]: `first`, then the most probable named objects under either belief; sorted."""
    named = np.union1d(before.objects, after.objects)
    likely = named[np.argsort(-np.maximum(before.of(named), after.of(named)), kind="stable")]
    ordered = dict.fromkeys([*first, *likely.tolist()])
    return np.array(sorted(list(ordered)[:most]), np.int64)
