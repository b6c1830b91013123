"""An evaluation of your own, whole: does editing a subject change what is said about its neighbours?

    python -m testbed.edit lora-down --evaluation experiments.my_evaluation:MyEvaluation
    python -m testbed.report --evaluation hase experiments.my_evaluation:MyEvaluation

Neighbours share the edited relation's old object. Each case asks for the edited fact and for the same
relation of two neighbours; as a control the editor is told the same of somebody else. Copy this file and
change what is asked: editors, results, intervals, tables and the report need nothing else. The class is a
frozen dataclass with defaults, because its fields are options (`--my-evaluation.neighbours 3`) and results
are filed under them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayes.interface import Agent, EditRequest
from corpus.errors import InputError
from corpus.seeds import generator
from testbed.engine.results import Results
from testbed.evaluations.gold import GoldMaker
from testbed.pages.before import before_section
from testbed.pages.chapter import Chapter, Material
from testbed.pages.costs import cost_section
from testbed.pages.overview import comparison_table, detail_tables, difference_section
from testbed.protocol import Case, ControlRequest
from testbed.run.world import World
from testbed.scores.distances import total_variation
from testbed.scores.metric import Metric, MetricDefinition, sum_by_case
from testbed.scores.readers import BEFORE_EDIT, Reader, reference_readers


@dataclass(frozen=True)
class MyEvaluation:
    """Requests that contradict a truth which the subject shares with some neighbours."""

    neighbours: int = 2
    """How many neighbours are asked about."""

    readings: ClassVar = ("evidence",)
    facets: ClassVar = {"new_holders": int}
    metrics: ClassVar = (
        MetricDefinition("edit success", "Share of requests that are stated when asked.", "high", "headline"),
        MetricDefinition(
            "neighbours right", "Share of answers about neighbours that are the agent's.", "high", "headline"
        ),
        MetricDefinition(
            "TV neighbours", "Total variation to the agent in what is said of neighbours.", "low", "compared"
        ),
    )

    def cases(self, world: World, agent: Agent, count: int, credence: float, seed: int) -> Iterator[Case]:
        """Random facts, each to a random other object of its relation; `count` of them."""
        graph, truth = world.graph, world.generative.truth
        rng, gold = generator(seed, "my evaluation"), GoldMaker(world, agent, options=24, cases=count)
        shared = [f for f in range(len(graph)) if self._neighbours(world, f)[0].size]
        if not shared:
            raise InputError("no two subjects of this world share an object, so nobody has a neighbour")
        for fact in rng.choice(shared, count, replace=count > len(shared)).tolist():
            s, r, true = int(graph.subject[fact]), int(graph.relation[fact]), int(truth[fact])
            others, objects = self._neighbours(world, fact)
            o, near = int(rng.choice(objects)), rng.permutation(others)[: self.neighbours].tolist()
            same = graph.relation == r
            somebody = int(rng.choice(graph.subject[same & (graph.subject != s)]))
            request = EditRequest(s, r, o, agent.weight_for(s, r, o, credence))
            questions = [("request", s, r), *(("neighbour", n, r) for n in near)]
            choices, _ = gold.make_choices([request], questions)
            yield Case(
                request,
                credence,
                true,
                {"new_holders": int((same & (truth == o)).sum())},
                choices,
                controls=(ControlRequest("the same of somebody else", (somebody, r, o)),),
            )

    def _neighbours(self, world: World, fact: int) -> tuple[np.ndarray, np.ndarray]:
        """Who else has a fact's object, and its relation's other objects; nobody where there are none."""
        graph, truth = world.graph, world.generative.truth
        same = graph.relation == graph.relation[fact]
        others = graph.subject[same & (truth == truth[fact]) & (graph.subject != graph.subject[fact])]
        objects = np.setdiff1d(truth[same], [truth[fact]])
        return others[: len(others) * bool(len(objects))], objects

    def readers(self, results: Results, editor: str) -> dict[str, Reader]:
        """The edited model, and the usual references."""
        return reference_readers(results, editor)

    def measure(self, results: Results, reader: Reader) -> dict[str, Metric]:
        """Sums over the questions of each case."""
        c, size = results.choices, len(results)
        request, near = c.role == "request", c.role == "neighbour"
        stated = reader.answer == results.cases["object"][c.case]
        is_right = reader.answer == c.agent_answer[:, reader.time]
        far = total_variation(reader.probability, c.agent[:, reader.time])
        sums = {
            "neighbours right": sum_by_case(is_right, c.case, size, near),
            "TV neighbours": sum_by_case(far, c.case, size, near),
        }
        return (
            sums if reader.time == 0 else {"edit success": sum_by_case(stated, c.case, size, request), **sums}
        )

    def subsets(self, results: Results) -> dict[str, np.ndarray]:
        """All cases, and those whose new object somebody has."""
        held = results.cases["new_holders"] > 0
        return {"all": np.ones(len(held), bool), "somebody has the new object": held}

    def story(self, material: Material) -> Chapter:
        """The tables that every chapter has, and costs."""
        editors = material.editors
        sections = [difference_section(material), cost_section(editors, "neighbours right", material.folder)]
        right = {e.name: e.summary["all"] for e in editors}
        return Chapter(
            "What is said of neighbours?",
            "A fact is edited, and others who share its old object are asked about.",
            {n: f"right about {s[n]['neighbours right'].value:.0%} of neighbours, "
                f"{s[BEFORE_EDIT]['neighbours right'].value:.0%} before" for n, s in right.items()},
            comparison_table(editors, material.differences),
            [section for section in sections if section],
            panels={},
            details={e.name: detail_tables(e, ("somebody has the new object",)) for e in editors},
            words={"neighbour": "a subject whose true object was the edited subject's too"},
            metrics=self.metrics,
            ahead=[before_section(material)],
        )  # fmt: skip
