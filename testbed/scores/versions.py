"""Versions of what scores mean, as people compare them: of agents, evaluations and metrics (design.md 8).

Each stands beside its code; see `testbed.engine.versions`. What is a user's own has none.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import bayes
from testbed.scores.metric import MetricDefinition
from testbed.scores.readers import EvaluationMetrics


def version_of(evaluation: EvaluationMetrics) -> int:
    """The version of a built-in evaluation's cases; 0 of a user's own, be it made from a built-in one."""
    return int(vars(type(evaluation)).get("version", 0))


def version_of_metric(evaluation: EvaluationMetrics, metric: MetricDefinition) -> int:
    """The version of a metric; 0 where the evaluation is a user's own."""
    return metric.version if version_of(evaluation) else 0


def select_versions(
    evaluations: Mapping[str, EvaluationMetrics], agents: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """The versions of some evaluations and agents, and of metrics those above 1."""
    built_in = {name: one for name, one in evaluations.items() if version_of(one)}
    return {
        "agents": {name: bayes.VERSIONS[name] for name in agents if name in bayes.VERSIONS},
        "evaluations": {name: version_of(one) for name, one in built_in.items()},
        "metrics": {
            name: {metric.id: metric.version for metric in one.metrics if metric.version > 1}
            for name, one in built_in.items()
        },
    }
