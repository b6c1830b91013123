"""The scorecard of `testbed.examine`: numbers of edits that have something in common, by kind of world.

A number by itself can be had cheaply: whoever changes everything follows everything, and whoever changes
nothing keeps everything. So there is no average. Every row is held against no edit on the same cases, by the
interval of the paired difference. In each kind of world an editor has a share: the rows in which it is
surely better, less those in which it is surely worse, of all. Editors stand in the order of their worst kind,
so that nobody wins by being at home in one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from corpus.seeds import generator
from testbed.engine.results import (
    AFTER_AN_EDIT,
    Choices,
    Claims,
    Passages,
    Results,
    cluster_levels,
    halves_of,
)
from testbed.scores.card_format import KindCount, Verdict, count_by_kind, standing_key, verdict_of
from testbed.scores.gather import pool_results
from testbed.scores.metric import ARROWS, Metric
from testbed.scores.readers import EvaluationMetrics
from testbed.scores.statistics import Comparison, Estimate, compare_metrics, estimate_metric
from testbed.scores.summary import measure_reader
from testbed.scores.tables import Cell, Table
from testbed.suite import Row

UNEDITED = "none"


class WorldResults(NamedTuple):
    """What one editor's edits of one world came to.

    Attributes:
        world: its name.
        evaluation: by which they are measured.
        results: with the unedited model recalibrated.
    """

    world: str
    evaluation: EvaluationMetrics
    results: Results


class RowMetric(NamedTuple):
    """One row of one editor, case by case.

    Attributes:
        metric: of the cases that the row is about.
        levels: by level, which of them depend on each other.
    """

    metric: Metric
    levels: dict[str, np.ndarray]


Measured = Mapping[str, Mapping[str, RowMetric]]
"""By editor, then row. UNEDITED is among them: the model that these editors edited."""


class Score(NamedTuple):
    """One number of one editor, and its difference from no edit on the same cases."""

    estimate: Estimate
    difference: Comparison

    def verdict(self, better: str) -> Verdict:
        """Whether it is surely "better" than no edit, surely "worse", or "unsure"."""
        return verdict_of(self.difference.low, self.difference.high, better)


class Scorecard(NamedTuple):
    """The card of several editors.

    Attributes:
        rows: those in which somebody has a number.
        scores: by editor, then row; editors in the order in which they stand.
    """

    rows: list[Row]
    scores: dict[str, dict[str, Score]]

    def verdicts_of(self, editor: str) -> dict[str, str]:
        """By row, how an editor compares with no edit."""
        of = self.scores[editor]
        return {row.name: of[row.name].verdict(row.better) for row in self.rows if row.name in of}

    def count_rows(self, editor: str) -> dict[str, KindCount]:
        """By kind of world, in how many rows an editor is surely better than no edit, and worse."""
        return count_by_kind({row.name: row.kind for row in self.rows}, self.verdicts_of(editor))


def measure_rows(rows: Sequence[Row], several: Sequence[WorldResults]) -> dict[str, RowMetric]:
    """What one editor's edits of some worlds add to each row; a row of other worlds is left out.

    Worlds of one kind and evaluation are measured together.
    """
    kinds = {world: row.kind for row in rows for world in row.worlds}
    groups: dict[tuple[str, str], list[WorldResults]] = {}
    for one in several:
        groups.setdefault((kinds.get(one.world, ""), type(one.evaluation).__name__), []).append(one)
    measured: dict[str, RowMetric] = {}
    for group in groups.values():
        evaluation, number = group[0].evaluation, {one.world: i for i, one in enumerate(group)}
        results, _ = halves_of(pool_results([one.results for one in group], range(len(group))))
        metrics = measure_reader(evaluation, results, evaluation.readers(results, "editor")["editor"])
        parts, levels = evaluation.subsets(results), cluster_levels(results)
        for row in rows:
            runs = [number[world] for world in row.worlds if world in number]
            if not runs:
                continue
            among = np.isin(results.cases["run"], runs)
            if row.parts:
                among &= np.any([parts[part] for part in row.parts], axis=0)
            cases = np.flatnonzero(among)
            taken = {level: of[cases] for level, of in levels.items()}
            measured[row.name] = RowMetric(metrics[row.metric].take(cases), taken)
    return measured


def measure_editors(rows: Sequence[Row], results: Mapping[str, Sequence[WorldResults]]) -> Measured:
    """What editors of one model add to each row, and the unedited model, whose answers all of them hold."""
    if not results:
        return {}
    answered = max(results.values(), key=len)
    unedited = [one._replace(results=forget_edits(one.results)) for one in answered]
    return {name: measure_rows(rows, of) for name, of in ({UNEDITED: unedited} | dict(results)).items()}


def forget_edits(results: Results) -> Results:
    """The results of who edits nothing, on the same model."""

    def before(table: Choices | Claims | Passages) -> Any:
        held = {name: getattr(table, name).copy() for name in AFTER_AN_EDIT & {*table._fields}}
        for column in held.values():
            column[:, 1] = column[:, 0]
        return table._replace(**held)

    tables = {name: before(getattr(results, name)) for name in ("choices", "claims", "passages")}
    told = np.zeros_like(results.choices.is_told)
    return replace(results, **tables | {"choices": tables["choices"]._replace(is_told=told)}, lost=None)


def make_card(rows: Sequence[Row], *parties: Measured) -> Scorecard:
    """The numbers of editors, each held against the unedited model of its own party.

    Args:
        rows: of the suite.
        parties: editors of one model; of an editor that is in several, the last party's numbers count.
    """
    scores: dict[str, dict[str, Score]] = {}
    for party in parties:
        scores |= {name: _score_rows(of, party[UNEDITED]) for name, of in party.items()}
    card = Scorecard([row for row in rows if any(row.name in of for of in scores.values())], scores)
    order = sorted(scores, key=lambda name: standing_key(name, card.count_rows(name)))
    return card._replace(scores={name: scores[name] for name in order})


def _score_rows(own: Mapping[str, RowMetric], unedited: Mapping[str, RowMetric]) -> dict[str, Score]:
    scores = {}
    for name, (metric, levels) in own.items():
        everywhere = np.ones(len(metric.numerator), bool)
        estimate = estimate_metric(metric, levels, everywhere)
        rng = generator(0, f"card {name}")
        difference = compare_metrics(metric, unedited[name].metric, levels, everywhere, rng)
        scores[name] = Score(estimate, difference)
    return scores


def card_table(card: Scorecard, title: str) -> Table:
    """A row a number, a column an editor, the best-standing first; below them the counts of each kind."""
    rows: list[list[Cell]] = []
    for row in card.rows:
        scores = [by_row.get(row.name) for by_row in card.scores.values()]
        cells: list[Cell] = [score.estimate if score else None for score in scores]
        cases = max(score.estimate.cases for score in scores if score)
        rows.append([f"{row.name} {ARROWS[row.better]}", cases, *cells])
    counts = [card.count_rows(name) for name in card.scores]
    foot: list[list[Cell]] = [
        ["rows surely better than no edit", "", *(sum(one.better for one in of.values()) for of in counts)],
        ["rows surely worse", "", *(sum(one.worse for one in of.values()) for of in counts)],
    ]
    kinds = [*counts[0]] if len(counts[0]) > 1 else []
    for kind in kinds:
        signs = [f"+{of[kind].better} -{of[kind].worse}" for of in counts]
        foot.append([f"{kind}, of {counts[0][kind].rows} rows", "", *signs])
    return Table("scorecard", title, ["", "cases", *card.scores], rows, foot=foot)


def describe_rows(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows as scorecard.json has them (docs/examine.md)."""
    return [
        {
            "row": row.name,
            "says": row.says,
            "kind": row.kind,
            "worlds": list(row.worlds),
            "metric": row.metric,
            "better": row.better,
        }
        for row in rows
    ]


def card_as_data(card: Scorecard) -> dict[str, Any]:
    """The rows and numbers of a card, as scorecard.json has them (docs/examine.md)."""
    editors = []
    for name, by_row in card.scores.items():
        counts, verdicts = card.count_rows(name).values(), card.verdicts_of(name)
        about = {
            "editor": name,
            "rows surely better": sum(one.better for one in counts),
            "rows surely worse": sum(one.worse for one in counts),
            "numbers": {row: _score_as_data(score, verdicts[row]) for row, score in by_row.items()},
        }
        editors.append(about)
    return {"rows": describe_rows(card.rows), "editors": editors}


def _score_as_data(score: Score, verdict: str) -> dict[str, Any]:
    estimate, difference = score.estimate, score.difference
    return {
        "value": _number(estimate.value),
        "low": _number(estimate.low),
        "high": _number(estimate.high),
        "cases": estimate.cases,
        "over no edit": {
            "difference": _number(difference.difference),
            "low": _number(difference.low),
            "high": _number(difference.high),
            "verdict": verdict,
        },
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)
