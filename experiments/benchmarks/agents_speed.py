"""How fast the agents are at the paper's scale, and what they cost in memory.

Command:
    python -m experiments.agents_speed

Takes about four minutes on 2 cores and writes experiments/records/<date>-agents-speed; figures
are medians of five runs with the smallest and the largest. `--stages fit` runs a part. Expected, on 2
cores, at 100,000 facts and 2.6 million items of evidence: the paper's agent fitted in under a second and
1 GiB; more than 2 million marginal posteriors a second; 5,000 edit cases with all their probes, before and
after, from full distributions, in under 10 seconds. The naive twin (dense arrays, sentence by sentence)
does the same on a small world, where both can be timed. The exact agent answers all eleven facts of a
subject's tree in one pass in a fifth of the time that fact by fact takes.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from bayes.exact import ExactAgent, fit_exact
from bayes.paper import evidence_from
from bayes.request import EditRequest, RequestKind
from corpus.config import ExactConfig
from corpus.exact import draw_world, sample_exact
from corpus.graph import NO_UPSTREAM, KnowledgeGraph, build_graph
from experiments.benchmarks.harness import (
    BenchmarkSettings,
    measure_process,
    rate_runs,
    run_benchmark,
    show_ranges,
    summarise_runs,
    time_runs,
)
from experiments.benchmarks.naive import DenseAgent, evidence
from experiments.command import launch_module
from testbed.commands.corpus import build_corpus
from testbed.evaluations.hase import Hase
from testbed.presets import CORPUS
from testbed.protocol import Case
from testbed.run.agents import exact_agent, paper_agent
from testbed.run.runs import Run
from testbed.run.world import World, load_world

Stage = Literal["fit", "queries", "cases", "exact", "trees"]
STAGES: tuple[Stage, ...] = get_args(Stage)
QUERIES = 2_000_000
SMALL_SUBJECTS = 60
# A world for the exact agent whose subjects have one root fact and ten facts that depend on it.
TREE_SUBJECTS, TREE_CHILDREN, TREE_ROOTS, TREE_OBJECTS, TREE_ASKED = 1000, 10, 40, 12, 200
FEW = 20
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


def load_or_build_world(
    settings: Settings, kind: Literal["published", "exact"], small: bool = False
) -> World:
    """A world of the paper preset, or a small one, built once."""
    run = f"{kind}-{'small' if small else 'paper'}"
    options = replace(CORPUS["paper"], run=run, runs=settings.scratch, kind=kind)
    if small:
        options = replace(CORPUS["tiny"], run=run, runs=settings.scratch, kind=kind)
        options = replace(options, world=replace(options.world, subjects=SMALL_SUBJECTS))
    build_corpus(options)
    return load_world(Run(settings.scratch, run))


def published_worlds(settings: Settings) -> tuple[World, World]:
    """That of the paper preset, and the small one."""
    return load_or_build_world(settings, "published"), load_or_build_world(settings, "published", small=True)


def twin_of(world: World) -> DenseAgent:
    """The naive twin of the paper's agent after reading a world."""
    place = {int(o): i for i, o in enumerate(world.graph.objects)}
    items = [(w, s, r, place[o]) for w, s, r, o in evidence(world.sentences)]
    return DenseAgent(items, world.graph.upstream, len(place), 1.0, 5.0)


def measure_fit(settings: Settings) -> dict[str, Any]:
    """Seconds to fit, from sentences in memory, and memory of a process that loads a world and fits."""
    world, small = published_worlds(settings)
    items = len(evidence_from(world.sentences).weight)
    seconds = {
        "evidence and fit": time_runs(lambda: paper_agent(world), settings.repeats),
        "the same, small world": time_runs(lambda: paper_agent(small), settings.repeats),
        "naive twin, small world": time_runs(lambda: twin_of(small), settings.repeats),
    }
    program = (sys.executable, "-c", FIT, str(settings.scratch), "published-paper")
    process = summarise_runs([measure_process(*program) for _ in range(settings.repeats)])
    show_ranges(f"fit on {items:,} items of evidence", "seconds", seconds, 3)
    show_ranges("a process that loads the world and fits", "seconds, GiB", process, 2)
    return {"items": items, "facts": len(world.graph), **seconds, "process": process}


def measure_queries(settings: Settings) -> dict[str, Any]:
    """Marginal posteriors p(o | s, r) of downstream facts a second, one object or all."""
    world, small = published_worlds(settings)
    repeats = settings.repeats
    agent, small_agent, twin = paper_agent(world), paper_agent(small), twin_of(small)
    rng = np.random.default_rng(0)

    def draw_questions(world: World, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        facts = rng.choice(np.flatnonzero(world.graph.upstream_fact >= 0), count)
        return world.graph.subject[facts], world.graph.relation[facts], rng.choice(world.graph.objects, count)

    many, few = draw_questions(world, QUERIES), draw_questions(small, 200)
    subjects, relations = many[0][:1000], many[1][:1000]
    # As many questions as make the compiled kernel worth its while, also about the small world.
    s, r, o = (np.tile(column, 5000) for column in few)

    def ask_twin() -> None:
        for s, r in zip(*few[:2], strict=True):
            twin.best(int(s), int(r))

    figures = {
        "p(o | s, r)": rate_runs(lambda: agent.probability(*many), repeats, QUERIES),
        "p(. | s, r), all objects": rate_runs(
            lambda: agent.distributions(subjects, relations), repeats, len(subjects)
        ),
        "p(o | s, r), small world": rate_runs(lambda: small_agent.probability(s, r, o), repeats, len(s)),
        "p(. | s, r), small world": rate_runs(lambda: small_agent.distributions(s, r), repeats, len(s)),
        "naive twin, p(. | s, r), small world": rate_runs(ask_twin, repeats, len(few[0])),
    }
    show_ranges("marginal posteriors", "a second", figures, 0)
    return {"objects": len(world.graph.objects), **figures}


def draw_cases(world: World, agent: Any, count: int, evaluation: Hase) -> list[Case]:
    """All cases of Hase's evaluation."""
    return list(evaluation.make_cases(world, agent, count, CREDENCE, 0))


def measure_cases(settings: Settings) -> dict[str, Any]:
    """Seconds for edit cases: requests, and every probe before and after, from full distributions."""
    world, small = published_worlds(settings)
    agent, small_agent = paper_agent(world), paper_agent(small)
    stratified, published = Hase(), Hase(sampler="published")
    cases = draw_cases(small, small_agent, FEW, stratified)

    def ask_twins() -> None:
        place = {int(o): i for i, o in enumerate(small.graph.objects)}
        before = twin_of(small)
        for case in cases:
            after = twin_of(small)
            s, r, o = case.requested_fact
            after.observe(case.request.weight, s, r, place[o])
            for choice in case.choices:
                for twin in (before, after):
                    twin.best(choice.subject, choice.relation)

    count, repeats = settings.cases, settings.repeats
    draws = {
        f"{count:,} cases, stratified": (world, agent, count, stratified),
        f"{count:,} cases, published": (world, agent, count, published),
        f"{FEW} cases, small world": (small, small_agent, FEW, stratified),
    }
    figures = {name: time_runs(partial(draw_cases, *what), repeats) for name, what in draws.items()}
    figures[f"naive twin, {FEW} cases, small world"] = time_runs(ask_twins, repeats)
    show_ranges("edit cases by the paper's agent", "seconds", figures, 2)
    return figures


def measure_exact(settings: Settings) -> dict[str, Any]:
    """The exact agent: seconds to fit, and milliseconds a case by kind of request."""
    world = load_or_build_world(settings, "exact")
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


def tree_world() -> tuple[KnowledgeGraph, ExactAgent]:
    """A world drawn from the exact agent's own model in which every subject's facts are one tree."""
    rng, relations = np.random.default_rng(0), range(TREE_CHILDREN + 1)
    first = TREE_SUBJECTS + np.cumsum([0, TREE_ROOTS, *[TREE_OBJECTS] * TREE_CHILDREN])
    candidates = [np.arange(first[r], first[r + 1]) for r in relations]
    triples = [(s, r, first[r]) for s in range(TREE_SUBJECTS) for r in relations]
    names = [f"thing {i}" for i in range(first[-1])]
    upstream = np.array([NO_UPSTREAM] + [0] * TREE_CHILDREN)
    graph = build_graph(
        np.array(triples), names, [f"relation {r}" for r in relations], upstream, None, candidates
    )
    graph, model = draw_world(graph, ExactConfig(), rng, redraw=True)
    sentences, _ = sample_exact(graph, model, ExactConfig(), rng)
    return graph, fit_exact(graph, ExactConfig(), sentences)


def measure_trees(settings: Settings) -> dict[str, Any]:
    """The exact agent on eleven facts of one tree: milliseconds a subject, fact by fact and in one pass."""
    graph, agent = tree_world()
    subjects, relations = graph.subjects[:TREE_ASKED].tolist(), np.arange(len(graph.relations))
    root = int(graph.candidates_of(0)[0])
    moved = [agent.with_edit(EditRequest(s, 0, root, kind="do")) for s in subjects]

    def ask_fact_by_fact(agents: list[ExactAgent]) -> list[np.ndarray]:
        return [
            np.stack([a.distributions(np.array([s]), np.array([r]))[0] for r in relations])
            for s, a in zip(subjects, agents, strict=True)
        ]

    def ask_in_one_pass(agents: list[ExactAgent]) -> list[np.ndarray]:
        return [
            a.distributions(np.full(len(relations), s), relations)
            for s, a in zip(subjects, agents, strict=True)
        ]

    figures: dict[str, Any] = {}
    for name, agents in (("before", [agent] * TREE_ASKED), ("after a change", moved)):
        apart = np.abs(np.stack(ask_fact_by_fact(agents)) - np.stack(ask_in_one_pass(agents))).max()
        assert apart < 1e-12, f"fact by fact and in one pass are {apart} apart"
        for way, work in (("fact by fact", ask_fact_by_fact), ("in one pass", ask_in_one_pass)):
            figures[f"{name}, {way}"] = time_runs(
                partial(work, agents), settings.repeats, of=TREE_ASKED / 1000
            )
    show_ranges("all facts of a subject, a root and ten that depend on it", "milliseconds", figures, 2)
    return figures


MEASURES: dict[Stage, Callable[[Settings], dict[str, Any]]] = {
    "fit": measure_fit,
    "queries": measure_queries,
    "cases": measure_cases,
    "exact": measure_exact,
    "trees": measure_trees,
}


def run_study(settings: Settings) -> None:
    """Run the stages and write what they found."""
    run_benchmark(settings, MEASURES)


if __name__ == "__main__":
    launch_module()
