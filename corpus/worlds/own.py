"""A world of any kind: a class that gives, from a seed, facts, candidates and what the corpus may state.

The kinds beside this module are such classes, and so is a user's own (`--world.source my_world:MyWorld`).
Nothing here knows how facts depend on each other: the class does, and an agent that reads it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from corpus.errors import InputError
from corpus.graph import NO_UPSTREAM, KnowledgeGraph, build_graph


class Fact(NamedTuple):
    """A fact, and how often the corpus states it: 0 is never, 8 or more as fully as it states anything."""

    subject: str
    relation: str
    object: str
    statements: int = 10


class OwnWorld:
    """A world of a kind of its own. A subclass draws `facts` and `candidates` when it is made.

    The same seed makes the same world. How often facts are stated must not depend on their objects.

    Attributes:
        facts: every fact once, the silent ones too.
        candidates: the objects that each relation may have.
    """

    facts: Sequence[Fact]
    candidates: Mapping[str, Sequence[str]]

    def __init__(self, seed: int, subjects: int) -> None:
        self.seed, self.subjects = seed, subjects

    def draw_objects(self, rng: np.random.Generator) -> Sequence[str] | None:
        """The objects of all `facts` in another world that the same law draws; None if it cannot tell.

        With it the battery (`bayes.battery`) compares an agent with simulated worlds.
        """


def draw_facts(
    objects: Iterable[str], names: Iterable[str], silent: Mapping[str, float], rng: np.random.Generator
) -> list[Fact]:
    """Facts of each subject in turn, of each relation in turn, stated fully or never.

    Args:
        objects: of all these facts, in their order.
        silent: by relation the share of facts that is never stated.
    """
    given = iter(objects)
    return [
        Fact(name, r, next(given), 10 * int(rng.random() >= share))
        for name in names
        for r, share in silent.items()
    ]


def build_own_graph(world: OwnWorld) -> KnowledgeGraph:
    """The graph of a world of any kind; its relations depend on none, as far as the graph knows.

    Raises:
        InputError: a class that gives no such things, a fact that stands twice, an object that is no
            candidate, or what no graph may have.
    """
    check_own_world(world)
    relations = [*world.candidates]
    names = dict.fromkeys(fact.subject for fact in world.facts)
    names |= dict.fromkeys(name for pool in world.candidates.values() for name in pool)
    entities = {name: i for i, name in enumerate(names)}
    seen: set[tuple[str, str]] = set()
    for fact in world.facts:
        if fact.object not in world.candidates.get(fact.relation, ()):
            raise InputError(f"{fact.object!r} is no candidate of {fact.relation!r} ({fact.subject!r})")
        if fact[:2] in seen:
            raise InputError(f"the fact {fact.subject!r} {fact.relation!r} stands twice; keep one of them")
        seen.add(fact[:2])
    triples = [(entities[f.subject], relations.index(f.relation), entities[f.object]) for f in world.facts]
    return build_graph(
        np.array(triples).reshape(-1, 3),
        [*entities],
        relations,
        np.full(len(relations), NO_UPSTREAM),
        candidates=[np.unique([entities[name] for name in world.candidates[r]]) for r in relations],
        fewest_objects=2,
    )


def check_own_world(world: OwnWorld) -> None:
    """Refuse a class that gives something else than facts and candidates.

    Raises:
        InputError: it names the first fact or relation that is none.
    """
    kind = type(world).__name__
    if not isinstance(world.candidates, Mapping):
        raise InputError(
            f"{kind}.candidates should map each relation to the objects that it may have; it is a "
            f"{type(world.candidates).__name__}"
        )
    for relation, pool in world.candidates.items():
        names = [relation, pool] if isinstance(pool, str) else [relation, *pool]
        if isinstance(pool, str) or not all(isinstance(name, str) for name in names):
            raise InputError(f"{kind}.candidates[{relation!r}] should be several names; it is {pool!r}")
        if len({*pool}) < max(len(pool), 2):
            raise InputError(
                f"{kind}.candidates[{relation!r}] should be two or more objects, each once; it is {pool!r}"
            )
    for place, fact in enumerate(world.facts):
        if not isinstance(fact, Fact) or not all(isinstance(name, str) for name in fact[:3]):
            raise InputError(
                f"{kind}.facts[{place}] is {fact!r}; write Fact(subject, relation, object, statements), its "
                "names as text"
            )
        if not isinstance(fact.statements, int | np.integer) or fact.statements < 0:
            raise InputError(
                f"{kind}.facts[{place}] is stated {fact.statements!r} times; it should be a whole number, 0 "
                "for never"
            )


def find_own_facts(world: OwnWorld, graph: KnowledgeGraph) -> np.ndarray:
    """int64[facts]: where each of the world's `facts` stands in its graph."""
    entities = {name: i for i, name in enumerate(graph.entities)}
    relations = {name: i for i, name in enumerate(graph.relations)}
    pairs = np.array([(entities[f.subject], relations[f.relation]) for f in world.facts])
    return graph.find(*pairs.T)


def count_statements(world: OwnWorld, graph: KnowledgeGraph) -> np.ndarray:
    """int64[facts]: how often each fact of the graph is stated."""
    statements = np.zeros(len(graph), int)
    statements[find_own_facts(world, graph)] = [fact.statements for fact in world.facts]
    return statements
