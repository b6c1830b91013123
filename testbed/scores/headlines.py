"""Headlines: which few numbers of an evaluation are read first, over which of its cases; decided here."""

from collections.abc import Sequence

from testbed.scores.metric import labels_of, metrics_shown_in
from testbed.scores.readers import EvaluationMetrics
from testbed.scores.summary import Summary
from testbed.scores.tables import Cell


def headline_labels(evaluation: EvaluationMetrics) -> dict[str, str]:
    """What people see of the headlines, by id and in order."""
    labels = labels_of(evaluation.metrics)
    return {metric: labels[metric] for metric in metrics_shown_in(evaluation.metrics, "headline")}


def headline_subset(evaluation: EvaluationMetrics, summary: Summary) -> str:
    """The cases that headlines are over: those that the evaluation names, or all where there are none."""
    readers = summary.get(evaluation.headline_subset, {})
    has_cases = any(estimate.cases for metrics in readers.values() for estimate in metrics.values())
    return evaluation.headline_subset if has_cases else "all"


def headline_rows(
    evaluation: EvaluationMetrics, summary: Summary, readers: Sequence[str]
) -> list[list[Cell]]:
    """Each of some readers, and its headlines."""
    of = summary[headline_subset(evaluation, summary)]
    return [[name, *map(of[name].get, headline_labels(evaluation))] for name in readers]


def describe_subset(evaluation: EvaluationMetrics, summary: Summary) -> str:
    """Which edits headlines are over, to be put behind the word edits; nothing where they are over all."""
    subset = headline_subset(evaluation, summary)
    return "" if subset == "all" else f" whose request {subset}"
