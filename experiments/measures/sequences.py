"""What is left of edits that were made on top of each other."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from testbed.engine.results import cluster_levels
from testbed.scores.statistics import estimate_metrics
from testbed.scores.summary import ScoredEditor, measure_reader
from testbed.scores.tables import Cell, Table


def kept_table(editors: Sequence[ScoredEditor], metrics: Sequence[str]) -> Table:
    """A row an editor and a number of edits: the latest request of every fact, asked again after so many."""
    rows: list[list[Cell]] = []
    for one in editors:
        for count, results in sorted(one.edits.later_results.items()):
            reader = one.evaluation.readers(results, one.name)[one.name]
            measured = measure_reader(one.evaluation, results, reader)
            known = {metric: measured[metric] for metric in metrics if metric in measured}
            estimates = estimate_metrics(known, cluster_levels(results), are_latest(results.cases))
            rows.append([one.name, count, *(estimates.get(metric) for metric in metrics)])
    title = "Edits on top of each other: the latest request of each fact, asked again"
    return Table("kept", title, ["editor", "after edits", *metrics], rows)


def are_latest(cases: Mapping[str, np.ndarray]) -> np.ndarray:
    """bool[E]: whether no later edit of the same sequence is of the same fact."""
    world = cases.get("run", np.zeros_like(cases["subject"]))
    facts = list(
        zip(
            *(x.tolist() for x in (world, cases["cluster"], cases["subject"], cases["relation"])), strict=True
        )
    )
    last = {facts[i]: i for i in np.argsort(cases["position"], kind="stable").tolist()}
    return np.isin(np.arange(len(facts)), list(last.values()))


_LIFE = np.geomspace(1.0, 1e7, 700)
_DROP = 1.92
"""Half of the 95% quantile of chi square: how far the log-likelihood may fall inside an interval."""


class HalfLife(NamedTuple):
    """Later edits after which half of what was said is still said.

    Attributes:
        edits: the most likely number; infinite where nothing was lost.
        low, high: of the 95% interval by likelihood, requests taken as independent.
        requests: how many it rests on.
    """

    edits: float
    low: float
    high: float
    requests: int


def fit_half_life(age: np.ndarray, kept: np.ndarray) -> HalfLife:
    """The most likely half-life of int[n] ages and bool[n], and its interval, on a grid from 1 to 10^7."""
    there = age > 0
    if not there.any():
        return HalfLife(np.nan, np.nan, np.nan, 0)
    log_stays = -np.log(2) * age[there] / _LIFE[:, None]
    log_goes = np.log(-np.expm1(log_stays))
    likely = np.where(kept[there], log_stays, log_goes).sum(axis=1)
    inside = _LIFE[likely >= likely.max() - _DROP]
    if kept[there].all():
        return HalfLife(np.inf, float(inside[0]), np.inf, int(there.sum()))
    best = float(_LIFE[likely.argmax()])
    return HalfLife(best, float(inside[0]), float(inside[-1]), int(there.sum()))


def half_life_table(editors: Sequence[ScoredEditor], success: str) -> Table:
    """How fast latest requests are lost with the edits behind them, a row an editor.

    Args:
        success: the metric that says whether a request is stated.
    """
    rows: list[list[Cell]] = []
    for one in editors:
        results = one.edits.later_results[max(one.edits.later_results)]
        reader = one.evaluation.readers(results, one.name)[one.name]
        stated = measure_reader(one.evaluation, results, reader)[success]
        at_once = one.values[one.name][success].numerator > 0
        among = are_latest(results.cases) & at_once & (stated.denominator > 0)
        position = results.cases["position"]
        life = fit_half_life((position.max() - position)[among], (stated.numerator > 0)[among])
        interval = f"{life.low:.0f} to {life.high:.0f}"
        rows.append([one.name, f"{life.edits:.0f}", interval, life.requests, one.edits.cost.get("flops")])
    title = "Half-lives in edits, of requests that were stated at once"
    return Table("half-lives", title, ["editor", "half-life", "interval", "requests", "FLOPs"], rows)
