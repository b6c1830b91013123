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
from experiments import stages
from experiments.command import launch_module
from experiments.record import estimate_as_list, write_record
from experiments.settings import StudySettings
from experiments.studies.demo_worlds import list_world_runs
from experiments.studies.edit_sequences import CREDENCE, draw_stream
from testbed.console import say, show_progress
from testbed.corpus import build_corpus
from testbed.presets import CORPUS
from testbed.protocol import TIE_TOLERANCE
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


@dataclass(frozen=True)
class Movement:
    """What requests of one world move.

    Attributes:
        subjects: int[N], of the requests.
        own, others: float[N], summed total variation over facts of the subject, and of all others.
        own_moved, others_moved: int[N], answers that are none of the best any more.
        largest: float[N], the largest total variation among the facts of others.
    """

    subjects: np.ndarray
    own: np.ndarray
    others: np.ndarray
    own_moved: np.ndarray
    others_moved: np.ndarray
    largest: np.ndarray


def measure_movement(agent: Agent, world: World, facts: np.ndarray, objects: np.ndarray) -> Movement:
    """Each request of int[N] facts (indices), by itself."""
    graph = world.graph
    before = agent.distributions(graph.subject, graph.relation)
    rows, best = np.arange(len(before)), before.argmax(axis=1)
    found: list[tuple[float, ...]] = []
    for fact, obj in zip(facts.tolist(), objects.tolist(), strict=True):
        s, r = int(graph.subject[fact]), int(graph.relation[fact])
        edited = agent.with_edit(EditRequest(s, r, obj, agent.weight_for(s, r, obj, CREDENCE)))
        after = edited.distributions(graph.subject, graph.relation)
        moved = after[rows, best] < after.max(axis=1) * (1 - TIE_TOLERANCE)
        variation = np.abs(after - before).sum(axis=1) / 2
        own, others = (graph.subject == s) & (rows != fact), graph.subject != s
        found.append(
            (
                variation[own].sum(),
                variation[others].sum(),
                moved[own].sum(),
                moved[others].sum(),
                variation[others].max(),
            )
        )
    return Movement(graph.subject[facts], *np.array(found).T)


def run_study(settings: Settings) -> None:
    """Corpora, agents, table, record."""
    runs, moves = list_world_runs(settings.runs, settings.worlds), []
    with show_progress("worlds", len(runs)) as advance:
        for seed, run in enumerate(runs):
            build_corpus(replace(CORPUS["tiny"], **stages.settings_of_run(run, seed)))
            world = load_world(run)
            stream = draw_stream(world, settings.requests, seed)
            moves.append(measure_movement(paper_agent(world), world, stream.facts, stream.objects))
            advance(1)
    own, others, own_moved, others_moved, largest = (
        np.concatenate([getattr(move, name) for move in moves])
        for name in ("own", "others", "own_moved", "others_moved", "largest")
    )
    clusters = {
        "subject": np.concatenate([move.subjects for move in moves]),
        "world": np.repeat(np.arange(len(moves)), [len(move.own) for move in moves]),
    }
    clusters["subject"] = clusters["subject"] + clusters["world"] * (1 + clusters["subject"].max())
    metrics = {
        OUTSIDE: Metric(others, own + others, limits=(0, 1)),
        OWN_MOVED: mean_of(own_moved.astype(float)),
        OTHERS_MOVED: mean_of(others_moved.astype(float)),
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
