"""The scorecard of `testbed.examine`: at most sixteen numbers, each of edits that have something in common.

A number by itself can be had cheaply: whoever changes everything follows everything, and whoever changes
nothing keeps everything. So there is no average. Every row is held against no edit on the same cases, by the
interval of the paired difference, and editors stand in the order of the rows in which they are surely better,
less those in which they are surely worse.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from corpus.seeds import generator
from testbed.engine.results import Results, cluster_levels, halves_of
from testbed.evaluations.hase.metrics import (
    DAMAGE,
    FOLLOWS,
    KEPT,
    SKILL_RECALIBRATED,
    STAYS,
    SUCCESS,
    SURE_LOSS,
    TRUTH_VALUES,
)
from testbed.evaluations.leme.metrics import COUPLING, PORTABILITY
from testbed.evaluations.seesaw import OLD_HOLDERS
from testbed.evaluations.seesaw.metrics import EXCESS
from testbed.evaluations.taxi.metrics import CONSISTENCY, OTHERS_RIGHT
from testbed.scores.card_format import standing_key
from testbed.scores.gather import pool_results
from testbed.scores.metric import ARROWS, Metric
from testbed.scores.readers import EvaluationMetrics
from testbed.scores.statistics import Comparison, Estimate, compare_metrics, estimate_metric
from testbed.scores.summary import measure_reader
from testbed.scores.tables import Cell, Table
from testbed.suite import COUPLES, DRAWN, PEOPLE, PERSISTING, PUBLISHED, QUICK, REVISION, TAXONOMY

UNEDITED = "none"
Part = Callable[[Results], np.ndarray]
_AS_PUBLISHED, _ALL_KINDS = (PUBLISHED, QUICK), (*REVISION, QUICK)


def _is_shared(results: Results) -> np.ndarray:
    """bool[E]: two subjects or more have the new object."""
    return results.cases["support_new"] >= 2


def _is_unstated(results: Results) -> np.ndarray:
    """bool[E]: the corpus never states what depends on the edited fact."""
    return results.cases["stratum"] == "S0"


class Row(NamedTuple):
    """A number of the card.

    Attributes:
        name: of the row.
        says: what it is, for people.
        worlds: over which it is taken.
        metric: of their evaluation.
        part: which of the cases; all without it.
    """

    name: str
    says: str
    worlds: tuple[str, ...]
    metric: str
    part: Part | None = None


ROWS = (
    Row("states the request", "Share of requests that the edited model states.", _ALL_KINDS, SUCCESS),
    Row("follows, shared",
        "Share of consequences that the model updates, where two subjects or more have the new object.",
        _AS_PUBLISHED, FOLLOWS, _is_shared),
    Row("follows, not shared", "The same, where one subject has it or none.",
        _AS_PUBLISHED, FOLLOWS, lambda results: ~_is_shared(results)),
    Row("follows, persisting, unstated",
        "Share of consequences that no sentence stated and that the model updates, where facts persist.",
        (PERSISTING,), FOLLOWS, _is_unstated),
    Row("stays, persisting, stated", "Share of stated answers that stay, where facts persist.",
        (PERSISTING,), STAYS, lambda results: ~_is_unstated(results)),
    Row("follows, drawn", "Share of consequences that the model updates, where every statement is a draw.",
        (DRAWN,), FOLLOWS),
    Row("others' facts",
        "Share of random facts of others, never shown to an editor, answered as the agent does.",
        _ALL_KINDS, KEPT),
    Row("damage", "Distance to the agent that the edit adds to random facts.", _ALL_KINDS, DAMAGE),
    Row("coherence gained, recalibrated",
        "Share of the distance to the agent that the edit removes, both models at their best temperature.",
        _ALL_KINDS, SKILL_RECALIBRATED),
    Row("truth values", "Distance of p(true) to the agent's belief, over claims.", _ALL_KINDS, TRUTH_VALUES),
    Row("sure loss",
        "What somebody surely wins who bets at the model's answer and at its truth values of the request, of "
        "somebody else's fact, and of both in one sentence.", _ALL_KINDS, SURE_LOSS),
    Row("taxonomy, changes",
        "Share of properties that must change with the category and that the model changes.",
        (TAXONOMY,), CONSISTENCY),
    Row("taxonomy, others kept", "Share of other subjects' facts that stay right.",
        (TAXONOMY,), OTHERS_RIGHT),
    Row("people, excess",
        "How far the change of belief about those who have the old object is from the agent's.",
        (PEOPLE,), EXCESS[OLD_HOLDERS]),
    Row("couples, carried", "Share of implied facts, of subject and coupled entity, that the model updates.",
        (COUPLES,), PORTABILITY),
    Row("couples, written",
        "How much oftener texts state the implied fact of the coupled entity than of its unlinked twin.",
        (COUPLES,), COUPLING),
)  # fmt: skip
assert len(ROWS) <= 16


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


class Score(NamedTuple):
    """One number of one editor, and its difference from no edit on the same cases."""

    estimate: Estimate
    difference: Comparison

    def standing(self, better: str) -> int:
        """1 where it is surely better than no edit, -1 where surely worse, else 0."""
        low, high = self.difference.low, self.difference.high
        if math.isnan(low) or low <= 0 <= high:
            return 0
        return 1 if (low > 0) == (better == "high") else -1


class Scorecard(NamedTuple):
    """The card of several editors.

    Attributes:
        rows: those of ROWS whose worlds were edited.
        better: "high" or "low", by row.
        scores: by editor, then row; editors in the order in which they stand.
    """

    rows: list[Row]
    better: dict[str, str]
    scores: dict[str, dict[str, Score]]

    def count_rows(self, editor: str) -> tuple[int, int]:
        """In how many rows an editor is surely better than no edit, and in how many worse."""
        signs = [score.standing(self.better[row]) for row, score in self.scores[editor].items()]
        return signs.count(1), signs.count(-1)


def make_card(editors: Mapping[str, Sequence[WorldResults]]) -> Scorecard:
    """Measure editors on the worlds of the suite, or some of them.

    Args:
        editors: results by editor, UNEDITED among them; who lacks a world has no number in its rows.
    """
    worlds = [one.world for one in editors[UNEDITED]]
    in_worlds = [row._replace(worlds=tuple(name for name in row.worlds if name in worlds)) for row in ROWS]
    rows = [row for row in in_worlds if row.worlds]
    better = {row.name: _better_of(row, editors[UNEDITED]) for row in rows}
    measured = {name: _measure_editor(several) for name, several in editors.items()}
    scores: dict[str, dict[str, Score]] = {name: {} for name in editors}
    for row in rows:
        unedited, among, clusters = _take_row(row, measured[UNEDITED])
        for name, of in measured.items():
            if row.worlds[0] not in of:
                continue
            metric, mine, levels = _take_row(row, of)
            estimate = estimate_metric(metric, levels, mine)
            rng = generator(0, f"card {row.name}")
            difference = compare_metrics(metric, unedited, clusters, among, rng)
            scores[name][row.name] = Score(estimate, difference)
    card = Scorecard(rows, better, scores)
    order = sorted(editors, key=lambda name: standing_key(name, *card.count_rows(name)))
    return card._replace(scores={name: scores[name] for name in order})


class _Measured(NamedTuple):
    """The metrics of one evaluation's worlds together; `numbers` are those of worlds among its cases."""

    results: Results
    metrics: dict[str, Metric]
    numbers: dict[str, int]


def _measure_editor(several: Sequence[WorldResults]) -> dict[str, _Measured]:
    """By world, what its evaluation measures."""
    groups: dict[str, list[WorldResults]] = {}
    for one in several:
        groups.setdefault(type(one.evaluation).__name__, []).append(one)
    measured: dict[str, _Measured] = {}
    for group in groups.values():
        evaluation = group[0].evaluation
        pooled = pool_results([one.results for one in group], range(len(group)))
        results, _ = halves_of(pooled)
        reader = evaluation.readers(results, "editor")["editor"]
        metrics = measure_reader(evaluation, results, reader)
        numbers = {one.world: i for i, one in enumerate(group)}
        measured |= dict.fromkeys(numbers, _Measured(results, metrics, numbers))
    return measured


def _take_row(
    row: Row, measured: Mapping[str, _Measured]
) -> tuple[Metric, np.ndarray, dict[str, np.ndarray]]:
    """A row's metric, bool[E] of the cases that it is taken over, and which of them depend on each other."""
    of = measured[row.worlds[0]]
    among = np.isin(of.results.cases["run"], [of.numbers[world] for world in row.worlds])
    if row.part is not None:
        among &= row.part(of.results)
    return of.metrics[row.metric], among, cluster_levels(of.results)


def _better_of(row: Row, several: Sequence[WorldResults]) -> str:
    evaluation = next(one.evaluation for one in several if one.world == row.worlds[0])
    (better,) = (m.better for m in evaluation.metrics if m.id == row.metric)
    return better


def card_table(card: Scorecard, title: str) -> Table:
    """A row a number, a column an editor, the best-standing first."""
    rows: list[list[Cell]] = []
    for row in card.rows:
        scores = [by_row.get(row.name) for by_row in card.scores.values()]
        cells: list[Cell] = [score.estimate if score else None for score in scores]
        cases = max(score.estimate.cases for score in scores if score)
        arrow = ARROWS[card.better[row.name]]
        rows.append([f"{row.name} {arrow}", cases, *cells])
    counts = [card.count_rows(name) for name in card.scores]
    foot: list[list[Cell]] = [
        ["rows surely better than no edit", "", *(better for better, _ in counts)],
        ["rows surely worse", "", *(worse for _, worse in counts)],
    ]
    return Table("scorecard", title, ["", "cases", *card.scores], rows, foot=foot)


def card_as_data(card: Scorecard) -> dict[str, Any]:
    """The rows and numbers of a card, as scorecard.json has them (docs/examine.md)."""
    rows = [
        {
            "row": row.name,
            "says": row.says,
            "worlds": list(row.worlds),
            "metric": row.metric,
            "better": card.better[row.name],
        }
        for row in card.rows
    ]
    editors = []
    for name, by_row in card.scores.items():
        better, worse = card.count_rows(name)
        numbers = {row: _score_as_data(score, card.better[row]) for row, score in by_row.items()}
        editors.append(
            {"editor": name, "rows surely better": better, "rows surely worse": worse, "numbers": numbers}
        )
    return {"rows": rows, "editors": editors}


def _score_as_data(score: Score, better: str) -> dict[str, Any]:
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
            "verdict": {1: "better", 0: "unsure", -1: "worse"}[score.standing(better)],
        },
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)
