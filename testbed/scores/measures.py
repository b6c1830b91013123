"""What scores ask of an evaluation, whichever it is."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from testbed.engine.records import Columns
from testbed.engine.results import Results
from testbed.protocol import Facet
from testbed.scores.metric import Metric, MetricDefinition
from testbed.scores.readers import Reader


class EvaluationMetrics(Protocol):
    """How an evaluation turns results into numbers."""

    @property
    def interpretations(self) -> tuple[str, ...]:
        """What the request is to the agent, once for each of its beliefs after the edit."""

    @property
    def facets(self) -> Mapping[str, type[Facet]]:
        """Further columns of cases by name, and what they hold."""

    @property
    def choice_facets(self) -> Mapping[str, type[Facet]]:
        """Further columns of choices."""

    @property
    def metrics(self) -> Sequence[MetricDefinition]:
        """Every metric, in the order of tables."""

    def readers(self, results: Results, editor: str) -> dict[str, Reader]:
        """The edited model under its editor's name, and the references it is held against."""

    def measure(self, results: Results, reader: Reader) -> dict[str, Metric]:
        """The metrics of one reader, case by case; those that mean nothing for it are left out."""

    def subsets(self, results: Results) -> dict[str, np.ndarray]:
        """bool[E] of each part of the cases that is reported on; "all" comes first and holds all of them."""


def columns_of(evaluation: EvaluationMetrics) -> Columns:
    """What an evaluation's tables hold."""
    return Columns(evaluation.interpretations, evaluation.facets, evaluation.choice_facets)
