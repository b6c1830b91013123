"""Do 95% intervals hold the truth 95 times in 100? Simulated cases that share subjects, objects and worlds.

Commands:
    python -m experiments.coverage
    python -m experiments.coverage --damage --seed 1      (ten times as often: a row is then known to .2%)

The truth is known, and who shares what is as in the demo: objects are requested by Zipf's law (86 cases on
about 52, 240 on about 90), subjects come back over seeds, edits come in sequences, worlds are pooled. A value
is the sum of effects of its case's subject, object and world and of the case alone; "dependence" is how much
of the variance each has. Means have normal or exponential effects, shares are whether a normal value is below
a threshold, damage is 0 in most cases and skewed in the others, and the ratio is like the demo's propagation
ratio: the agent moves in a third of the cases only, and the edited model moves by a share of it that has
exponential effects. Shares near 0 and 1 are discrete:
at some rates no interval covers close to 95%, so that theirs are means over three rates.

Beside the intervals of `scores.statistics` (how often they miss the truth below and above, their median
width) two others on the same cases: BCa over subjects alone, which they replace, and the percentiles of the
pigeonhole bootstrap over the same levels (Owen 2007). Of fewer than five worlds the truth is that of these
worlds; other levels of fewer than five clusters have no interval.

The second table is of paired differences without a true one: coverage, and how often p is 5% or less, of
those that have a p. Draws in which damage is 0 in every case count as any other.
Takes six minutes of one core, as long again for damage alone, and writes experiments/records/<date>-coverage.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from corpus.seeds import generator
from experiments.benchmarks.harness import record_stage
from experiments.command import launch_module
from experiments.measures.coverage_scenes import (
    COMPARED,
    DAMAGES,
    KINDS,
    SCENES,
    SimulatedValues,
    draw_values,
)
from testbed.console import say, show_progress
from testbed.scores.jackknife import Clusters, cluster_sums, metric_pairs, number_clusters, ratio
from testbed.scores.statistics import LEAST, compare_metrics, estimate_metrics
from testbed.scores.tables import Cell, Table, markdown_section

RESAMPLES = 399
HEAD = ["cases", "dependence", "metric", "covers %"]


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
    damage: bool = False
    """Only damage and our own intervals, in ten times as many draws of who shares what."""
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.patterns, self.replicates, self.comparisons) < 1:
            raise ValueError("patterns, replicates and comparisons must be positive")


class Figures(NamedTuple):
    """Shares of intervals: those there are, those that hold the truth, and those that miss it."""

    coverage: float
    too_high: float
    too_low: float
    width: float


def jackknife_interval(
    clusters: Clusters, values: SimulatedValues, _: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The intervals of `testbed.scores.statistics`."""
    metrics = dict(enumerate(values.metrics()))
    intervals = estimate_metrics(metrics, clusters, np.ones(len(values.top), bool)).values()
    return np.array([e.low for e in intervals]), np.array([e.high for e in intervals])


def pigeonhole_interval(
    clusters: Clusters, values: SimulatedValues, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Percentiles over resamples where a case counts as often as its clusters of all levels were drawn."""
    times = np.ones((RESAMPLES, len(values.top)))
    for group in number_clusters(clusters, np.ones(len(values.top), bool)).values():
        number = group.max() + 1
        if number >= LEAST:
            times *= rng.multinomial(number, np.ones(number) / number, RESAMPLES)[:, group]
    low, high = np.nanquantile(
        ratio(np.stack([times @ values.top, times @ values.bottom], -1)), (0.025, 0.975), 0
    )
    return low, high


def bca_interval(
    clusters: Clusters, values: SimulatedValues, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Efron's BCa (1987) over the first level alone."""
    of = cluster_sums(
        metric_pairs(values.metrics(), np.ones(len(values.top), bool)), next(iter(clusters.values()))
    )
    number, total = len(of), of.sum(0)
    times = rng.multinomial(number, np.ones(number) / number, RESAMPLES).astype(float)
    draws = np.sort(ratio(np.tensordot(times, of, 1)), axis=0)
    jackknife = ratio(total) - ratio(total - of)
    jackknife -= jackknife.mean(0)
    acceleration = (jackknife**3).sum(0) / (6 * np.maximum((jackknife**2).sum(0) ** 1.5, 1e-300))
    below = ((draws < ratio(total)).mean(0) + (draws <= ratio(total)).mean(0)) / 2
    bias = ndtri(np.clip(below, 1 / RESAMPLES, 1 - 1 / RESAMPLES))
    shifted = bias + ndtri([[0.025], [0.975]])
    at = ndtr(bias + shifted / (1 - acceleration * shifted)) * (RESAMPLES - 1)
    low, high = np.take_along_axis(draws, at.round().astype(int), axis=0)
    return low, high


METHODS = {"jackknife": jackknife_interval, "BCa by subject": bca_interval, "pigeonhole": pigeonhole_interval}


def method_names(settings: Settings) -> list[str]:
    """The names of those that are tried, our own first."""
    return [*METHODS] if settings.rivals else ["jackknife"]


def summarise_intervals(low: np.ndarray, high: np.ndarray, truth: np.ndarray) -> Figures:
    """Of intervals that are there."""
    there = np.isfinite(low)
    if not there.any():
        return Figures(*[float("nan")] * 4)
    low, high, truth = low[there], high[there], truth[there]
    above, below = (truth < low).mean(), (truth > high).mean()
    covers = round(float(1 - above - below), 9)
    return Figures(covers, float(above), float(below), float(np.median(high - low)))


def difference_coverage(
    settings: Settings, scene: str, kind: str, dependence: Mapping[str, float]
) -> list[float]:
    """Coverage of the interval of a paired difference that is 0, and how often p <= 5%."""
    rng = generator(settings.seed, f"differences {scene} {kind} {dependence}")
    covers, alarms = [], []
    for _ in range(settings.patterns):
        clusters = SCENES[scene].draw(rng)
        one, other = (draw_values(rng, kind, clusters, dependence, settings.comparisons) for _ in "ab")
        # The same denominators: what the agent moved, or the cases.
        other = other._replace(top=other.top / other.bottom * one.bottom, bottom=one.bottom)
        for pair in zip(one.metrics(), other.metrics(), strict=True):
            difference = compare_metrics(*pair, clusters, np.ones(len(one.top), bool), rng)
            covers.append(difference.low <= 0 <= difference.high)
            alarms += [difference.p <= 0.05] if difference.p == difference.p else []
    return [float(np.mean(covers)), float(np.mean(alarms)) if alarms else np.nan]


def describe_dependence(dependence: Mapping[str, float]) -> str:
    """Which levels have how much of the variance."""
    return ", ".join(f"{level} {part:.2g}" for level, part in dependence.items()) or "none"


def format_percent(share: float) -> str:
    """A share with a digit behind the point; "none" where there is no interval."""
    return "none" if np.isnan(share) else f"{100 * share:.1f}"


def run_study(settings: Settings) -> None:
    """The tables, printed and kept; of damage alone ten times as many draws and no rivals."""
    if settings.damage:
        settings = replace(settings, patterns=10 * settings.patterns, rivals=False)
    found = simulate_intervals(settings)
    tables = [interval_table(settings, found)]
    figures: dict[str, Any] = {"coverage": {" | ".join(row): by for row, by in found.items()}}
    if not settings.damage:
        tables.append(difference_table(settings))
        figures["paired"] = tables[-1].rows
    for table in tables:
        say(markdown_section(table))
    folder = record_stage(
        "coverage", "damage" if settings.damage else "all", figures, tables, **vars(settings)
    )
    ours = {row: by["jackknife"] for row, by in found.items()}
    say_coverage("all", [*ours.values()])
    say_coverage("damage", [one for (*_, kind), one in ours.items() if kind in DAMAGES])
    say(f"record: {folder}")


def simulate_intervals(settings: Settings) -> dict[tuple[str, str, str], dict[str, Figures]]:
    """By cases, dependence and metric, how often each method covers."""
    kinds = DAMAGES if settings.damage else KINDS
    situations = [(s, k, d) for s, scene in SCENES.items() for d in scene.dependence for k in kinds]
    found = {}
    with show_progress("coverage", len(situations)) as advance:
        for scene, kind, dependence in situations:
            rng = generator(settings.seed, f"coverage {scene} {kind} {dependence}")
            low: dict[str, list[np.ndarray]] = {}
            high: dict[str, list[np.ndarray]] = {}
            truth = []
            for _ in range(settings.patterns):
                clusters = SCENES[scene].draw(rng)
                values = draw_values(rng, kind, clusters, dependence, settings.replicates)
                truth.append(values.truth)
                for name in method_names(settings):
                    ends = METHODS[name](clusters, values, rng)
                    for kept, new in zip((low, high), ends, strict=True):
                        kept.setdefault(name, []).append(new)
            by_method = {
                name: summarise_intervals(*map(np.concatenate, (low[name], high[name], truth)))
                for name in low
            }
            found[scene, describe_dependence(dependence), kind] = by_method
            advance(1)
    return found


def interval_table(settings: Settings, found: Mapping[tuple[str, str, str], Mapping[str, Figures]]) -> Table:
    """Our own intervals, and how often those of others cover."""
    rivals = method_names(settings)[1:]
    rows: list[list[Cell]] = [
        [
            *row,
            *map(format_percent, by["jackknife"][:3]),
            f"{by['jackknife'].width:.2f}",
            *(format_percent(by[name].coverage) for name in rivals),
        ]
        for row, by in found.items()
    ]
    head = [*HEAD, "too high", "too low", "width", *rivals]
    return Table("intervals", "Intervals", head, rows, words=3)


def difference_table(settings: Settings) -> Table:
    """Intervals and p-values of differences that are 0."""
    rows: list[list[Cell]] = [
        [
            scene,
            describe_dependence(of),
            kind,
            *map(format_percent, difference_coverage(settings, scene, kind, of)),
        ]
        for scene, of in COMPARED.items()
        for kind in ("mean", "ratio", "share of .5")
    ]
    return Table("differences", "Paired differences", [*HEAD, "p <= .05, %"], rows, words=3)


def say_coverage(what: str, found: Sequence[Figures]) -> None:
    """How well some rows are covered, on average and in the worst."""
    covers = np.array([one.coverage for one in found if not np.isnan(one.coverage)])
    inside = ((covers >= 0.93) & (covers <= 0.97)).mean()
    least, mean, most = (f"{100 * x:.2f}" for x in (covers.min(), covers.mean(), covers.max()))
    say(f"{what}: {mean}% on average, {least} to {most}%; {inside:.0%} of {len(covers)} rows cover 93 to 97%")


if __name__ == "__main__":
    launch_module()
