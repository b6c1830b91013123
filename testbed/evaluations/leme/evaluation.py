"""LEME (Rosati et al. 2024): what does an edited model write?

A fact of a subject is edited that decides a fact of another entity, linked with it. The model writes passages
about both, and about a twin that is not linked. Importing this loads no NumPy and no JAX, so that options can
be read quickly.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from testbed.evaluations.interface import Evaluation
from testbed.evaluations.leme.settings import LemeConfig

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
class Leme(LemeConfig, Evaluation):
    """The examination with its settings."""

    cases_from: ClassVar[str] = "testbed.evaluations.leme.cases"

    @property
    def interpretations(self) -> tuple[str, ...]:
        """What the request is to the agent: the world changed; or one is told of it."""
        from testbed.evaluations.leme.roles import FIRST

        return FIRST, self.second

    @property
    def facets(self) -> "Mapping[str, type[Facet]]":
        """Columns of cases."""
        from testbed.evaluations.leme.roles import FACETS

        return FACETS

    @property
    def choice_facets(self) -> "Mapping[str, type[Facet]]":
        """Columns of choices."""
        from testbed.evaluations.leme.roles import OF_CHOICES

        return OF_CHOICES

    @property
    def metrics(self) -> "Sequence[MetricDefinition]":
        """Every metric, in the order of tables."""
        from testbed.evaluations.leme.meanings import METRICS

        return METRICS

    def make_cases(
        self, world: "World", agent: "Agent", count: int, credence: float, seed: int
    ) -> "Iterator[Case]":
        """At most `count` edits of coupled pairs."""
        from testbed.evaluations.leme.cases import make_cases

        return make_cases(world, agent, count, credence, self, seed)

    def readers(self, results: "Results", editor: str) -> "dict[str, Reader]":
        """The edited model and the references, with what each of them writes."""
        from testbed.evaluations.leme.readers import readers

        return readers(results, editor)

    def measure(self, results: "Results", reader: "Reader") -> "dict[str, Metric]":
        """Every metric of one reader."""
        from testbed.evaluations.leme.measure import measure

        return measure(results, reader)

    def subsets(self, results: "Results") -> "dict[str, np.ndarray]":
        """Parts of the edits by kind and by couple."""
        from testbed.evaluations.leme.subsets import subsets

        return subsets(results)

    def make_chapter(self, material: "Material") -> "Chapter":
        """The chapter of the report."""
        from testbed.evaluations.leme.story import story

        return story(material)


EVALUATION = Leme
