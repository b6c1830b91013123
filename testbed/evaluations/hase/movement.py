"""How an edited model's distributions moved beside the agent's: how far, where to, and what it harmed."""

import numpy as np

from testbed.engine.results import Results
from testbed.evaluations.hase.meanings import DAMAGE, MOVED, RATIO, SKILL, SKILL_MOVED, SKILL_STILL, SPILL
from testbed.evaluations.hase.roles import REQUEST
from testbed.scores.distances import total, total_variation, with_remainder
from testbed.scores.metric import Metric, by_case
from testbed.scores.readers import Reader


def movement(results: Results, reader: Reader) -> dict[str, Metric]:
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
    asked = c.role != REQUEST
    goal = c.agent[:, 1]
    gold = with_remainder(goal) - with_remainder(c.agent[:, 0])
    change = with_remainder(reader.probability) - with_remainder(reader.start)
    moved = asked & (total(np.abs(gold)) > MOVED)
    still = asked & ~moved

    before, after = total_variation(reader.start, goal), total_variation(reader.probability, goal)
    added = np.maximum(after - before, 0)
    along, whole = total(change * gold), total(gold * gold)
    aside = change - (along / np.where(moved, whole, 1.0))[:, None] * gold
    beside = np.sqrt(total(aside * aside) * whole)
    stray = 0.5 * total(np.abs(change - gold))

    def ratio(numerator: np.ndarray, denominator: np.ndarray, among: np.ndarray) -> Metric:
        top, bottom = (np.bincount(c.case[among], x[among], size) for x in (numerator, denominator))
        return Metric(top, bottom)

    return {
        DAMAGE: by_case(added, c.case, size, asked),
        SPILL: by_case(added, c.case, size, still),
        SKILL_MOVED: ratio(before - after, before, moved),
        SKILL_STILL: ratio(before - after, before, still),
        SKILL: ratio(before - after, before, asked),
        RATIO: ratio(along, whole, moved),
        "orthogonal movement": ratio(beside, whole, moved),
        "stray movement": by_case(stray, c.case, size, still),
    }
