"""The agents of a world: the paper's, and the exact one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bayes.approximate import fit_approximately
from bayes.derived import DerivedAgent, read_likelihoods
from bayes.exact import ExactAgent, fit_exact
from bayes.interface import Exactness
from bayes.paper import PaperAgent, evidence_from, fit_paper
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.exact import ExactModel
from corpus.graph import KnowledgeGraph
from corpus.text.sentences import Sentences
from corpus.worlds.own import build_own_graph
from corpus.worlds.reversals import reverse_of
from testbed.run.gold_file import read_gold_file
from testbed.run.own_world import Origin, find_agent_class, make_own_world
from testbed.run.settings import GOLD, AgentName, PaperAgentConfig
from testbed.run.world import World

REQUESTS = {"evidence": "further evidence", "correction": "a correction", "do": "a change of the world"}


def _fit_own_agent(
    name: str, origin: Origin, graph: KnowledgeGraph, config: ExactConfig, sentences: Sentences
) -> DerivedAgent:
    """The agent of a kind of world after reading its sentences.

    Args:
        name: exact, for the agent that the world names; or my_module:MyAgent.

    Raises:
        InputError: no such agent; or the class makes another world than the one that was written about.
    """
    world = make_own_world(origin)
    made = build_own_graph(world)
    same_names = graph.entities[: len(made.entities)] == made.entities and graph.relations == made.relations
    arrays = ("subject", "relation", "object", "candidates")
    if not same_names or not all(np.array_equal(getattr(made, x), getattr(graph, x)) for x in arrays):
        raise InputError(
            f"{origin.source} makes another world than this run is about: it was changed, or draws without "
            "its seed; restore it, or choose another --run"
        )
    return find_agent_class(name, origin.source)(
        world, graph, config, read_likelihoods(graph, config, sentences)
    )


def agent_named(
    name: AgentName, world: World, paper: PaperAgentConfig | None = None
) -> PaperAgent | ExactAgent | DerivedAgent:
    """The agent of that name after reading the world's sentences; it knows which relations have inverses.

    Args:
        name: paper; exact, which in a world of another kind is the agent of that kind; my_module:MyAgent; or
            a file of gold, as gold:FILE.
        paper: settings of the paper's agent.

    Raises:
        InputError: an agent of one's own for a world that no class makes.
    """
    if name == "paper":
        return replace(paper_agent(world, paper), reverse=reverse_of(world.reversals))
    if name.startswith(GOLD):
        return read_gold_file(Path(name.removeprefix(GOLD)), world.graph)
    if world.origin is not None and world.exact is not None:
        return _fit_own_agent(name, world.origin, world.graph, world.exact.config, world.sentences)
    if name != "exact":
        raise InputError(
            f"agent {name!r} needs a world that a class makes (--world.source my_module:MyWorld)"
        )
    return replace(exact_agent(world), reverse=reverse_of(world.reversals))


def describe_standard(
    name: AgentName, exactness: Mapping[str, Any], interpretations: Sequence[str] = ()
) -> str:
    """For people: which agent edits are judged by, how exact it is, and what requests are to it.

    Args:
        exactness: kind, bound and why of `bayes.interface.Exactness`.
    """
    bound = f" up to {exactness['bound']:.0e}" if exactness["bound"] is not None else ""
    who = {"paper": "the paper's agent", "exact": "the exact agent"}.get(name, name)
    description = f"{who} ({exactness['kind']}{bound}: {exactness['why']})"
    if not interpretations:
        return description
    return f"{description}; to it every request is {' or '.join(REQUESTS[kind] for kind in interpretations)}"


def paper_agent(world: World, config: PaperAgentConfig | None = None) -> PaperAgent:
    """The paper's agent after reading the world's sentences."""
    graph, evidence, config = world.graph, evidence_from(world.sentences), config or PaperAgentConfig()
    entities, objects = len(graph.entities), graph.objects
    multiplicity = config.evidence_multiplicity or float(world.reshuffles)
    masses = {"one": 1.0, "ones": float(len(objects))}
    mass = masses[config.prior] if isinstance(config.prior, str) else config.prior
    agent = fit_paper(evidence, graph.upstream, entities, objects, mass, multiplicity)
    return replace(agent, edit_weight=config.edit_weight)


def exact_agent(world: World) -> ExactAgent:
    """The exact agent after reading the world's sentences; an approximation on a published corpus.

    Raises:
        InputError: a published corpus about a relation of a single object, or about chains of dependence.
    """
    model = world.generative
    if world.exact is None or not isinstance(model, ExactModel):
        return fit_approximately(world.graph, world.sentences)
    config, resolution, is_drawn = world.exact
    open_facts = int(model.open.sum())
    if config.rows == "given":
        source = "what facts are drawn from" if len(world.graph.rows) else "what all facts tell of their rows"
        why = f"the agent is told {source}, and infers nobody's from anybody else's"
        exactness = Exactness("exact, rows given", 0.0, why)
    elif open_facts:
        why = f"{open_facts:,} facts are left in doubt on purpose, and others share rows with them"
        exactness = Exactness("approximation", None, why)
    else:
        why = "everybody else's facts are resolved" + (
            "" if is_drawn else "; they were given, not drawn from W"
        )
        exactness = Exactness("exact", float(resolution.bound.sum()), why)
    return fit_exact(world.graph, config, world.sentences, exactness)
