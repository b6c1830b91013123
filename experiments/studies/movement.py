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
from typing import NamedTuple

import numpy as np

from bayes.interface import Agent
from experiments import stages
from experiments.command import launch_module
from experiments.record import estimate_as_list, write_record
from experiments.settings import StudySettings
from experiments.studies.demo_worlds import list_world_runs
from experiments.studies.edit_sequences import (
    Stream,
    cluster_by_world,
    draw_stream,
    find_moved,
    weigh_request,
)
from testbed.commands.corpus import build_corpus
from testbed.console import say, show_progress
from testbed.presets import CORPUS
from testbed.run.agents import paper_agent
from testbed.run.world import World, load_world
from testbed.scores.metric import Metric, mean_of
from testbed.scores.statistics import estimate_metrics
from testbed.scores.tables import Table

OUTSIDE = "movement outside the subject"
OWN_MOVED, OTHERS_MOVED = "answers moved, the subject's", "answers moved, others'"
LARGEST = "largest movement of another subject's belief"


@dataclass(frozen=True)
class Settings(StudySettings):
    """How many worlds and requests."""

    worlds: int = 10
    """Worlds, of seeds 0, 1, ..."""
    requests: int = 100
    """Requests in each."""


class Movement(NamedTuple):
    """What requests of one world move.

    Attributes:
        subjects: int[N], of the requests.
        own, others: float[N], summed total variation over facts of the subject, and of all others.
        own_moved, others_moved: float[N], how many answers that are none of the best any more.
        largest: float[N], the largest total variation among the facts of others.
    """

    subjects: np.ndarray
    own: np.ndarray
    others: np.ndarray
    own_moved: np.ndarray
    others_moved: np.ndarray
    largest: np.ndarray


def measure_movement(agent: Agent, world: World, stream: Stream) -> Movement:
    """Each request of a stream by itself."""
    graph = world.graph
    every, before = np.arange(len(graph)), agent.distributions(graph.subject, graph.relation)
    found: list[tuple[float, ...]] = []
    for n, fact in enumerate(stream.facts.tolist()):
        edited = agent.with_edit(weigh_request(agent, world, stream, n))
        after = edited.distributions(graph.subject, graph.relation)
        moved, variation = find_moved(after, before.argmax(axis=1)), np.abs(after - before).sum(axis=1) / 2
        others = graph.subject != graph.subject[fact]
        own = ~others & (every != fact)
        sums = [part.sum() for of_whom in (variation, moved) for part in (of_whom[own], of_whom[others])]
        found.append((*sums, variation[others].max()))
    return Movement(graph.subject[stream.facts], *np.array(found).T)


def run_study(settings: Settings) -> None:
    """Corpora, agents, table, record."""
    runs, moves = list_world_runs(settings.runs, settings.worlds), []
    with show_progress("worlds", len(runs)) as advance:
        for seed, run in enumerate(runs):
            build_corpus(replace(CORPUS["tiny"], **stages.settings_of_run(run, seed)))
            world = load_world(run)
            stream = draw_stream(world, settings.requests, seed)
            moves.append(measure_movement(paper_agent(world), world, stream))
            advance(1)
    _, own, others, own_moved, others_moved, largest = map(np.concatenate, zip(*moves, strict=True))
    clusters = cluster_by_world([move.subjects for move in moves])
    metrics = {
        OUTSIDE: Metric(others, own + others, limits=(0, 1)),
        OWN_MOVED: mean_of(own_moved),
        OTHERS_MOVED: mean_of(others_moved),
        LARGEST: mean_of(largest),
    }
    estimates = estimate_metrics(metrics, clusters, np.ones(len(own), bool))
    table = Table("movement", "What a request moves", [*estimates], [[*estimates.values()]])
    page = stages.show_tables([table])
    figures = {name: estimate_as_list(estimate) for name, estimate in estimates.items()}
    folder = write_record(
        runs[0],
        settings.name,
        settings.command,
        [],
        {"movement.md": page},
        settings={"worlds": settings.worlds, "requests": settings.requests},
        found=figures,
    )
    say(f"record {folder}")


if __name__ == "__main__":
    launch_module()
