"""The examination of Hase et al. 2024 (§6): does an edited model agree with the agent, and with itself?

Half of the requests contradict what the corpus says. After each, the model is asked about the edited fact,
what depends on it, what it depends on, an independent fact, and about other subjects; and whether sentences
about the request are true. Importing this loads no NumPy and no JAX, so that options can be read quickly.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from testbed.evaluations.hase.settings import HaseConfig

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
class Hase(HaseConfig):
    """The examination with its settings."""

    cases_from: ClassVar[str] = "testbed.evaluations.hase.sampling"

    @property
    def readings(self) -> tuple[str, ...]:
        """What the request is to the agent."""
        return (self.request,)

    @property
    def facets(self) -> "Mapping[str, type[Facet]]":
        """Columns of cases."""
        from testbed.evaluations.hase.roles import FACETS

        return FACETS

    @property
    def metrics(self) -> "Sequence[MetricDefinition]":
        """Every metric, in the order of tables."""
        from testbed.evaluations.hase.meanings import METRICS

        return METRICS

    def cases(
        self, world: "World", agent: "Agent", count: int, credence: float, seed: int
    ) -> "Iterator[Case]":
        """The edits, with their questions and the agent's answers."""
        from testbed.evaluations.hase.sampling import Sampler

        return iter(Sampler(world, agent, count, credence, self, seed))

    def readers(self, results: "Results", editor: str) -> "dict[str, Reader]":
        """The edited model, and the references."""
        from testbed.scores.readers import reference_readers

        return reference_readers(results, editor)

    def measure(self, results: "Results", reader: "Reader") -> "dict[str, Metric]":
        """Every metric of one reader."""
        from testbed.evaluations.hase.metrics import measure_edit

        return measure_edit(results, reader)

    def subsets(self, results: "Results") -> "dict[str, np.ndarray]":
        """The paper's parts of the cases, and those by what the edit is and by support."""
        from testbed.evaluations.hase.subsets import case_subsets

        return case_subsets(results)

    def story(self, material: "Material") -> "Chapter":
        """The chapter of the report."""
        from testbed.evaluations.hase.story import story

        return story(material)


EVALUATION = Hase
