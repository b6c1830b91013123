"""What an evaluation is: a frozen dataclass, its settings, with these methods.

It makes cases, turns results into numbers, and tells a chapter of the report. A built-in one is a folder
here; a user's own is named as my_module:MyEvaluation (see experiments/examples/my_evaluation.py). Options,
editing, files, intervals, comparisons and the page need nothing else. All pass tests/test_evaluations.py.
"""

from collections.abc import Iterator
from typing import Protocol

from bayes.interface import Agent
from testbed.pages.chapter import Chapter, Material
from testbed.protocol import Case
from testbed.run.world import World
from testbed.scores.measures import EvaluationMetrics


class Evaluation(EvaluationMetrics, Protocol):
    """An examination of edited models.

    A class may say in `cases_from` which module its cases come from, if it is not its own: results made with
    other code of it are stale.
    """

    def cases(self, world: World, agent: Agent, count: int, credence: float, seed: int) -> Iterator[Case]:
        """`count` cases, the same for the same arguments.

        Raises:
            InputError: the world or the agent has nothing to ask.
        """

    def story(self, material: Material) -> Chapter:
        """The chapter of the report; pictures are drawn on the way."""
