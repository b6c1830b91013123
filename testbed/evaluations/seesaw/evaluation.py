"""Seesaw-CF (Halevy et al. 2024): after an edit of a person, who else is moved, and what else of them?

Every edit gives a person another work, language, citizenship, birthplace or gender; the model is asked about
other people, about the person's other facts, and perhaps to write. Importing this loads no NumPy and no JAX,
so that options can be read quickly.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from testbed.evaluations.interface import Evaluation
from testbed.evaluations.seesaw.settings import SeesawConfig

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
class Seesaw(SeesawConfig, Evaluation):
    """The examination with its settings."""

    cases_from: ClassVar[str] = "testbed.evaluations.seesaw.cases"

    @property
    def interpretations(self) -> tuple[str, ...]:
        """What the request is to the agent: a correction, or a change of the world."""
        from testbed.evaluations.seesaw.roles import READINGS

        return READINGS

    @property
    def facets(self) -> "Mapping[str, type[Facet]]":
        """Columns of cases."""
        from testbed.evaluations.seesaw.roles import FACETS

        return FACETS

    @property
    def choice_facets(self) -> "Mapping[str, type[Facet]]":
        """Columns of choices."""
        from testbed.evaluations.seesaw.roles import OF_CHOICES

        return OF_CHOICES

    @property
    def metrics(self) -> "Sequence[MetricDefinition]":
        """Every metric, in the order of tables."""
        from testbed.evaluations.seesaw.metrics import METRICS

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
        from testbed.evaluations.seesaw.cases import build_cases

        return build_cases(world, agent, count, credence, self, seed)

    def readers(self, results: "Results", editor: str) -> "dict[str, Reader]":
        """The edited model, the usual references, and the agent under the other reading."""
        from testbed.evaluations.seesaw.readers import readers

        return readers(results, editor)

    def measure(self, results: "Results", reader: "Reader") -> "dict[str, Metric]":
        """Every metric of one reader."""
        from testbed.evaluations.seesaw.metrics import measure

        return measure(results, reader)

    def subsets(self, results: "Results") -> "dict[str, np.ndarray]":
        """Parts of the edits by the property that is edited."""
        from testbed.evaluations.seesaw.subsets import subsets

        return subsets(results)

    def make_chapter(self, material: "Material") -> "Chapter":
        """The chapter of the report."""
        from testbed.evaluations.seesaw.story import story

        return story(material)


EVALUATION = Seesaw
