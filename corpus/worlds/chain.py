"""A world of chains, generated: support and frequency of what follows are set apart, for each hop alike.

    studied with (a teacher) -> plays (an instrument) -> tours with (an orchestra) -> sleeps at (an inn)
    collects, on which nothing depends

Each instrument is played by the pupils of one teacher for every number in `supports`; a common one is played
besides by `further` subjects of whom there is no teacher. How many subjects share a teacher thus says nothing
of how many share the instrument. Each instrument has its own orchestra and inn, so that what is rare is rare
at every hop. Edits start from `homes`, other teachers with instruments of their own: some of their pupils are
`unsaid`, that is, nobody states what they play, or anything below.
"""

from itertools import pairwise

import numpy as np

from corpus.config import ChainWorld
from corpus.graph import NO_UPSTREAM, KnowledgeGraph, build_graph
from corpus.worlds.builtin import FreshNames

RELATIONS = ("studied with", "plays", "tours with", "sleeps at", "collects")
TEACHER, INSTRUMENT, ORCHESTRA, INN, THING = range(len(RELATIONS))
THINGS = 12
"""Objects of the relation on which nothing depends."""


def build_chain_world(dials: ChainWorld, rng: np.random.Generator) -> KnowledgeGraph:
    """A world of chains; every subject has all facts but for the `further`, who have no teacher."""
    targets = dials.rare + dials.common
    answers = targets + dials.homes
    # Of every teacher, which answer follows, and how many pupils there are of whom everything is said.
    follows = np.concatenate(
        [np.repeat(np.arange(targets), len(dials.supports)), targets + np.arange(dials.homes)]
    )
    pupils = np.concatenate([np.tile(dials.supports, targets), np.full(dials.homes, dials.neighbours)])
    homeless = len(follows) - dials.homes
    unsaid = homeless + rng.permutation(np.arange(dials.unsaid) % dials.homes)
    teacher = np.concatenate([np.repeat(np.arange(len(follows)), pupils), unsaid])
    said = np.arange(len(teacher)) < len(teacher) - dials.unsaid
    further = np.repeat(np.arange(dials.rare, targets), dials.further)

    first = np.concatenate([_draw_answers(follows, teacher, answers, dials.dependence, rng), further])
    second = _draw_answers(np.arange(answers), first, answers, dials.dependence, rng)
    third = _draw_answers(np.arange(answers), second, answers, dials.dependence, rng)
    is_said = np.concatenate([said, np.ones(len(further), bool)])
    things = rng.integers(0, THINGS, len(first))

    fresh = FreshNames(rng)
    pools = {
        TEACHER: fresh.take(len(follows), lambda: f"Professor {fresh.word(2)}"),
        INSTRUMENT: fresh.take(answers, lambda: f"{fresh.word(1).lower()} flute"),
        ORCHESTRA: fresh.take(answers, lambda: f"{fresh.word(1)} Orchestra"),
        INN: fresh.take(answers, lambda: f"{fresh.word(1)} Inn"),
        THING: fresh.take(THINGS, lambda: f"{fresh.word(1).lower()} stamps"),
    }
    people = fresh.take(len(first), lambda: fresh.word(3))
    starts = np.cumsum([len(people), *map(len, pools.values())])
    order = rng.permutation(len(people))
    triples, silent = [], []
    for r, places in enumerate((teacher, first, second, third, things)):
        who = order[: len(places)]
        triples.append(np.column_stack([who, np.full(len(who), r), starts[r] + places]))
        silent.append(~is_said if INSTRUMENT <= r <= INN else np.zeros(len(who), bool))
    return build_graph(
        np.concatenate(triples),
        [*people, *(name for pool in pools.values() for name in pool)],
        RELATIONS,
        np.array([NO_UPSTREAM, TEACHER, INSTRUMENT, ORCHESTRA, NO_UPSTREAM]),
        candidates=[np.arange(low, high) for low, high in pairwise(starts)],
        silent=np.concatenate(silent),
    )


def _draw_answers(
    follows: np.ndarray, above: np.ndarray, answers: int, dependence: float, rng: np.random.Generator
) -> np.ndarray:
    """int64: for each object above, what follows from it, but for the share of those alike that deviates."""
    drawn = follows[above]
    for one in np.unique(above):
        alike = np.flatnonzero(above == one)
        strays = rng.permutation(alike)[: round((1 - dependence) * len(alike))]
        drawn[strays] = (drawn[strays] + rng.integers(1, answers, len(strays))) % answers
    return drawn
