"""What the author of an evaluation needs, in one place (see experiments/examples/my_evaluation.py)."""

from bayes.interface import Agent
from bayes.request import EditRequest
from corpus.errors import InputError
from corpus.seeds import generator
from testbed.engine.results import Results
from testbed.evaluations.gold import GoldMaker
from testbed.evaluations.interface import Evaluation
from testbed.protocol import Case, ControlRequest, Facet
from testbed.run.world import World
from testbed.scores.metric import MetricDefinition

__all__ = [
    "Agent",
    "Case",
    "ControlRequest",
    "EditRequest",
    "Evaluation",
    "Facet",
    "GoldMaker",
    "InputError",
    "MetricDefinition",
    "Results",
    "World",
    "generator",
]
