"""An evaluation of your own, whole: does an edit of a subject change answers about its neighbours?

    python -m testbed.example my_evaluation                                  (copies this file)
    python -m testbed.edit lora-down --evaluation my_evaluation:MyEvaluation
    python -m testbed.report --evaluation hase my_evaluation:MyEvaluation

Change the questions; no more is needed. The class is a frozen dataclass with defaults: its fields are options
(`--my-evaluation.neighbours 3`), and its docstring heads the chapter of the report.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from testbed.evaluations import kit


@dataclass(frozen=True)
class MyEvaluation(kit.Evaluation):
    """Do neighbours change?

    Each edit gives a fact an object that contradicts the truth. A neighbour is a subject that shares the old
    object. As a control the editor makes the same edit of another subject.
    """

    neighbours: int = 2
    """Neighbours in each case."""

    facets: ClassVar = {"new_holders": int}
    metrics: ClassVar = (
        kit.MetricDefinition(
            "edit success", "Share of requests that the edited model states.", "high", "headline",
            compute=lambda a: a.mean_over(a.reader.answer == a.requested, a.has_role("request")),
            needs_edit=True,
        ),
        kit.MetricDefinition(
            "neighbours right", "Share of answers about neighbours that are the agent's.", "high", "headline",
            compute=lambda a: a.mean_over(a.is_right, a.has_role("neighbour")),
        ),
        kit.MetricDefinition(
            "TV neighbours", "Total variation to the agent in answers about neighbours.", "low", "compared",
            compute=lambda a: a.mean_over(a.distance, a.has_role("neighbour")),
        ),
    )  # fmt: skip

    def make_cases(
        self, world: kit.World, agent: kit.Agent, count: int, credence: float, seed: int
    ) -> Iterator[kit.Case]:
        """Random facts, each to a random other object of its relation; `count` of them."""
        graph, truth = world.graph, world.generative.truth
        rng, gold = kit.generator(seed, "my evaluation"), kit.GoldMaker(world, agent, options=24, cases=count)
        shared = [f for f in range(len(graph)) if self._neighbours(world, f)[0].size]
        if not shared:
            raise kit.InputError("no two subjects of this world share an object, so nobody has a neighbour")
        for fact in rng.choice(shared, count, replace=count > len(shared)).tolist():
            s, r = int(graph.subject[fact]), int(graph.relation[fact])
            others, objects = self._neighbours(world, fact)
            o, near = int(rng.choice(objects)), rng.permutation(others)[: self.neighbours].tolist()
            same = graph.relation == r
            somebody = int(rng.choice(graph.subject[same & (graph.subject != s)]))
            request = kit.EditRequest(s, r, o, agent.weight_for(s, r, o, credence))
            questions = [("request", s, r), *(("neighbour", n, r) for n in near)]
            choices, _ = gold.make_choices([request], questions)
            facets: dict[str, kit.Facet] = {"new_holders": int((same & (truth == o)).sum())}
            controls = (kit.ControlRequest("the same of somebody else", (somebody, r, o)),)
            yield kit.Case(request, credence, int(truth[fact]), facets, choices, controls=controls)

    def subsets(self, results: kit.Results) -> dict[str, np.ndarray]:
        """All cases, and those whose new object some subject has."""
        held = results.cases["new_holders"] > 0
        return {"all": np.ones(len(held), bool), "somebody has the new object": held}

    def _neighbours(self, world: kit.World, fact: int) -> tuple[np.ndarray, np.ndarray]:
        """Other subjects with a fact's object (none without other objects), and the other objects."""
        graph, truth = world.graph, world.generative.truth
        same = graph.relation == graph.relation[fact]
        others = graph.subject[same & (truth == truth[fact]) & (graph.subject != graph.subject[fact])]
        objects = np.setdiff1d(truth[same], [truth[fact]])
        return others[: len(others) * bool(len(objects))], objects
