"""An inverse question: not which object a subject has, but which subject has an object (design.md 11)."""

import numpy as np

from bayes.interface import Agent
from corpus.errors import InputError


def who_has(
    agent: Agent, relation: int, target: int, subjects: np.ndarray, frequency: np.ndarray
) -> np.ndarray:
    """float64[n]: probability that "target, inversely relation, ..." goes on with each of some subjects.

    Somebody is spoken of as often as `frequency` says, and it turns out that they have the target: so each
    subject's posterior of having it counts as often as they are spoken of. In all 1.

    Args:
        subjects: int[n], the options, different from each other.
        frequency: float[n], how often each is spoken of.

    Raises:
        InputError: none of them can have it.
    """
    weight = np.asarray(frequency, float) * agent.probability(np.asarray(subjects), relation, target)
    if not weight.sum() > 0:
        raise InputError(
            f"none of the {len(weight)} subjects can have object {target} of relation {relation}, so none is "
            "the answer; ask about others"
        )
    return weight / weight.sum()
