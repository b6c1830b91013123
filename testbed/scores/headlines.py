"""Headlines: which few numbers of an evaluation are read first, over which of its cases; decided here."""

from collections.abc import Sequence

from testbed.scores.frame import ALL, Frame
from testbed.scores.metric import labels_of, metrics_shown_in
from testbed.scores.readers import EvaluationMetrics
from testbed.scores.tables import Cell


def headline_labels(evaluation: EvaluationMetrics) -> dict[str, str]:
    """What people see of the headlines, by id and in order."""
    labels = labels_of(evaluation.metrics)
    return {metric: labels[metric] for metric in metrics_shown_in(evaluation.metrics, "headline")}


def headline_subset(evaluation: EvaluationMetrics, frame: Frame) -> str:
    """The cases that headlines are over: those that the evaluation names, or all where there are none."""
    cases = frame.where(subset=evaluation.headline_subset).table["cases"]
    return evaluation.headline_subset if any(cases.to_pylist()) else ALL


def headline_rows(evaluation: EvaluationMetrics, frame: Frame, readers: Sequence[str]) -> list[list[Cell]]:
    """Each of some readers, and its headlines."""
    subset, metrics = headline_subset(evaluation, frame), [*headline_labels(evaluation)]
    return [[name, *(frame.cell(metric, name, subset) for metric in metrics)] for name in readers]


def describe_subset(evaluation: EvaluationMetrics, frame: Frame) -> str:
    """Which edits headlines are over, and who drew them, to be put behind the word edits; or nothing."""
    subset = headline_subset(evaluation, frame)
    return ("" if subset == ALL else f" whose request {subset}") + evaluation.request_origin
