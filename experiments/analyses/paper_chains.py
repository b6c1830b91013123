"""What does an edit of one subject do to others, by the paper's agent, in chains? And by the exact agent?

Command:
    python -m experiments.paper_chains

Worlds of two chains of three relations, whose every fact is stated often. Facts are edited to an object that
contradicts the truth, as evidence: first facts of a chain, and inner ones, which depend on a fact and have
one that depends on them. Others who have the old object were stated to have it; counted are those who are
believed to have the requested object after the edit. The paper's agent reads the published
corpus of each world, the exact agent one of kind exact about the same facts. No model is trained: ten worlds
take a few minutes of one core.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bayes.interface import Agent
from bayes.request import EditRequest
from corpus.seeds import generator
from experiments.command import launch_module
from experiments.measures.revision_worlds import RevisionWorld, build_run
from experiments.study import Edits, StudyOptions, record_tables
from testbed.run.agents import agent_named
from testbed.run.runs import Run
from testbed.run.settings import AgentName
from testbed.run.world import World, load_world
from testbed.scores.metric import Metric
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import Cell, Table

FIRST_SEED = 701
AGENTS: tuple[AgentName, ...] = ("paper", "exact")
FACTS = ("first facts", "inner facts")
COLUMNS = ("edits", "others", "believed to have the requested object")


@dataclass(frozen=True)
class Settings(StudyOptions):
    """How much is asked."""

    worlds: int = 10
    """Worlds of chains."""
    edits: Edits = 20
    """Edits of first facts in each world, and as many of inner ones."""


class Spread(NamedTuple):
    """One edit: how many others had the old object, and how many of them are to have the new one."""

    others: int
    changed: int


def run_study(settings: Settings) -> None:
    """Worlds, edits, table, record."""
    rows: list[list[Cell]] = []
    for agent in AGENTS:
        spreads: dict[str, list[list[Spread]]] = {facts: [] for facts in FACTS}
        for seed in range(FIRST_SEED, FIRST_SEED + settings.worlds):
            world = load_world(prepare_world(settings, agent, seed))
            for facts in FACTS:
                spreads[facts].append(
                    list(spread_edits(world, agent_named(agent, world), facts, settings.edits, seed))
                )
        for facts in FACTS:
            every = [one for of_world in spreads[facts] for one in of_world]
            rows.append(
                [
                    f"{agent} agent, {facts}",
                    len(every),
                    sum(s.others for s in every),
                    estimate_share(spreads[facts]),
                ]
            )
    note = "Of others who had the old object before the edit, and were stated to; intervals over worlds."
    table = Table(
        "spread", "Others who are to have the requested object", ["agent, edited", *COLUMNS], rows, note
    )
    record_tables(settings, prepare_world(settings, "paper", FIRST_SEED), [table])


def prepare_world(settings: Settings, agent: AgentName, seed: int) -> Run:
    """The corpus that an agent reads about the facts of one seed; made where it is missing."""
    world = RevisionWorld("chains", "published", seed)
    return build_run(world if agent == "paper" else replace(world, kind="fact"), settings.runs)


def spread_edits(world: World, agent: Agent, facts: str, count: int, seed: int) -> Iterator[Spread]:
    """What random edits of facts of a kind make of others who had the old object."""
    graph, truth = world.graph, world.generative.truth
    rng = generator(seed, f"paper chains, {facts}")
    is_cause = np.isin(np.arange(len(graph.relations)), graph.upstream)
    wanted = is_cause & ((graph.upstream >= 0) == (facts == FACTS[1]))
    able = [
        f
        for f in np.flatnonzero(wanted[graph.relation]).tolist()
        if agent.accepts(int(graph.subject[f]), int(graph.relation[f]), "evidence")
    ]
    for fact in rng.choice(able, count, replace=count > len(able)).tolist():
        s, r = int(graph.subject[fact]), int(graph.relation[fact])
        target = int(rng.choice(np.setdiff1d(graph.candidates_of(r), [truth[fact]])))
        edited = agent.with_edit(EditRequest(s, r, target, agent.weight_for(s, r, target)))
        same = (graph.relation == r) & (truth == truth[fact]) & (graph.subject != s)
        place = int(np.searchsorted(agent.objects, target))
        relations = np.full(int(same.sum()), r)
        before, after = (
            one.distributions(graph.subject[same], relations).argmax(axis=1) for one in (agent, edited)
        )
        yield Spread(len(relations), int(((after == place) & (before != place)).sum()))


def estimate_share(by_world: list[list[Spread]]) -> Estimate:
    """The share that changed, with its interval over worlds."""
    others, changed = (
        np.array([sum(one[k] for one in of_world) for of_world in by_world], float) for k in (0, 1)
    )
    everything, worlds = np.ones(len(others), bool), {"world": np.arange(len(others))}
    return estimate_metrics({"": Metric(changed, others, share=True)}, worlds, everything)[""]


if __name__ == "__main__":
    launch_module()
