"""What an evaluation is: a frozen dataclass, its settings, that makes cases, numbers and a chapter.

A built-in one is a folder here, always of the same files: `__init__` holds its settings, its class and its
words, `cases` and `metrics` what their names say, `chapter` what the report shows, `pictures` the edit that
is drawn, and `paper` the figures that the paper prints. A user's own is named as my_module:MyEvaluation (see
experiments/examples/my_evaluation.py). Options, editing, files, intervals, comparisons and the page need
nothing else. All pass tests/test_evaluations.py.

Importing this loads no NumPy and no JAX, so that options are read quickly. What a method loads is
named by a string.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from corpus.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from bayes.interface import Agent
    from testbed.engine.results import Results
    from testbed.pages.chapter import Chapter, Material
    from testbed.protocol import Case, Facet
    from testbed.run.world import World
    from testbed.scores.metric import Metric, MetricDefinition
    from testbed.scores.readers import Reader


class Evaluation:
    """Which facts are edited, which questions are asked, what is measured and what the report shows.

    Your own class overrides `make_cases` and `metrics`, and any other method whose default does not fit.
    """

    package: ClassVar[str] = ""
    """The folder of a built-in evaluation, whose modules its methods load."""
    version: ClassVar[int] = 0
    """Of a built-in evaluation's cases, raised when others are drawn or asked; what was made before is stale
    then. Your own class needs none: its source is compared."""

    headline_subset: ClassVar[str] = "all"
    """The cases that headlines are over, one of `subsets`; all of them where it has no case."""
    can_be_halved: ClassVar[bool] = False
    """Whether metrics mean the same over any half of the questions: `oracle` is fitted to one half and scored
    on the other."""

    @property
    def request_origin(self) -> str:
        """Who draws the requests, as titles of headlines end; nothing where there is one way only."""
        return ""

    @property
    def interpretations(self) -> tuple[str, ...]:
        """Ways in which the agent takes the request, one for each of its beliefs after the edit."""
        return ("evidence",)

    @property
    def facets(self) -> "Mapping[str, type[Facet]]":
        """Further columns of cases: their types by name."""
        return {}

    @property
    def choice_facets(self) -> "Mapping[str, type[Facet]]":
        """Further columns of choices: their types by name."""
        return {}

    @property
    def metrics(self) -> "Sequence[MetricDefinition]":
        """Every metric, in the order of tables: METRICS of the folder's `metrics`."""
        return self._load("metrics", "METRICS")

    def make_cases(
        self, world: "World", agent: "Agent", count: int, credence: float, seed: int
    ) -> "Iterator[Case]":
        """`count` cases, the same for the same arguments; the folder's `cases.make_cases`.

        Raises:
            InputError: no case can be made in this world, or by this agent.
        """
        return self._load("cases", "make_cases")(world, agent, count, credence, self, seed)

    def readers(self, results: "Results", editor: str) -> "dict[str, Reader]":
        """The edited model under its editor's name, and the readers that it is compared with.

        The folder's `metrics.make_readers`; without one, the usual references.
        """
        return self._load("metrics", "make_readers", "testbed.scores.readers:reference_readers")(
            results, editor
        )

    def measure(self, results: "Results", reader: "Reader") -> "dict[str, Metric]":
        """The metrics of one reader, case by case, without those that have no meaning for it.

        Each is computed from the folder's `metrics.Answers`; without one, from the usual `Answers`.
        """
        answers = self._load("metrics", "Answers", "testbed.scores.readers:Answers")(results, reader)
        computed = {m.id: m.compute(answers) for m in self.metrics if reader.time or not m.needs_edit}
        return {name: metric for name, metric in computed.items() if metric is not None}

    def subsets(self, results: "Results") -> "dict[str, np.ndarray]":
        """bool[E] of each subset of the cases in the report; "all" comes first and has all of them.

        The folder's `metrics.make_subsets`; without one, all cases only.
        """
        return self._load("metrics", "make_subsets", "testbed.scores.metric:all_cases")(results)

    def make_chapter(self, material: "Material") -> "Chapter":
        """The chapter of the report; its pictures are drawn here.

        As the folder's `chapter.PLAN` has it; without one, the tables that every chapter has, and costs.
        """
        plan = self._load("chapter", "PLAN", "testbed.pages.sections:usual_plan")
        chapter: Chapter = import_module("testbed.pages.sections").make_chapter(material, plan)
        return chapter

    def _load(self, part: str, name: str, usual: str = "") -> Any:
        """What a module of the folder has under a name, else what `usual` names as module:name.

        Raises:
            InputError: there is neither.
        """
        own = getattr(import_module(f"{self.package}.{part}"), name, None) if self.package else None
        if own is None and not usual:
            raise InputError(f"the evaluation {type(self).__name__} has no {name.lower()}; define it there")
        module, _, attribute = usual.partition(":")
        return getattr(import_module(module), attribute) if own is None else own
