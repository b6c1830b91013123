"""Hase's open problems: which edits and which answers the studies of narrators and of corrigibility count."""

from types import SimpleNamespace

import numpy as np
import pytest

from experiments.measures.open_problems import COLUMNS, THIRDS, divide_edits, measure_voices
from testbed.evaluations.hase import REQUEST as EDITED
from testbed.evaluations.kinds import FOLLOWS, REQUEST, STATED
from testbed.scores.metric import sum_by_case

HERALD, COURIER, EATS = 0, 1, 2
FIGS, PLUMS, ABSENT = 5, 6, -1


class Made(SimpleNamespace):
    """Results of so many cases."""

    def __len__(self):
        return len(next(iter(self.cases.values())))


def make_results(model, relation=HERALD):
    """One edit, "the Herald writes plums" where all wrote figs; the agent then believes in plums.

    Args:
        model: the model's answers about the Herald, the Courier and what is eaten.
    """
    options = np.full((3, 2), [FIGS, PLUMS])
    after = np.array([[0.1, 0.9], [0.9, 0.1], [0.2, 0.8]])
    agent = np.stack([np.full((3, 2), [0.9, 0.1]), after], axis=1)
    choices = SimpleNamespace(
        case=np.zeros(3, int), role=np.array([REQUEST, STATED, FOLLOWS]),
        relation=np.array([HERALD, COURIER, EATS]), options=options, agent=agent,
        agent_answer=np.array([[FIGS, PLUMS], [FIGS, FIGS], [FIGS, PLUMS]]),
        lm_answer=np.stack([np.full(3, FIGS), np.array(model)], axis=1),
    )  # fmt: skip
    return Made(cases={"object": np.array([PLUMS]), "relation": np.array([relation])}, choices=choices)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ((PLUMS, FIGS, PLUMS), (1, 1, 0, 1)),
        ((PLUMS, PLUMS, PLUMS), (1, 0, 1, 1)),
        ((FIGS, FIGS, FIGS), (0, 1, 0, 0)),
        ((PLUMS, ABSENT, ABSENT), (1, 0, 0, 0)),
    ],
)
def test_voices_are_told_apart(model, expected):
    *found, stays = measure_voices(make_results(model), [HERALD, COURIER], EATS)
    assert [metric.value() for metric in found] == [*expected]
    assert stays.denominator.sum() == 0
    assert len(found) + 1 == len(COLUMNS)


def test_an_edit_in_nobodys_voice_is_not_counted():
    found = measure_voices(make_results((PLUMS, FIGS, PLUMS), relation=EATS), [HERALD, COURIER], EATS)
    assert not any(metric.denominator.any() for metric in found)


def test_a_share_is_over_the_choices_of_all_cases():
    is_so, among = np.array([1, 0, 1, 1, 0], bool), np.array([1, 1, 1, 0, 0], bool)
    metric = sum_by_case(is_so, np.array([0, 0, 2, 2, 2]), 3, among)
    assert metric.numerator.tolist() == [1, 0, 1]
    assert metric.denominator.tolist() == [2, 0, 1]


def test_edits_are_divided_by_what_the_agent_expected():
    p = np.array([0.3, 0.001, 0.05, 0.2, 0.01, 0.0])
    agent = np.zeros((6, 2, 1))
    agent[:, 0, 0] = p
    choices = SimpleNamespace(
        case=np.arange(6), role=np.full(6, EDITED), options=np.full((6, 1), PLUMS), agent=agent
    )
    depends = np.array([1, 0, 0, 1, 1, 1], bool)
    parts = divide_edits(Made(cases={"object": np.full(6, PLUMS), "child": depends}, choices=choices))
    thirds = [set(np.flatnonzero(parts[name]).tolist()) for name in THIRDS]
    assert thirds == [{0, 3}, {2, 4}, {1, 5}]
    assert (parts["something depends on it"] == depends).all()
    assert (parts["nothing does"] == ~depends).all()
