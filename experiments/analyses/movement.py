"""How much of what an edit changes is outside its subject, for a rational agent.

Command:
    python -m experiments.movement

No model is needed. In each world of the demo's kind the paper's agent takes requests, one at a time and each
on the unedited beliefs; all contradict the truth. How far a belief moves is the total variation between its
distributions before and after. That is summed over all facts of the world but the requested one: over the
subject's own, and over everybody else's. An editor that stores at the subject's name reaches the first part
only. Intervals are over worlds and subjects. Takes a few minutes of one core.
"""

from dataclasses import dataclass, replace

import numpy as np

from bayes.interface import Agent
from bayes.request import EditRequest
from experiments.command import launch_module
from experiments.study import Edits, StudyOptions, record_tables
from testbed.commands.corpus import build_corpus
from testbed.console import show_progress
from testbed.evaluations.hase import Hase
from testbed.presets import CORPUS, EDIT
from testbed.protocol import TIE_TOLERANCE
from testbed.run.agents import paper_agent
from testbed.run.runs import Run
from testbed.run.world import World, load_world
from testbed.scores.metric import Metric, mean_of
from testbed.scores.statistics import estimate_metrics
from testbed.scores.tables import Table


@dataclass(frozen=True)
class Settings(StudyOptions):
    """How many worlds, of seeds 0, 1, ..., and requests in each."""

    worlds: int = 10
    """Worlds."""
    edits: Edits = 100
    """Requests in each."""


def measure_movement(agent: Agent, world: World, requests: list[EditRequest]) -> np.ndarray:
    """float[N, 5]: what each request moves by itself.

    Summed total variation over facts of its subject, and of all others; how many answers of both are none of
    the best any more; and the largest total variation of another subject's fact.
    """
    graph = world.graph
    every, before = np.arange(len(graph)), agent.distributions(graph.subject, graph.relation)
    found = []
    for request in requests:
        fact = int(graph.find(request.subject, request.relation))
        after = agent.with_edit(request).distributions(graph.subject, graph.relation)
        moved = after[every, before.argmax(axis=1)] < after.max(axis=1) * (1 - TIE_TOLERANCE)
        variation = np.abs(after - before).sum(axis=1) / 2
        others = graph.subject != graph.subject[fact]
        own = ~others & (every != fact)
        sums = [part.sum() for of_whom in (variation, moved) for part in (of_whom[own], of_whom[others])]
        found.append((*sums, variation[others].max()))
    return np.array(found)


def run_study(settings: Settings) -> None:
    """Corpora, agents, table, record."""
    runs = [Run(settings.runs, f"demo-worlds-{seed}") for seed in range(settings.worlds)]
    found, subjects = [], []
    with show_progress("worlds", len(runs)) as advance:
        for seed, run in enumerate(runs):
            build_corpus(replace(CORPUS["tiny"], run=run.name, runs=run.root, seed=seed))
            world = load_world(run)
            agent, credence = paper_agent(world), EDIT["tiny"].cases.credence
            cases = Hase(reinforce=0.0).make_cases(world, agent, settings.edits, credence, seed)
            requests = [case.request for case in cases]
            found.append(measure_movement(agent, world, requests))
            subjects.append(np.array([request.subject for request in requests]))
            advance(1)
    own, others, own_moved, others_moved, largest = np.concatenate(found).T
    worlds = np.repeat(np.arange(len(runs)), [len(of) for of in subjects])
    pairs = np.stack([worlds, np.concatenate(subjects)])
    clusters = {"subject": np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1), "world": worlds}
    metrics = {
        "movement outside the subject": Metric(others, own + others, limits=(0, 1)),
        "answers moved, the subject's": mean_of(own_moved),
        "answers moved, others'": mean_of(others_moved),
        "largest movement of another subject's belief": mean_of(largest),
    }
    estimates = estimate_metrics(metrics, clusters, np.ones(len(own), bool))
    table = Table("movement", "What a request moves", ["agent", *estimates], [["paper", *estimates.values()]])
    record_tables(settings, runs[0], [table])


if __name__ == "__main__":
    launch_module()
