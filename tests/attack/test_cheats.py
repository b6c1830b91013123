"""Editors that read no request, or fail where nobody looks: none is above no edit in a headline of Hase's.

The models are like a trained one: they have the agent's answers and are surer of them, and a request changes
what is believed of some questions, in half of the cases of what depends on it too. Who generates one object
for everything follows as many consequences as that object happens to be right of; it is held on many cases at
once, in what is gained: right answers less those that became wrong.
"""

import numpy as np
from hypothesis import strategies as st

from testbed.protocol import ABSENT
from testbed.scores.temperature import temper
from tests.attack.cheats import CHEATS, HEADLINES, measure, repeat_one_object, soften
from tests.examples import holds_for
from tests.random_answers import CHILD, HASE, REQUEST, distributions, draw_answers, flat

SEEDS = st.integers(0, 2**32 - 1)
BETTER = {m.id: m.better for m in HASE.metrics}
SLACK = 0.01
"""Temperatures are found up to so much of skill, in cases of a few questions."""


def draw_results(seed, sharpness=None):
    """A model that is surer than the agent, and edits that did nothing."""
    given, rng = draw_answers(seed), np.random.default_rng(seed)
    given.stated[:] = rng.choice([0, 2, 9], given.stated.shape)
    given.agent[:, :, 1] = given.agent[:, :, 0]
    given.agent[:, REQUEST, 1] = distributions(rng, len(given.agent))
    half = rng.permutation(len(given.agent)) < len(given.agent) // 2
    given.agent[half, CHILD, 1] = distributions(rng, half.sum())
    given.lm[:] = temper(given.agent[:, :, :1], sharpness or rng.uniform(0.3, 0.9))
    present = given.present
    for who, answers in ((given.agent, given.agent_answer), (given.lm, given.lm_answer)):
        answers[:] = np.where(present[..., None], 10 + who.argmax(-1), ABSENT)
    return flat(given)


@holds_for(SEEDS, few=12, many=500)
def test_no_cheat_is_above_no_edit_in_a_headline(seed):
    results = draw_results(seed)
    none = measure(results, "no edit")
    for cheat in CHEATS.keys() - {"one object for everything"}:
        mine = measure(CHEATS[cheat](results, np.random.default_rng(seed)))
        for name in HEADLINES:
            if none[name].denominator.sum():
                assert BETTER[name] == "high"
                assert mine[name].value() <= none[name].value() + SLACK, (cheat, name)


def test_one_object_for_everything_is_below_no_edit():
    sums = {name: np.zeros((2, 2)) for name in HEADLINES}
    for results in map(draw_results, range(40)):
        both = measure(repeat_one_object(results, None)), measure(results, "no edit")
        for name in HEADLINES:
            sums[name] += [[one[name].numerator.sum(), one[name].denominator.sum()] for one in both]
    for name, of_both in sums.items():
        mine, none = of_both[:, 0] / of_both[:, 1]
        assert mine < none or name == "success"
        assert mine <= none + SLACK


def test_softening_alone_had_skill_before():
    """Why the skill in the headlines is recalibrated."""
    results = draw_results(3, sharpness=0.5)
    soft = measure(soften(1.5)(results, None))
    assert soft["skill"].value() > 0.1
    assert abs(soft["skill.recalibrated"].value()) < SLACK
