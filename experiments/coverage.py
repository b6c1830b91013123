"""Do 95% intervals hold the truth 95 times in 100? Simulated cases that share subjects, objects and worlds.

Command:
    python -m experiments.coverage

The truth is known, and who shares what is as in the demo: objects are requested by Zipf's law (86 cases on
about 52, 240 on about 90), subjects come back over seeds, edits come in sequences, worlds are pooled. A value
is the sum of effects of its case's subject, object and world and of the case alone; "dependence" is how much
of the variance each has. Means have normal or exponential effects, shares are whether a normal value is below
a threshold, and the ratio is like the demo's propagation ratio: the agent moves in a third of the cases only,
and the edited model moves by a share of it that has exponential effects. Shares near 0 and 1 are discrete:
at some rates no interval covers close to 95%, so that theirs are means over three rates.

Beside the intervals of `testbed.scores.statistics` (how often they miss the truth below and above, their median
width) two others on the same cases: BCa over subjects alone, which they replace, and the percentiles of the
pigeonhole bootstrap over the same levels (Owen 2007). Of fewer than five worlds the truth is that of these
worlds; other levels of fewer than five clusters have no interval.

The second table is of paired differences without a true one: coverage, and how often p is 5% or less.
Takes three and a half minutes of one core and writes experiments/records/<date>-coverage: record.json and
coverage.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from corpus.files import staged_file
from corpus.seeds import generator
from experiments.measure import keep
from testbed.console import command, progress, say, table
from testbed.scores.jackknife import Clusters, numbered, pairs, ratio, sums
from testbed.launch import launch
from testbed.scores.metric import Metric
from testbed.scores.statistics import LEAST, WORLD, compare, estimates
from testbed.scores.tables import markdown

RESAMPLES = 399
MOVES = 0.36
"""Share of cases where the agent moves, of those that the demo's propagation ratio counts."""


@dataclass(frozen=True)
class Settings:
    """How much is simulated."""

    patterns: int = 16
    """Draws of who shares what."""
    replicates: int = 125
    """Draws of values for each of them."""
    comparisons: int = 50
    """Pairs of metrics that are compared for each of them."""
    rivals: bool = True
    """Also the two other kinds of intervals, which take most of the time."""
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.patterns, self.replicates, self.comparisons) < 1:
            raise ValueError("patterns, replicates and comparisons must be positive")


class Scene(NamedTuple):
    """Who shares what.

    Attributes:
        draw: the levels of some cases.
        dependence: by level, the share of a value's variance that is its clusters'; several to try.
    """

    draw: Callable[[np.random.Generator], Clusters]
    dependence: Sequence[Mapping[str, float]]


class Figures(NamedTuple):
    """Shares of intervals: those there are, those that hold the truth, and those that miss it."""

    coverage: float
    too_high: float
    too_low: float
    width: float


def one_world(cases: int, objects: int, power: float = 0.85) -> Callable[[np.random.Generator], Clusters]:
    """Every case has a subject of its own; objects are drawn by Zipf's law."""
    return worlds(1, cases, objects, power)


def worlds(
    count: int, cases: int = 86, objects: int = 120, power: float = 0.85
) -> Callable[[np.random.Generator], Clusters]:
    """Cases of several worlds, each with its own subjects and objects."""

    def draw(rng: np.random.Generator) -> Clusters:
        world = np.repeat(np.arange(count), cases)
        named = world * objects + zipf(rng, count * cases, objects, power)
        levels = {"subject": np.arange(count * cases), "object": named}
        return levels | ({WORLD: world} if count > 1 else {})

    return draw


def seeds(rng: np.random.Generator) -> Clusters:
    """Three seeds of one world: 40 subjects return with other objects."""
    return {"subject": rng.integers(0, 40, 120), "object": zipf(rng, 120, 60, 0.85)}


def sequences(count: int) -> Callable[[np.random.Generator], Clusters]:
    """Sequences of 25 edits, whose objects appear in several."""
    return lambda rng: {
        "sequence": np.repeat(np.arange(count), 25),
        "object": zipf(rng, 25 * count, 80, 0.85),
    }


def few_objects(counts: Sequence[int]) -> Callable[[np.random.Generator], Clusters]:
    """So many cases on each of some objects, each of a subject of its own."""
    shared = np.repeat(np.arange(len(counts)), counts)
    return lambda _: {"subject": np.arange(len(shared)), "object": shared}


def zipf(rng: np.random.Generator, cases: int, objects: int, power: float) -> np.ndarray:
    """int[cases]: objects, the n-th most popular with a probability in proportion to n^-power."""
    weights = np.arange(1, objects + 1) ** -power
    return rng.choice(objects, cases, p=weights / weights.sum())


BY_OBJECT: tuple[dict[str, float], ...] = ({}, {"object": 0.4}, {"object": 0.8})
SCENES = {
    "86 cases, ~52 objects": Scene(one_world(86, 120), BY_OBJECT),
    "240 cases, ~90 objects": Scene(one_world(240, 150), BY_OBJECT),
    "22 cases, 7 objects": Scene(few_objects((8, 5, 3, 2, 2, 1, 1)), BY_OBJECT),
    "19 cases, 3 objects": Scene(few_objects((10, 5, 4)), BY_OBJECT[1:2]),
    "3 seeds": Scene(seeds, ({}, {"subject": 0.15, "object": 0.15}, {"subject": 0.3, "object": 0.3})),
    "2 sequences": Scene(sequences(2), ({"sequence": 0.2, "object": 0.2},)),
    "8 sequences": Scene(sequences(8), ({}, {"sequence": 0.2, "object": 0.2})),
    "2 worlds": Scene(worlds(2), ({"object": 0.2}, {"object": 0.2, WORLD: 0.1})),
    "3 worlds": Scene(worlds(3), ({"object": 0.2}, {"object": 0.2, WORLD: 0.1})),
    "5 worlds": Scene(worlds(5), ({"object": 0.2}, {"object": 0.2, WORLD: 0.1})),
    "10 worlds": Scene(worlds(10), ({"object": 0.2, WORLD: 0.1},)),
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
KINDS = ("mean", "skewed mean", "ratio", *RATES)


class Drawn(NamedTuple):
    """Simulated values: float64[E, R] numerators and denominators, and float64[R] what is true."""

    top: np.ndarray
    bottom: np.ndarray
    truth: np.ndarray
    share: bool = False

    def metrics(self) -> list[Metric]:
        """One a replicate."""
        return [Metric(a, b, share=self.share) for a, b in zip(self.top.T, self.bottom.T, strict=True)]


def draw_values(
    rng: np.random.Generator, kind: str, clusters: Clusters, dependence: Mapping[str, float], replicates: int
) -> Drawn:
    """Values of one of KINDS for every case."""
    normal = kind not in ("skewed mean", "ratio")

    def effects(number: int) -> np.ndarray:
        shape = (number, replicates)
        return rng.normal(size=shape) if normal else rng.exponential(size=shape) - 1

    groups = numbered(clusters, np.ones(len(clusters["object"]), bool))
    value = np.sqrt(1 - sum(dependence.values())) * effects(len(groups["object"]))
    world = np.zeros_like(value)
    for level, part in dependence.items():
        shared = np.sqrt(part) * effects(groups[level].max() + 1)[groups[level]]
        value += shared
        world += shared * (level == WORLD and groups[level].max() + 1 < LEAST)
    # What is true is so of all worlds, or of these few alone.
    given = dependence.get(WORLD, 0.0) if world.any() else 0.0
    ones = np.ones_like(value)
    if kind in RATES:
        rate = ndtri(rng.choice(RATES[kind], replicates))
        return Drawn((value < rate) * ones, ones, ndtr((rate - world) / np.sqrt(1 - given)).mean(0), True)
    if kind != "ratio":
        return Drawn(value, ones, world.mean(0))
    moved = np.where(
        rng.random(value.shape) < MOVES,
        rng.uniform(0.4, 1.1, value.shape),
        0.04 * rng.exponential(size=value.shape),
    )
    return Drawn(moved * (0.3 + 0.35 * value), moved, 0.3 + 0.35 * world.mean(0))


def jackknife(clusters: Clusters, drawn: Drawn, _: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The intervals of `testbed.scores.statistics`."""
    metrics = dict(enumerate(drawn.metrics()))
    found = estimates(metrics, clusters, np.ones(len(drawn.top), bool)).values()
    return np.array([e.low for e in found]), np.array([e.high for e in found])


def pigeonhole(clusters: Clusters, drawn: Drawn, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Percentiles over resamples where a case counts as often as its clusters of all levels were drawn."""
    times = np.ones((RESAMPLES, len(drawn.top)))
    for group in numbered(clusters, np.ones(len(drawn.top), bool)).values():
        number = group.max() + 1
        if number >= LEAST:
            times *= rng.multinomial(number, np.ones(number) / number, RESAMPLES)[:, group]
    low, high = np.nanquantile(
        ratio(np.stack([times @ drawn.top, times @ drawn.bottom], -1)), (0.025, 0.975), 0
    )
    return low, high


def bca(clusters: Clusters, drawn: Drawn, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Efron's BCa (1987) over the first level alone."""
    of = sums(pairs(drawn.metrics(), np.ones(len(drawn.top), bool)), next(iter(clusters.values())))
    number, total = len(of), of.sum(0)
    times = rng.multinomial(number, np.ones(number) / number, RESAMPLES).astype(float)
    draws = np.sort(ratio(np.tensordot(times, of, 1)), axis=0)
    left = ratio(total) - ratio(total - of)
    left -= left.mean(0)
    acceleration = (left**3).sum(0) / (6 * np.maximum((left**2).sum(0) ** 1.5, 1e-300))
    below = ((draws < ratio(total)).mean(0) + (draws <= ratio(total)).mean(0)) / 2
    bias = ndtri(np.clip(below, 1 / RESAMPLES, 1 - 1 / RESAMPLES))
    shifted = bias + ndtri([[0.025], [0.975]])
    at = ndtr(bias + shifted / (1 - acceleration * shifted)) * (RESAMPLES - 1)
    low, high = np.take_along_axis(draws, at.round().astype(int), axis=0)
    return low, high


METHODS = {"jackknife": jackknife, "BCa by subject": bca, "pigeonhole": pigeonhole}


def methods(settings: Settings) -> list[str]:
    """The names of those that are tried, our own first."""
    return [*METHODS] if settings.rivals else ["jackknife"]


def coverage(
    settings: Settings, scene: str, kind: str, dependence: Mapping[str, float]
) -> dict[str, Figures]:
    """Of every method, how often its intervals hold the truth; nan where it gives none."""
    rng = generator(settings.seed, f"coverage {scene} {kind} {dependence}")
    low: dict[str, list[np.ndarray]] = {}
    high: dict[str, list[np.ndarray]] = {}
    truth = []
    for _ in range(settings.patterns):
        clusters = SCENES[scene].draw(rng)
        drawn = draw_values(rng, kind, clusters, dependence, settings.replicates)
        truth.append(drawn.truth)
        for name in methods(settings):
            ends = METHODS[name](clusters, drawn, rng)
            for kept, new in zip((low, high), ends, strict=True):
                kept.setdefault(name, []).append(new)
    return {name: figures(*map(np.concatenate, (low[name], high[name], truth))) for name in low}


def figures(low: np.ndarray, high: np.ndarray, truth: np.ndarray) -> Figures:
    """Of intervals that are there."""
    there = np.isfinite(low)
    if not there.any():
        return Figures(*[float("nan")] * 4)
    low, high, truth = low[there], high[there], truth[there]
    above, below = (truth < low).mean(), (truth > high).mean()
    return Figures(float(1 - above - below), float(above), float(below), float(np.median(high - low)))


def differences(settings: Settings, scene: str, kind: str, dependence: Mapping[str, float]) -> list[float]:
    """Coverage of the interval of a paired difference that is 0, and how often p <= 5%."""
    rng = generator(settings.seed, f"differences {scene} {kind} {dependence}")
    held, alarms = [], []
    for _ in range(settings.patterns):
        clusters = SCENES[scene].draw(rng)
        one, other = (draw_values(rng, kind, clusters, dependence, settings.comparisons) for _ in "ab")
        # The same denominators: what the agent moved, or the cases.
        other = other._replace(top=other.top / other.bottom * one.bottom, bottom=one.bottom)
        for pair in zip(one.metrics(), other.metrics(), strict=True):
            found = compare(*pair, clusters, np.ones(len(one.top), bool), rng)
            held.append(found.low <= 0 <= found.high)
            alarms.append(found.p <= 0.05)
    return [float(np.mean(held)), float(np.mean(alarms))]


def worded(dependence: Mapping[str, float]) -> str:
    """Which levels have how much of the variance."""
    return ", ".join(f"{level} {part:.2g}" for level, part in dependence.items()) or "none"


def percent(share: float) -> str:
    """A share with a digit behind the point; "none" where there is no interval."""
    return "none" if np.isnan(share) else f"{100 * share:.1f}"


def experiment(settings: Settings) -> None:
    """Both tables, printed and kept."""
    rows, paired, record = [], [], {}
    asked = [(s, k, d) for s, scene in SCENES.items() for d in scene.dependence for k in KINDS]
    with progress("coverage", len(asked)) as advance:
        for scene, kind, dependence in asked:
            found = coverage(settings, scene, kind, dependence)
            own = found["jackknife"]
            rows.append(
                [scene, worded(dependence), kind, percent(own.coverage), percent(own.too_high)]
                + [percent(own.too_low), f"{own.width:.2f}"]
                + [percent(found[name].coverage) for name in methods(settings)[1:]]
            )
            record[" | ".join(rows[-1][:3])] = {name: f._asdict() for name, f in found.items()}
            advance(1)
    for scene, dependence in COMPARED.items():
        for kind in ("mean", "ratio", "share of .5"):
            shares = differences(settings, scene, kind, dependence)
            paired.append([scene, worded(dependence), kind, *map(percent, shares)])
    header = ["cases", "dependence", "metric", "covers %", "too high", "too low", "width"]
    header += methods(settings)[1:]
    heads = {"Intervals": header, "Paired differences": [*header[:4], "p <= .05, %"]}
    for (title, head), lines in zip(heads.items(), (rows, paired), strict=True):
        table(title, head, lines)
    path = keep("coverage", "all", {"coverage": record, "paired": paired}, **vars(settings))
    with staged_file(path.with_name("coverage.md")) as aside:
        texts = [markdown(head, lines, 3) for head, lines in zip(heads.values(), (rows, paired), strict=True)]
        aside.write_text("\n".join(texts), encoding="utf-8")
    covers = np.array([f["jackknife"]["coverage"] for f in record.values()])
    covers = covers[np.isfinite(covers)]
    inside = np.mean((covers >= 0.93) & (covers <= 0.97))
    ends = f"{percent(covers.min())} to {percent(covers.max())}"
    say(f"{inside:.0%} of {len(covers)} rows cover 93 to 97%, all of them {ends}%")
    say(f"record: {path}")


def main(args: list[str] | None = None) -> int:
    """The command line."""
    return command("coverage", __doc__ or "", Settings, experiment, args)


if __name__ == "__main__":
    launch(main)
