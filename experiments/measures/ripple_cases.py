"""What is asked in `experiments.ripples`: an edit at the top of a chain, and everything below it, by hop.

A subject's first fact is edited to another object, which so many others have and from which something
follows that so many have. Asked are the edited fact, what is one, two and three steps below it, an
independent fact, and random facts of other people. Of two edits out of three nobody has stated anything below
the edited fact; of the third somebody has stated what is a step below. Gold is the agent's under three
readings of the same edit.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import ClassVar, get_args

import numpy as np

from bayes.request import RequestKind
from corpus.graph import NO_UPSTREAM, KnowledgeGraph
from testbed.evaluations import kit
from testbed.run.strata import StatementIndex

REQUEST, BELOW, INDEPENDENT, OTHERS = "request", "below", "independent", "others"
SUPPORTS = ("1", "2-5", "6-19", "20+")
_SUPPORT_STARTS = (2, 6, 20)
COMMON = 90
"""Subjects that have an answer, from which it counts as common."""
HOPS = (1, 2, 3)
TURNS = (False, False, True)
"""Whether the next edit is of a subject of whom the next fact is stated, in turn for each cell of targets."""


def support_index(support: np.ndarray) -> np.ndarray:
    """Index into SUPPORTS of each number of subjects, which is at least 1."""
    return np.searchsorted(_SUPPORT_STARTS, support, side="right")


@dataclass(frozen=True)
class Ripples(kit.Evaluation):
    """How far down does an edit reach?"""

    others: int = 4
    """How many random facts of other subjects are asked."""

    interpretations: ClassVar = get_args(RequestKind)
    facets: ClassVar = {"support": int, "frequency": int, "said": bool}
    """Columns of cases: how many others have the requested object and a stated fact below it; how many
    subjects are said to have what most of these have; whether the subject's next fact was stated."""
    choice_facets: ClassVar = {"hops": int}
    """How many steps below the edited fact a question is; 0 where it is not below it."""
    metrics: ClassVar = (
        kit.MetricDefinition(
            "edit success", "Share of requests that are stated when asked.", "high", "headline",
            compute=lambda a: a.mean_over(a.reader.answer == a.requested, a.has_role(REQUEST)),
            needs_edit=True,
        ),
        kit.MetricDefinition(
            "right below", "Share of answers below the edited fact that are the agent's.", "high", "headline",
            compute=lambda a: a.mean_over(a.is_right, a.has_role(BELOW)),
        ),
    )  # fmt: skip

    def make_cases(
        self, world: kit.World, agent: kit.Agent, count: int, credence: float, seed: int
    ) -> Iterator[kit.Case]:
        """Edits of first facts of chains, the same number for each cell of support and frequency.

        Raises:
            InputError: the world has no chain of three relations, or no fact of one takes a request.
        """
        graph, truth = world.graph, world.generative.truth
        rng, gold = kit.generator(seed, "ripples"), kit.GoldMaker(world, agent, options=24, cases=count)
        relation = _first_of_chain(graph)
        below = relations_below(graph, relation)
        stated = StatementIndex(graph, world.sentences)
        targets = Targets(graph, truth, stated, relation, [r for of in below.values() for r in of])
        subjects = {said: rng.permutation(s).tolist() for said, s in targets.subjects_by_said(agent).items()}
        if not all(subjects.values()):
            raise kit.InputError(
                "every subject has statements below, or none has: state some facts never (world.chain, "
                "exact.inner, exact.strata)"
            )
        turns = {said: cycle(of) for said, of in subjects.items()}
        number = 0
        for said in cycle(TURNS):
            for cell in targets.cells:
                if number == count:
                    return
                s = next(turns[said])
                here = agent.predict(s, below[1][0]).mode()
                able = [o for o in targets.cells[cell] if targets.follows[o] != here]
                o = int(rng.choice(able or targets.cells[cell]))
                weight = agent.weight_for(s, relation, o, credence)
                requests = [
                    kit.EditRequest(s, relation, o, weight if kind == "evidence" else np.inf, kind)
                    for kind in self.interpretations
                ]
                questions = [(REQUEST, s, relation)]
                hops = [0]
                for hop, relations in below.items():
                    questions += [(BELOW, s, r) for r in relations]
                    hops += [hop] * len(relations)
                questions += self._questions_elsewhere(graph, s, relation, rng)
                choices, _ = gold.make_choices(requests, questions)
                hops += [0] * (len(choices) - len(hops))
                number += 1
                yield kit.Case(
                    request=requests[0],
                    credence=credence,
                    truth=int(truth[graph.find(s, relation)]),
                    facets={
                        "support": targets.count_support(o, s),
                        "frequency": targets.frequency[targets.follows[o]],
                        "said": said,
                    },
                    choices=tuple(
                        c._replace(facets={"hops": hop}) for c, hop in zip(choices, hops, strict=True)
                    ),
                )

    def _questions_elsewhere(
        self, graph: KnowledgeGraph, s: int, relation: int, rng: np.random.Generator
    ) -> list[tuple[str, int, int]]:
        root = graph.root_of(relation)
        own = [r for r in graph.relation[graph.facts_of(s)].tolist() if graph.root_of(r) != root]
        facts = rng.choice(np.flatnonzero(graph.subject != s), self.others, replace=False)
        pairs = zip(graph.subject[facts].tolist(), graph.relation[facts].tolist(), strict=True)
        return [*((INDEPENDENT, s, r) for r in own[:1]), *((OTHERS, *pair) for pair in pairs)]


class Targets:
    """The objects that a first fact may be edited to, and what follows from each.

    Attributes:
        follows: what most of those have who have an object and a stated fact below it, by object.
        frequency: how many subjects are said to have each such answer.
        cells: objects by (support, whether the answer is common), those from which nothing follows left out.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        truth: np.ndarray,
        stated: StatementIndex,
        relation: int,
        below: Sequence[int],
    ) -> None:
        self.graph, self.relation = graph, relation
        lower = np.flatnonzero(np.isin(graph.relation, below))
        is_stated = np.zeros(len(graph), bool)
        is_stated[lower] = [len(stated.objects_of(fact)) > 0 for fact in lower.tolist()]
        facts = np.flatnonzero(graph.relation == below[0])
        said = is_stated[facts]
        self._said = dict(zip(graph.subject[facts].tolist(), said.tolist(), strict=True))
        self._spoken_of = set(graph.subject[is_stated].tolist())
        answers, counts = np.unique(truth[facts[said]], return_counts=True)
        self.frequency: Mapping[int, int] = dict(zip(answers.tolist(), counts.tolist(), strict=True))
        above = graph.upstream_fact[facts]
        pairs = said & (above >= 0)
        objects, answers = truth[above[pairs]], truth[facts[pairs]]
        self._holders = {
            o: set(graph.subject[facts[pairs]][objects == o].tolist()) for o in np.unique(objects).tolist()
        }
        self.follows = {o: int(np.bincount(answers[objects == o]).argmax()) for o in self._holders}
        self.cells: dict[tuple[int, bool], list[int]] = {}
        for o in self.follows:
            support = support_index(np.array(len(self._holders[o])))
            cell = int(support), self.frequency[self.follows[o]] >= COMMON
            self.cells.setdefault(cell, []).append(o)

    def count_support(self, obj: int, s: int) -> int:
        """How many others than s have an object and a stated fact below it."""
        return len(self._holders[obj] - {s})

    def subjects_by_said(self, agent: kit.Agent) -> dict[bool, list[int]]:
        """Who can be edited: of whom nothing below is stated, and of whom the next fact is."""
        subjects: dict[bool, list[int]] = {False: [], True: []}
        for s in self.graph.subject[self.graph.relation == self.relation].tolist():
            is_clear = s in self._said and (self._said[s] or s not in self._spoken_of)
            if is_clear and agent.accepts(s, self.relation, "evidence"):
                subjects[self._said[s]].append(s)
        return subjects


def relations_below(graph: KnowledgeGraph, relation: int) -> dict[int, list[int]]:
    """The relations that depend on one, by the number of steps."""
    below: dict[int, list[int]] = {}
    generation = list(graph.downstream(relation))
    while generation:
        below[len(below) + 1] = generation
        generation = [d for r in generation for d in graph.downstream(r)]
    return below


def _first_of_chain(graph: KnowledgeGraph) -> int:
    for r in range(len(graph.relations)):
        if graph.upstream[r] == NO_UPSTREAM and len(relations_below(graph, r)) >= 2:
            return r
    raise kit.InputError("no relation has others two steps below it; take --world.source chain")
