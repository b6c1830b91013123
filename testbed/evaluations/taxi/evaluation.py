"""TAXI (Powell et al. 2024): after an edit of what a thing is, do its properties follow?

Every edit makes a subject a member of another category; the model is asked multiple-choice questions about
what should change, what should not, and the same inversely. Importing this loads no NumPy and no JAX, so that
options can be read quickly.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from testbed.evaluations.interface import Evaluation
from testbed.evaluations.taxi.settings import TaxiConfig

if TYPE_CHECKING:
    import numpy as np

    from bayes.interface import Agent
    from testbed.engine.results import Results
    from testbed.pages.chapter import Chapter, Material
    from testbed.protocol import Case, Facet
    from testbed.run.world import World
    from testbed.scores.metric import Metric, MetricDefinition
    from testbed.scores.readers import Reader


@dataclass(frozen=True)
class Taxi(TaxiConfig, Evaluation):
    """The examination with its settings."""

    cases_from: ClassVar[str] = "testbed.evaluations.taxi.cases"

    @property
    def interpretations(self) -> tuple[str, ...]:
        """What the request is to the agent: what TAXI's labels say, and what keeps the evidence."""
        from testbed.evaluations.taxi.roles import READINGS

        return READINGS

    @property
    def facets(self) -> "Mapping[str, type[Facet]]":
        """Columns of cases."""
        from testbed.evaluations.taxi.roles import FACETS

        return FACETS

    @property
    def choice_facets(self) -> "Mapping[str, type[Facet]]":
        """Columns of choices."""
        from testbed.evaluations.taxi.roles import OF_CHOICES

        return OF_CHOICES

    @property
    def metrics(self) -> "Sequence[MetricDefinition]":
        """Every metric, in the order of tables."""
        from testbed.evaluations.taxi.metrics import METRICS

        return METRICS

    def make_cases(
        self,
        world: "World",
        agent: "Agent",
        count: int,
        credence: float,
        seed: int,
    ) -> "Iterator[Case]":
        """At most `count` edits, with their questions and the agent's answers under both readings."""
        from testbed.evaluations.taxi.cases import build_cases

        return build_cases(world, agent, count, credence, self, seed)

    def readers(self, results: "Results", editor: str) -> "dict[str, Reader]":
        """The edited model, the usual references, the agent under the other reading, and chance."""
        from testbed.evaluations.taxi.readers import readers

        return readers(results, editor)

    def measure(self, results: "Results", reader: "Reader") -> "dict[str, Metric]":
        """Every metric of one reader."""
        from testbed.evaluations.taxi.metrics import measure

        return measure(results, reader)

    def subsets(self, results: "Results") -> "dict[str, np.ndarray]":
        """Parts of the edits by frequency, superordinate, and members of the new category."""
        from testbed.evaluations.taxi.subsets import subsets

        return subsets(results)

    def make_chapter(self, material: "Material") -> "Chapter":
        """The chapter of the report."""
        from testbed.evaluations.taxi.story import story

        return story(material)


EVALUATION = Taxi
