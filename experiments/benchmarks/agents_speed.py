"""How fast the agents are at the paper's scale, and what they cost in memory.

Command:
    python -m experiments.agents_speed

Takes about four minutes on 2 cores and writes experiments/records/<date>-agents-speed; figures
are medians of five runs with the smallest and the largest. `--stages fit` runs a part. Expected, on 2
cores, at 100,000 facts and 2.6 million items of evidence: the paper's agent fitted in under a second and
1 GiB; more than 2 million marginal posteriors a second; 5,000 edit cases with all their probes, before and
after, from full distributions, in under 10 seconds.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from bayes.paper import evidence_from
from bayes.request import RequestKind
from experiments.benchmarks.harness import (
    BenchmarkSettings,
    measure_process,
    rate_runs,
    run_benchmark,
    show_ranges,
    summarise_runs,
    time_runs,
)
from experiments.command import launch_module
from testbed.commands.corpus import build_corpus
from testbed.evaluations.hase import Hase
from testbed.presets import CORPUS
from testbed.protocol import Case
from testbed.run.agents import exact_agent, paper_agent
from testbed.run.runs import Run
from testbed.run.world import World, load_world

Stage = Literal["fit", "queries", "cases", "exact"]
STAGES: tuple[Stage, ...] = get_args(Stage)
QUERIES = 2_000_000
CREDENCE = 0.95
FIT = (
    "import sys; from pathlib import Path; from testbed.run.runs import Run; "
    "from testbed.run.world import load_world; from testbed.run.agents import paper_agent; "
    "paper_agent(load_world(Run(Path(sys.argv[1]), sys.argv[2])))"
)


@dataclass(frozen=True)
class Settings(BenchmarkSettings):
    """What is measured, and where its files go."""

    stages: tuple[Stage, ...] = STAGES
    """Parts to run."""
    repeats: int = 5
    """Runs of each measurement."""
    cases: int = 5000
    """Edit cases of the paper's agent; the exact agent draws a tenth of them."""


def build_world(settings: Settings, kind: Literal["published", "exact"]) -> World:
    """The world of the paper preset with a corpus of a kind, built once."""
    options = replace(CORPUS["paper-dense"], run=kind, runs=settings.scratch, kind=kind)
    build_corpus(options)
    return load_world(Run(settings.scratch, kind))


def measure_fit(settings: Settings) -> dict[str, Any]:
    """Seconds to fit, from sentences in memory, and memory of a process that loads a world and fits."""
    world = build_world(settings, "published")
    items = len(evidence_from(world.sentences).weight)
    seconds = {"evidence and fit": time_runs(lambda: paper_agent(world), settings.repeats)}
    program = (sys.executable, "-c", FIT, str(settings.scratch), "published")
    process = summarise_runs([measure_process(*program) for _ in range(settings.repeats)])
    show_ranges(f"fit on {items:,} items of evidence", "seconds", seconds, 3)
    show_ranges("a process that loads the world and fits", "seconds, GiB", process, 2)
    return {"items": items, "facts": len(world.graph), **seconds, "process": process}


def measure_queries(settings: Settings) -> dict[str, Any]:
    """Marginal posteriors p(o | s, r) of downstream facts a second, one object or all."""
    world, rng = build_world(settings, "published"), np.random.default_rng(0)
    graph, agent = world.graph, paper_agent(world)
    facts = rng.choice(np.flatnonzero(graph.upstream_fact >= 0), QUERIES)
    s, r, o = graph.subject[facts], graph.relation[facts], rng.choice(graph.objects, QUERIES)
    figures = {
        "p(o | s, r)": rate_runs(lambda: agent.probability(s, r, o), settings.repeats, QUERIES),
        "p(. | s, r), all objects": rate_runs(
            lambda: agent.distributions(s[:1000], r[:1000]), settings.repeats, 1000
        ),
    }
    show_ranges("marginal posteriors", "a second", figures, 0)
    return {"objects": len(graph.objects), **figures}


def draw_cases(world: World, agent: Any, count: int, evaluation: Hase) -> list[Case]:
    """All cases of Hase's evaluation."""
    return list(evaluation.make_cases(world, agent, count, CREDENCE, 0))


def measure_cases(settings: Settings) -> dict[str, Any]:
    """Seconds for edit cases: requests, and every probe before and after, from full distributions."""
    world = build_world(settings, "published")
    agent, count = paper_agent(world), settings.cases
    figures = {
        f"{count:,} cases, {sampler}": time_runs(
            partial(draw_cases, world, agent, count, Hase(sampler=sampler)), settings.repeats
        )
        for sampler in ("stratified", "published")
    }
    show_ranges("edit cases by the paper's agent", "seconds", figures, 2)
    return figures


def measure_exact(settings: Settings) -> dict[str, Any]:
    """The exact agent: seconds to fit, and milliseconds a case by kind of request."""
    world = build_world(settings, "exact")
    agent = exact_agent(world)
    fit = time_runs(lambda: exact_agent(world), settings.repeats)
    figures = {}
    for request in get_args(RequestKind):
        count = max(1, settings.cases // 10)
        work = partial(draw_cases, world, agent, count, Hase(request=request))
        figures[request] = time_runs(work, settings.repeats, of=count / 1000)
    show_ranges("the exact agent", "seconds", {"fit": fit}, 2)
    show_ranges("its edit cases", "milliseconds each", figures, 1)
    return {"fit": fit, "milliseconds a case": figures}


MEASURES: dict[Stage, Callable[[Settings], dict[str, Any]]] = {
    "fit": measure_fit,
    "queries": measure_queries,
    "cases": measure_cases,
    "exact": measure_exact,
}


def run_study(settings: Settings) -> None:
    """Run the stages and write what they found."""
    run_benchmark(settings, MEASURES)


if __name__ == "__main__":
    launch_module()
