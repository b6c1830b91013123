"""Editors that read no request, under TAXI, Seesaw and requests: in no headline above no edit, or a guess.

The unedited model has the agent's beliefs before the edit, sharpened. In TAXI and in Seesaw's edit success no
edit has 0 by construction, as requests contradict; who says every option alike has what guessing has.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from testbed.evaluations.requests import Requests
from testbed.evaluations.seesaw import Seesaw
from testbed.evaluations.taxi import Taxi
from testbed.protocol import ABSENT
from testbed.scores.readers import CHANCE, NO_EDIT
from testbed.scores.summary import measure_reader
from testbed.scores.temperature import temper
from tests.attack.cheats import CHEATS
from tests.test_seesaw import answer_at_random
from tests.test_taxi import random_results
from tests.worlds import make_hedged, make_people, make_taxonomy

COUNT, SLACK, SEEDS = 40, 0.01, range(3)


@cache
def make_unedited(name):
    """An evaluation, and results of a model that is surer than the agent and that no edit changed."""
    if name == "taxi":
        evaluation = Taxi()
        results = random_results(list(evaluation.make_cases(*make_taxonomy(), COUNT, 0.95, 0)))
    elif name == "requests":
        evaluation = Requests(others=2, texts=0)
        cases = list(evaluation.make_cases(*make_hedged(), 200, 0.95, 0))
        results = answer_at_random(cases, np.random.default_rng(0), evaluation)
    else:
        evaluation = Seesaw(others=6, samples=1)
        cases = list(evaluation.make_cases(*make_people(), COUNT, 0.95, 0))
        results = answer_at_random(cases, np.random.default_rng(0))
    c = results.choices
    lm = temper(np.repeat(c.agent[:, :1], 2, 1), 0.5)
    answer = np.take_along_axis(c.options[:, None].repeat(2, 1), lm.argmax(-1)[..., None], -1)[..., 0]
    answer = np.where(lm.max(-1) > 0, answer, ABSENT)
    return evaluation, replace(results, choices=c._replace(lm=lm, lm_open=lm, lm_answer=answer))


def measure(evaluation, results, reader="x"):
    return measure_reader(evaluation, results, evaluation.readers(results, "x")[reader])


def chance_of_success(results):
    """Of who guesses among the options of a request."""
    here = results.choices.role == "edit"
    assert here.any()
    return (1 / (results.choices.options[here] != ABSENT).sum(-1)).mean()


@pytest.mark.parametrize("name", ["taxi", "seesaw"])
@pytest.mark.parametrize("cheat", [name for name in CHEATS if name != "one object for everything"])
def test_no_cheat_is_above_no_edit_or_a_guess(name, cheat):
    evaluation, results = make_unedited(name)
    none = measure(evaluation, results, NO_EDIT)
    guess = measure(evaluation, results, CHANCE) if name == "taxi" else {}
    most = {m: max(none[m].value(), guess[m].value() if m in guess else none[m].value()) for m in none}
    if name == "seesaw":
        most["success"] = chance_of_success(results)
    for seed in SEEDS:
        mine = measure(evaluation, CHEATS[cheat](results, np.random.default_rng(seed)))
        for metric in (m for m in evaluation.metrics if m.shown_in == "headline"):
            assert metric.better == "high"
            assert mine[metric.id].value() <= most[metric.id] + SLACK, (metric.id, seed)


@pytest.mark.parametrize("cheat", [name for name in CHEATS if name != "one object for everything"])
def test_no_cheat_is_nearer_to_what_requests_ask_for_than_no_edit(cheat):
    """In the change that arrived, no headline, who falls silent makes a third of the agent's."""
    evaluation, results = make_unedited("requests")
    none = measure(evaluation, results, NO_EDIT)
    mine = [measure(evaluation, CHEATS[cheat](results, np.random.default_rng(seed))) for seed in range(8)]
    for name, better in ((m.id, m.better) for m in evaluation.metrics if m.shown_in == "headline"):
        # A single draw of noise may fall on either side of what does nothing.
        mean, nothing = np.mean([one[name].value() for one in mine]), none[name].value()
        assert mean <= nothing + SLACK if better == "one" else mean >= nothing, name


@pytest.mark.parametrize("cheat", ["mute", "constant"])
def test_who_finds_the_new_object_as_likely_as_every_other_does_not_state_it(cheat):
    """Such a tie was a success before."""
    evaluation, results = make_unedited("seesaw")
    mine = measure(evaluation, CHEATS[cheat](results, np.random.default_rng(0)))
    assert mine["success"].value() == 0
