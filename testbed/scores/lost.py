"""Edits that left a model without numbers, as failures in every metric."""

from collections.abc import Mapping, Sequence

import numpy as np

from testbed.scores.metric import Metric, MetricDefinition


def count_failures(
    measured: Mapping[str, Metric],
    floor: Mapping[str, Metric],
    definitions: Sequence[MetricDefinition],
    lost: np.ndarray,
) -> dict[str, Metric]:
    """Metrics of an edited model in which a lost edit is a failure, and never better than no edit.

    A failure is 0 where high values or those near 1 are better, and 1 where low ones are: shares, distances
    and violations of laws lie between these. Where whoever answers nothing has a worse value than that, or
    the unedited model has, it is the worst of them.

    Args:
        measured: of the edited model, which answers nothing after a lost edit.
        floor: of the unedited model; those that it lacks are not held against it.
        lost: bool[E].
    """
    better = {m.id: m.better for m in definitions}
    return {
        name: _fail_cases(metric, floor.get(name, metric), better[name], lost)
        for name, metric in measured.items()
    }


def _fail_cases(metric: Metric, floor: Metric, better: str, lost: np.ndarray) -> Metric:
    bottom = np.where(metric.denominator > 0, metric.denominator, floor.denominator)
    fails = lost & (bottom > 0)
    values = np.stack([metric.by_case, floor.by_case, np.full(len(lost), float(better == "low"))])[:, fails]
    badness = {"high": -values, "low": values, "one": np.abs(values - 1)}[better]
    worst = np.where(np.isnan(badness), -np.inf, badness).argmax(0)
    top, bottom_of_all = metric.numerator.astype(float), metric.denominator.astype(float)
    top[fails] = np.take_along_axis(values, worst[None], 0)[0] * bottom[fails]
    bottom_of_all[fails] = bottom[fails]
    return metric._replace(numerator=top, denominator=bottom_of_all)
