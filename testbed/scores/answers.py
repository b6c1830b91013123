"""Which answers are right by the agent, and where its own answer changes."""

import numpy as np

from testbed.engine.results import Choices
from testbed.protocol import is_equally_good


def is_as_good(choices: Choices, answer: np.ndarray, time: int) -> np.ndarray:
    """bool[N]: whether an answer, int[N], is as probable to the agent as its own at that time.

    Where several objects are most probable, the agent's answer is the first of them, and any other is right.
    """
    best_answer = choices.agent_answer[:, time]
    good = answer == best_answer
    others = np.flatnonzero(~good)
    options, agent = choices.options[others], choices.agent[others, time]

    def belief_in(obj: np.ndarray) -> np.ndarray:
        named = options == obj[others, None]
        place = np.arange(len(named)), named.argmax(-1)
        return np.where(named[place], agent[place], 0.0)

    good[others] = is_equally_good(belief_in(answer), belief_in(best_answer))
    return good


def has_to_change(choices: Choices, time: int = 1) -> np.ndarray:
    """bool[N]: whether the agent's answer before the edit is none of its best at that time."""
    return ~is_as_good(choices, choices.agent_answer[:, 0], time)
