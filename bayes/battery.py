"""What a rational agent must satisfy in any kind of world, tried on one of its worlds.

Each check returns the largest deviation that it found. They use `predict` and `with_edit` alone, and so
hold for whatever answers to these. Evidence of weight CERTAIN is as good as knowing.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bayes.derived import DerivedAgent, read_likelihoods
from bayes.request import EditRequest
from corpus.config import ExactConfig
from corpus.errors import InputError
from corpus.exact import draw_world, sample_exact
from corpus.seeds import generator
from corpus.worlds.own import OwnWorld, build_own_graph, count_statements, find_own_facts

CERTAIN = 1e4
TOLERANCE = 1e-9
DEVIATIONS = 5.0
"""Standard deviations by which a simulated share may differ from the agent's belief."""
MOST_FACTS = 12
"""Facts of which a check asks."""


class Check(NamedTuple):
    """What a check found: its largest deviation, and how large one may be."""

    name: str
    deviation: float
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the agent satisfies it."""
        return bool(self.deviation <= self.limit)


def check_agent(
    world: OwnWorld, kind: type[DerivedAgent], seed: int = 0, simulated: int = 20_000
) -> list[Check]:
    """Every check, with a corpus about the world read, and with nothing read.

    Args:
        kind: of the agent.
        simulated: worlds to simulate, where the world gives a sampler.
    """
    rng, config = generator(seed, "battery"), ExactConfig(rows="given", noise=0.2)
    graph = build_own_graph(world)
    # Few statements, so that much stays in doubt.
    often = np.minimum(count_statements(world, graph), rng.integers(0, 4, len(graph)))
    graph, model = draw_world(graph, config, rng, redraw=False, often=often)
    sentences, _ = sample_exact(graph, model, config, rng)
    agent = kind(world, graph, config, read_likelihoods(graph, config, sentences))
    unread = kind(world, graph, config, {})
    checks = [
        Check(name, max(measure(agent, rng), measure(unread, rng)), limit) for name, measure, limit in CHECKS
    ]
    deviation = _miss_of_simulation(unread, rng, simulated)
    if deviation is not None:
        checks.append(Check("simulated worlds agree (deviations)", deviation, DEVIATIONS))
    return checks


def _ask(agent: DerivedAgent, facts: Sequence[int]) -> list[np.ndarray]:
    graph = agent.graph
    pairs = [(int(graph.subject[f]), int(graph.relation[f])) for f in facts]
    return [agent.believe(*pair).dense_probabilities() for pair in pairs]


def _tell(agent: DerivedAgent, fact: int, place: int, weight: float) -> DerivedAgent:
    s, r = int(agent.graph.subject[fact]), int(agent.graph.relation[fact])
    target = int(agent.graph.candidates_of(r)[place])
    return agent.tell(EditRequest(s, r, target, weight))


def _draw_edits(agent: DerivedAgent, rng: np.random.Generator) -> Iterator[tuple[int, np.ndarray, list[int]]]:
    """Some facts that take evidence, their beliefs, and the facts that an edit of them may move."""
    graph, found = agent.graph, 0
    for fact in rng.permutation(len(graph)).tolist():
        s, r = int(graph.subject[fact]), int(graph.relation[fact])
        if agent.accepts(s, r, "evidence"):
            related = agent.relate_facts(s, r)
            others = rng.permutation(related)[:MOST_FACTS].tolist()
            yield fact, _ask(agent, [fact])[0], [*dict.fromkeys([fact, *others])]
            found += 1
        if found == MOST_FACTS:
            return


def _distance(before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> float:
    return max(0.5 * float(np.abs(p - q).sum()) for p, q in zip(before, after, strict=True))


def _miss_of_sums(agent: DerivedAgent, _: np.random.Generator) -> float:
    beliefs = _ask(agent, range(min(len(agent.graph), 200)))
    return max(max(abs(float(p.sum()) - 1), float(max(-p.min(), 0.0))) for p in beliefs)


def _surprise(agent: DerivedAgent, rng: np.random.Generator) -> float:
    """By P(y) = P(x) P(y | x) + ..., knowing x moves y by at most the doubt of x."""
    worst = 0.0
    for fact, belief, facts in _draw_edits(agent, rng):
        place = int(belief.argmax())
        for weight in (1.0, CERTAIN):
            moved = _distance(_ask(agent, facts), _ask(_tell(agent, fact, place, weight), facts))
            worst = max(worst, moved - (1 - float(belief[place])))
    return worst


def _miss_of_opposites(agent: DerivedAgent, rng: np.random.Generator) -> float:
    worst = 0.0
    for fact, belief, facts in _draw_edits(agent, rng):
        told = agent
        for place in np.flatnonzero(belief > 0).tolist():
            told = _tell(told, fact, place, 2.0)
        worst = max(worst, _distance(_ask(agent, facts), _ask(told, facts)))
    return worst


def _miss_of_order(agent: DerivedAgent, rng: np.random.Generator) -> float:
    worst = 0.0
    for fact, belief, facts in _draw_edits(agent, rng):
        other = facts[-1]
        first = fact, int(rng.choice(np.flatnonzero(belief > 0))), 1.5
        second = other, int(rng.choice(np.flatnonzero(_ask(agent, [other])[0] > 0))), 0.5
        one, two = _tell(_tell(agent, *first), *second), _tell(_tell(agent, *second), *first)
        worst = max(worst, _distance(_ask(one, facts), _ask(two, facts)))
    return worst


def _miss_of_means(agent: DerivedAgent, rng: np.random.Generator) -> float:
    worst = 0.0
    for fact, belief, facts in _draw_edits(agent, rng):
        places = np.flatnonzero(belief > 0).tolist()
        told = [_ask(_tell(agent, fact, place, CERTAIN), facts) for place in places]
        means = [
            sum(belief[k] * p for k, p in zip(places, of, strict=True)) for of in zip(*told, strict=True)
        ]
        worst = max(worst, _distance(_ask(agent, facts), means))
    return worst


def _miss_of_credence(agent: DerivedAgent, rng: np.random.Generator) -> float:
    worst = 0.0
    for fact, belief, _ in _draw_edits(agent, rng):
        s, r = int(agent.graph.subject[fact]), int(agent.graph.relation[fact])
        place = int(rng.choice(np.flatnonzero(belief > 0)))
        try:
            weight = agent.weight_for(s, r, int(agent.graph.candidates_of(r)[place]), 0.95)
        except InputError:
            return np.inf
        wanted = 0.95 if belief[place] < 0.95 else (1 + belief[place]) / 2
        worst = max(worst, abs(float(_ask(_tell(agent, fact, place, weight), [fact])[0][place]) - wanted))
    return worst


def _miss_of_simulation(unread: DerivedAgent, rng: np.random.Generator, simulated: int) -> float | None:
    """Standard deviations, one world added, between beliefs and simulated worlds where a fact is so, or two.

    The agent has read nothing but is told these facts, which are related. None where nobody can simulate.
    """
    world, graph = unread.world, unread.graph
    where = find_own_facts(world, graph)
    drawn = np.empty((simulated, len(graph)), int)
    for row in drawn:
        objects = world.draw_objects(rng)
        if objects is None:
            return None
        row[where] = _places_of(world, objects)
    orders = {r: np.array(unread.order_of(r)) for r in range(len(graph.relations))}
    worst = 0.0
    for _, _, facts in _draw_edits(unread, rng):
        agent, like = unread, np.ones(simulated, bool)
        for other in facts[:2]:
            order = orders[int(graph.relation[other])]
            place = int(np.argmax([(like & (drawn[:, other] == o)).sum() for o in order]))
            agent, like = _tell(agent, other, place, CERTAIN), like & (drawn[:, other] == order[place])
            count = int(like.sum())
            for third, belief in zip(facts, _ask(agent, facts), strict=True):
                order = orders[int(graph.relation[third])]
                shares = np.array([(drawn[like, third] == o).mean() for o in order])
                spread = np.sqrt(belief * (1 - belief) / count) + 1 / count
                worst = max(worst, float((np.abs(shares - belief) / spread).max()))
    return worst


def _places_of(world: OwnWorld, objects: Sequence[str]) -> list[int]:
    """Of each fact, where the object that was drawn for it stands among its candidates."""
    if len(objects) != len(world.facts):
        raise InputError(f"draw_objects gave {len(objects):,} objects for {len(world.facts):,} facts")
    pools = [world.candidates[fact.relation] for fact in world.facts]
    for fact, pool, drawn in zip(world.facts, pools, objects, strict=True):
        if drawn not in pool:
            raise InputError(f"draw_objects gave {drawn!r}, which is no candidate of {fact.relation!r}")
    return [pool.index(drawn) for pool, drawn in zip(pools, objects, strict=True)]


CHECKS = (
    ("beliefs sum to one", _miss_of_sums, TOLERANCE),
    ("the believed moves nothing by more than its doubt", _surprise, TOLERANCE),
    ("as much evidence for all candidates cancels", _miss_of_opposites, TOLERANCE),
    ("the order of evidence plays no part", _miss_of_order, TOLERANCE),
    ("beliefs are the mean of later ones", _miss_of_means, TOLERANCE),
    ("an edit brings a request to its credence", _miss_of_credence, 1e-6),
)
