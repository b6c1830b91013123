"""How a reader's beliefs changed, compared with the agent's: how far, in which direction, with what harm.

Let p0 and p1 be the reader's distributions over the objects of a question before and after the edit, q0 and
q1 the agent's, dp and dq their changes. Objects that are not recorded are one further outcome. TV is total
variation. Where dq is nearly 0 the agent stayed, and the direction of dq means nothing.
"""

import numpy as np

from testbed.scores.cores import lazy_property
from testbed.scores.distances import sum_last_axis, total_variation, with_remainder
from testbed.scores.metric import DISTANCE, Metric
from testbed.scores.readers import Answers
from testbed.scores.temperature import temper


class Movement:
    """Metrics of the change of belief over some choices, as sums by case.

    Args:
        answers: of the reader, after an edit.
        among: bool[N], the choices that count.
    """

    def __init__(self, answers: Answers, among: np.ndarray) -> None:
        self._answers, self._among = answers, among
        self._goal = answers.belief

    @lazy_property
    def where_moved(self) -> np.ndarray:
        """bool[N]: the choices that count and in which the agent moved."""
        return self._among & self._answers.agent_moved

    @lazy_property
    def where_stayed(self) -> np.ndarray:
        """bool[N]: the choices that count and in which the agent stayed."""
        return self._among & ~self._answers.agent_moved

    @lazy_property
    def damage(self) -> Metric:
        """Mean of max(0, TV(p1, q1) - TV(p0, q1)): the distance to the agent that the edit added.

        A reader that becomes the agent has none, from wherever it starts.
        """
        return self._mean_of_added(self._among)

    @lazy_property
    def spill(self) -> Metric:
        """Damage where the agent stayed."""
        return self._mean_of_added(self.where_stayed)

    @lazy_property
    def skill(self) -> Metric:
        """1 - sum TV(p1, q1) / sum TV(p0, q1): 1 for a reader that becomes the agent, 0 for no change."""
        return self._skill_over(self._among)

    @lazy_property
    def skill_moved(self) -> Metric:
        """Skill where the agent moved."""
        return self._skill_over(self.where_moved)

    @lazy_property
    def skill_stayed(self) -> Metric:
        """Skill where the agent stayed."""
        return self._skill_over(self.where_stayed)

    @lazy_property
    def skill_recalibrated(self) -> Metric:
        """Skill of p1 over p0, each under the reader's temperatures, which were fitted on other cases.

        Temperatures multiply: a reader that only softens or sharpens p0 ends where p0 does and has 0.

        Raises:
            ValueError: the reader has no temperatures; see `testbed.scores.recalibration`.
        """
        reader = self._answers.reader
        if reader.temperatures is None:
            raise ValueError("this reader has no temperatures; take readers from recalibrate_readers")
        before, after = (
            total_variation(temper(p, temperatures), self._goal)
            for p, temperatures in zip((reader.start, reader.probability), reader.temperatures.T, strict=True)
        )
        return self._answers.ratio_over(before - after, before, self._among)

    @lazy_property
    def propagation_ratio(self) -> Metric:
        """Sum <dp, dq> / sum ||dq||^2 where the agent moved: the part of its movement that was made."""
        return self._answers.ratio_over(self._dot_product, self._squared_norm, self.where_moved)

    @lazy_property
    def orthogonal_movement(self) -> Metric:
        """Sum ||dp - (<dp, dq> / ||dq||^2) dq|| ||dq|| / sum ||dq||^2 where the agent moved.

        The part of dp at right angles to dq, in the unit and with the weights of `propagation_ratio`. If dp
        makes an angle x with dq everywhere, it is tan x times that. It says nothing about better or worse.
        """
        share = self._dot_product / np.where(self.where_moved, self._squared_norm, 1.0)
        aside = self._change - share[:, None] * self._agents_change
        beside = np.sqrt(sum_last_axis(aside * aside) * self._squared_norm)
        ratio = self._answers.ratio_over(beside, self._squared_norm, self.where_moved)
        return ratio._replace(limits=(0.0, np.inf))

    @lazy_property
    def stray_movement(self) -> Metric:
        """Mean of ||dp - dq||_1 / 2 where the agent stayed, for better or for worse."""
        stray = 0.5 * sum_last_axis(np.abs(self._change - self._agents_change))
        return self._answers.mean_over(stray, self.where_stayed)._replace(limits=DISTANCE)

    @lazy_property
    def _agents_change(self) -> np.ndarray:
        answers = self._answers
        return answers.once(
            ("agent's change", answers.reader.time),
            lambda: with_remainder(answers.belief) - with_remainder(answers.old_belief),
        )

    @lazy_property
    def _change(self) -> np.ndarray:
        reader = self._answers.reader
        return with_remainder(reader.probability) - with_remainder(reader.start)

    @property
    def _distances(self) -> tuple[np.ndarray, np.ndarray]:
        """TV(p0, q1) and TV(p1, q1) of each choice."""
        return self._answers.start_distance, self._answers.distance

    @lazy_property
    def _dot_product(self) -> np.ndarray:
        return sum_last_axis(self._change * self._agents_change)

    @lazy_property
    def _squared_norm(self) -> np.ndarray:
        return sum_last_axis(self._agents_change * self._agents_change)

    @lazy_property
    def skill_over_recalibrated(self) -> Metric:
        """1 - sum TV(p1, q1) / sum TV(c, q1), c being the unedited model recalibrated by stratum."""
        return self._skill_over_recalibrated(self._among)

    @lazy_property
    def skill_over_recalibrated_moved(self) -> Metric:
        """The same where the agent moved."""
        return self._skill_over_recalibrated(self.where_moved)

    @lazy_property
    def skill_over_recalibrated_stayed(self) -> Metric:
        """The same where the agent stayed."""
        return self._skill_over_recalibrated(self.where_stayed)

    @lazy_property
    def damage_over_recalibrated(self) -> Metric:
        """Mean of max(0, TV(p1, q1) - TV(c, q1)); of no question where nothing was recalibrated."""
        floor = self._distance_of_recalibrated
        among = self._among if floor is not None else np.zeros(len(self._among), bool)
        _, after = self._distances
        added = np.maximum(after - (after if floor is None else floor), 0)
        return self._answers.mean_over(added, among)

    @lazy_property
    def _distance_of_recalibrated(self) -> np.ndarray | None:
        recalibrated = self._answers.results.recalibrated
        return None if recalibrated is None else total_variation(recalibrated[:, 1], self._goal)

    def _skill_over_recalibrated(self, among: np.ndarray) -> Metric:
        floor = self._distance_of_recalibrated
        _, after = self._distances
        if floor is None:
            floor, among = after, np.zeros(len(among), bool)
        return self._answers.ratio_over(floor - after, floor, among)

    def _mean_of_added(self, among: np.ndarray) -> Metric:
        reader = self._answers.reader
        # Who changes nothing adds none, wherever it is asked.
        limits = (0.0, 0.0) if reader.probability is reader.start else DISTANCE
        before, after = self._distances
        return self._answers.mean_over(np.maximum(after - before, 0), among)._replace(limits=limits)

    def _skill_over(self, among: np.ndarray) -> Metric:
        before, after = self._distances
        return self._answers.ratio_over(before - after, before, among)._replace(limits=(-np.inf, 1.0))
