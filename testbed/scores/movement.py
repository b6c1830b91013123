"""How a reader's distributions moved beside the agent's: how far, where to, and what it harmed.

Let p0 and p1 be what the reader says of a question before and after the edit, q0 and q1 what the agent
believes, dp and dq their changes, with what is not named as one further outcome. TV is total variation.
Where dq is hardly anything, what dp has in common with it says nothing: there the agent stayed.
"""

from functools import cached_property

import numpy as np

from testbed.scores.distances import sum_last_axis, total_variation, with_remainder
from testbed.scores.metric import Metric
from testbed.scores.readers import Answers

MOVED = 0.02
"""A distribution moved where its probabilities changed by more, in sum: the L1 norm of the change."""


def has_moved(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """bool[...]: whether ||after - before||_1 > MOVED over the last axis, the remainder counted in."""
    return sum_last_axis(np.abs(with_remainder(after) - with_remainder(before))) > MOVED


class Movement:
    """Movement and its worth over some choices; each metric is summed by case.

    Args:
        answers: of the reader, after an edit.
        among: bool[N], the choices that count.
    """

    def __init__(self, answers: Answers, among: np.ndarray) -> None:
        self._answers, self._among = answers, among
        old_belief, self._goal, reader = answers.old_belief, answers.belief, answers.reader
        self._agents_change = with_remainder(self._goal) - with_remainder(old_belief)
        self._change = with_remainder(reader.probability) - with_remainder(reader.start)
        moved = has_moved(old_belief, self._goal)
        self.where_moved, self.where_stayed = among & moved, among & ~moved

    @cached_property
    def damage(self) -> Metric:
        """Mean of max(0, TV(p1, q1) - TV(p0, q1)): the distance to the agent that the edit added.

        A reader that becomes the agent has none, from wherever it starts.
        """
        return self._answers.mean_over(self._added_distance, self._among)

    @cached_property
    def spill(self) -> Metric:
        """Damage where the agent stayed."""
        return self._answers.mean_over(self._added_distance, self.where_stayed)

    @cached_property
    def skill(self) -> Metric:
        """1 - sum TV(p1, q1) / sum TV(p0, q1); 1 for who becomes the agent, 0 for who does not move."""
        return self._skill_over(self._among)

    @cached_property
    def skill_moved(self) -> Metric:
        """Skill where the agent moved."""
        return self._skill_over(self.where_moved)

    @cached_property
    def skill_stayed(self) -> Metric:
        """Skill where the agent stayed."""
        return self._skill_over(self.where_stayed)

    @cached_property
    def propagation_ratio(self) -> Metric:
        """Sum <dp, dq> / sum ||dq||^2 where the agent moved: the part of its movement that was made."""
        return self._answers.ratio_over(self._dot_product, self._squared_norm, self.where_moved)

    @cached_property
    def orthogonal_movement(self) -> Metric:
        """Sum ||dp - (<dp, dq> / ||dq||^2) dq|| ||dq|| / sum ||dq||^2 where the agent moved.

        What is at right angles to the agent's movement, in the unit and with the weights of the propagation
        ratio: where dp makes an angle x with dq everywhere, it is tan x times the ratio. It does not say
        whether that was for better or for worse.
        """
        share = self._dot_product / np.where(self.where_moved, self._squared_norm, 1.0)
        aside = self._change - share[:, None] * self._agents_change
        beside = np.sqrt(sum_last_axis(aside * aside) * self._squared_norm)
        return self._answers.ratio_over(beside, self._squared_norm, self.where_moved)

    @cached_property
    def stray_movement(self) -> Metric:
        """Mean of ||dp - dq||_1 / 2 where the agent stayed, for better or for worse."""
        stray = 0.5 * sum_last_axis(np.abs(self._change - self._agents_change))
        return self._answers.mean_over(stray, self.where_stayed)

    @cached_property
    def _distances(self) -> tuple[np.ndarray, np.ndarray]:
        """TV(p0, q1) and TV(p1, q1) of each choice."""
        reader = self._answers.reader
        return total_variation(reader.start, self._goal), total_variation(reader.probability, self._goal)

    @property
    def _added_distance(self) -> np.ndarray:
        before, after = self._distances
        return np.maximum(after - before, 0)

    @cached_property
    def _dot_product(self) -> np.ndarray:
        return sum_last_axis(self._change * self._agents_change)

    @cached_property
    def _squared_norm(self) -> np.ndarray:
        return sum_last_axis(self._agents_change * self._agents_change)

    def _skill_over(self, among: np.ndarray) -> Metric:
        before, after = self._distances
        return self._answers.ratio_over(before - after, before, among)
