"""How an edited model's distributions moved beside the agent's: how far, where to, and what it harmed."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.hase.meanings import DAMAGE, MOVED, RATIO, SKILL, SKILL_MOVED, SKILL_STILL, SPILL
from testbed.evaluations.hase.roles import REQUEST
from testbed.scores.distances import sum_last_axis, total_variation, with_remainder
from testbed.scores.metric import Metric, sum_by_case
from testbed.scores.readers import Reader


def measure_movement(results: Results, reader: Reader) -> dict[str, Metric]:
    """Movement and its worth, over all choices but the request's own.

    Let p0 and p1 be what the reader says before and after the edit, q0 and q1 what the agent believes, dp
    and dq their changes; the agent moved where ||dq||_1 > MOVED. TV is total variation.

    damage: mean of max(0, TV(p1, q1) - TV(p0, q1)), the distance to the agent that the edit added. A reader
    that becomes the agent has none, from wherever it starts. spill: the same where the agent did not move.

    coherence skill: 1 - sum TV(p1, q1) / sum TV(p0, q1), over all choices, those where the agent moved, and
    those where it did not; 1 for who becomes the agent, 0 for who does not move.

    propagation ratio: sum <dp, dq> / sum ||dq||^2 where the agent moved, the part of its movement that was
    made. orthogonal movement: sum ||dp - (<dp, dq> / ||dq||^2) dq|| ||dq|| / sum ||dq||^2, what is at right
    angles to it, in the same unit and with the same weights: where dp makes an angle x with dq everywhere,
    it is tan x times the ratio. stray movement: mean of ||dp - dq||_1 / 2 where the agent did not move.
    Neither says whether it was for better or for worse.
    """
    c, size = results.choices, len(results)
    is_asked = c.role != REQUEST
    goal = c.agent[:, 1]
    gold = with_remainder(goal) - with_remainder(c.agent[:, 0])
    change = with_remainder(reader.probability) - with_remainder(reader.start)
    agent_moved = is_asked & (sum_last_axis(np.abs(gold)) > MOVED)
    agent_stayed = is_asked & ~agent_moved

    before, after = total_variation(reader.start, goal), total_variation(reader.probability, goal)
    added = np.maximum(after - before, 0)
    along, whole = sum_last_axis(change * gold), sum_last_axis(gold * gold)
    aside = change - (along / np.where(agent_moved, whole, 1.0))[:, None] * gold
    beside = np.sqrt(sum_last_axis(aside * aside) * whole)
    stray = 0.5 * sum_last_axis(np.abs(change - gold))

    def ratio_of_sums(numerator: np.ndarray, denominator: np.ndarray, among: np.ndarray) -> Metric:
        top, bottom = (np.bincount(c.case[among], x[among], size) for x in (numerator, denominator))
        return Metric(top, bottom)

    return {
        DAMAGE: sum_by_case(added, c.case, size, is_asked),
        SPILL: sum_by_case(added, c.case, size, agent_stayed),
        SKILL_MOVED: ratio_of_sums(before - after, before, agent_moved),
        SKILL_STILL: ratio_of_sums(before - after, before, agent_stayed),
        SKILL: ratio_of_sums(before - after, before, is_asked),
        RATIO: ratio_of_sums(along, whole, agent_moved),
        "orthogonal movement": ratio_of_sums(beside, whole, agent_moved),
        "stray movement": sum_by_case(stray, c.case, size, agent_stayed),
    }
