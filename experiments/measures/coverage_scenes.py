"""What coverage is simulated on: who depends on whom, and values whose true mean, ratio or share is known."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from testbed.scores.jackknife import Clusters, number_clusters
from testbed.scores.metric import DISTANCE, Metric
from testbed.scores.statistics import LEAST, WORLD

MOVES = 0.36
"""Share of cases where the agent moves, of those that the demo's propagation ratio counts."""


class Scene(NamedTuple):
    """Who shares what.

    Attributes:
        draw: the levels of some cases.
        dependence: by level, the share of a value's variance that is its clusters'; several to try.
    """

    draw: Callable[[np.random.Generator], Clusters]
    dependence: Sequence[Mapping[str, float]]


def one_world(cases: int, objects: int, power: float = 0.85) -> Callable[[np.random.Generator], Clusters]:
    """Every case has a subject of its own; objects are drawn by Zipf's law."""
    return several_worlds(1, cases, objects, power)


def several_worlds(
    count: int, cases: int = 86, objects: int = 120, power: float = 0.85
) -> Callable[[np.random.Generator], Clusters]:
    """Cases of several worlds, each with its own subjects and objects."""

    def draw_clusters(rng: np.random.Generator) -> Clusters:
        world = np.repeat(np.arange(count), cases)
        named = world * objects + draw_zipf(rng, count * cases, objects, power)
        levels = {"subject": np.arange(count * cases), "object": named}
        return levels | ({WORLD: world} if count > 1 else {})

    return draw_clusters


def several_seeds(rng: np.random.Generator) -> Clusters:
    """Three seeds of one world: 40 subjects return with other objects."""
    return {"subject": rng.integers(0, 40, 120), "object": draw_zipf(rng, 120, 60, 0.85)}


def edit_sequences(count: int) -> Callable[[np.random.Generator], Clusters]:
    """Sequences of 25 edits, whose objects appear in several."""
    return lambda rng: {
        "sequence": np.repeat(np.arange(count), 25),
        "object": draw_zipf(rng, 25 * count, 80, 0.85),
    }


def few_objects(counts: Sequence[int]) -> Callable[[np.random.Generator], Clusters]:
    """So many cases on each of some objects, each of a subject of its own."""
    shared = np.repeat(np.arange(len(counts)), counts)
    return lambda _: {"subject": np.arange(len(shared)), "object": shared}


def draw_zipf(rng: np.random.Generator, cases: int, objects: int, power: float) -> np.ndarray:
    """int[cases]: objects, the n-th most popular with a probability in proportion to n^-power."""
    weights = np.arange(1, objects + 1) ** -power
    return rng.choice(objects, cases, p=weights / weights.sum())


BY_OBJECT: tuple[dict[str, float], ...] = ({}, {"object": 0.4}, {"object": 0.8})
SCENES = {
    "86 cases, ~52 objects": Scene(one_world(86, 120), BY_OBJECT),
    "240 cases, ~90 objects": Scene(one_world(240, 150), BY_OBJECT),
    "22 cases, 7 objects": Scene(few_objects((8, 5, 3, 2, 2, 1, 1)), BY_OBJECT),
    "19 cases, 3 objects": Scene(few_objects((10, 5, 4)), BY_OBJECT[1:2]),
    "3 seeds": Scene(several_seeds, ({}, {"subject": 0.15, "object": 0.15}, {"subject": 0.3, "object": 0.3})),
    "2 sequences": Scene(edit_sequences(2), ({"sequence": 0.2, "object": 0.2},)),
    "8 sequences": Scene(edit_sequences(8), ({}, {"sequence": 0.2, "object": 0.2})),
    "2 worlds": Scene(several_worlds(2), ({"object": 0.2}, {"object": 0.2, WORLD: 0.1})),
    "3 worlds": Scene(several_worlds(3), ({"object": 0.2}, {"object": 0.2, WORLD: 0.1})),
    "5 worlds": Scene(several_worlds(5), ({"object": 0.2}, {"object": 0.2, WORLD: 0.1})),
    "10 worlds": Scene(several_worlds(10), ({"object": 0.2, WORLD: 0.1},)),
}

COMPARED = {
    "86 cases, ~52 objects": BY_OBJECT[1],
    "3 seeds": {"subject": 0.3, "object": 0.3},
    "8 sequences": {"sequence": 0.2, "object": 0.2},
    "3 worlds": {"object": 0.2},
    "5 worlds": {"object": 0.2, WORLD: 0.1},
    "10 worlds": {"object": 0.2, WORLD: 0.1},
}
"""Whose paired differences are tested, with what dependence; of three worlds, none that is theirs."""
RATES = {
    "share of .5": (0.5,),
    "share of .9": (0.88, 0.9, 0.92),
    "share near 1": (0.96, 0.97, 0.98),
    "share near 0": (0.01, 0.02, 0.03),
}
DAMAGES = {
    "damage, 50% zeros": (0.5, 0.5, 3.0),
    "damage, 70% zeros": (0.7, 0.5, 3.0),
    "damage, 80% zeros": (0.8, 0.7, 2.0),
    "damage, 90% zeros": (0.9, 0.5, 3.0),
    "heavy damage, 60% zeros": (0.6, 0.3, 4.0),
}
"""Share of zeros, and the two shapes of what is above 0: Kumaraswamy's distribution (1980), whose deviation
is 1.4 and 2.5 times its mean. In the demo it is .5 to 2.1 times, by role and editor; 4 to 91% are zeros."""
KINDS = ("mean", "skewed mean", "ratio", *RATES, *DAMAGES)
_QUANTILES = ndtri((np.arange(2000) + 0.5) / 2000)


class SimulatedValues(NamedTuple):
    """Simulated values: float64[E, R] numerators and denominators, and float64[R] what is true."""

    top: np.ndarray
    bottom: np.ndarray
    truth: np.ndarray
    share: bool = False
    limits: tuple[float, float] = (-np.inf, np.inf)

    def metrics(self) -> list[Metric]:
        """One a replicate."""
        columns = zip(self.top.T, self.bottom.T, strict=True)
        return [Metric(a, b, self.share, self.limits) for a, b in columns]


def draw_values(
    rng: np.random.Generator, kind: str, clusters: Clusters, dependence: Mapping[str, float], replicates: int
) -> SimulatedValues:
    """Values of one of KINDS for every case."""
    normal = kind not in ("skewed mean", "ratio")

    def draw_effects(number: int) -> np.ndarray:
        shape = (number, replicates)
        return rng.normal(size=shape) if normal else rng.exponential(size=shape) - 1

    groups = number_clusters(clusters, np.ones(len(clusters["object"]), bool))
    value = np.sqrt(1 - sum(dependence.values())) * draw_effects(len(groups["object"]))
    world = np.zeros_like(value)
    for level, part in dependence.items():
        shared = np.sqrt(part) * draw_effects(groups[level].max() + 1)[groups[level]]
        value += shared
        world += shared * (level == WORLD and groups[level].max() + 1 < LEAST)
    # What is true is so of all worlds, or of these few alone.
    world_variance = dependence.get(WORLD, 0.0) if world.any() else 0.0
    ones = np.ones_like(value)
    if kind in RATES:
        rate = ndtri(rng.choice(RATES[kind], replicates))
        return SimulatedValues(
            (value < rate) * ones, ones, ndtr((rate - world) / np.sqrt(1 - world_variance)).mean(0), True
        )
    if kind in DAMAGES:
        truth = mean_damage(kind, world, np.sqrt(1 - world_variance)).mean(0)
        return SimulatedValues(damage_at(kind, value), ones, truth, limits=DISTANCE)
    if kind != "ratio":
        return SimulatedValues(value, ones, world.mean(0))
    agent_moves = np.where(
        rng.random(value.shape) < MOVES,
        rng.uniform(0.4, 1.1, value.shape),
        0.04 * rng.exponential(size=value.shape),
    )
    return SimulatedValues(agent_moves * (0.3 + 0.35 * value), agent_moves, 0.3 + 0.35 * world.mean(0))


def damage_at(kind: str, normal: np.ndarray) -> np.ndarray:
    """float64[...]: the damage that has the quantile of a standard normal value; one of DAMAGES."""
    zeros, first, second = DAMAGES[kind]
    quantile = np.clip((ndtr(normal) - zeros) / (1 - zeros), 0, 1)
    return (1 - (1 - quantile) ** (1 / second)) ** (1 / first)


def mean_damage(kind: str, middle: np.ndarray, deviation: float) -> np.ndarray:
    """float64[...]: the mean of `damage_at` normal values around each middle, from 2000 quantiles."""
    distinct, which = np.unique(middle, return_inverse=True)
    means = [damage_at(kind, one + deviation * _QUANTILES).mean() for one in distinct]
    return np.array(means)[which].reshape(middle.shape)
