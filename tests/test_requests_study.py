"""The study of requests: which settings it chooses, and who is asked what."""

import pytest

from corpus.files import write_json
from experiments.studies.requests import (
    DEVELOPMENT,
    EDITORS,
    FORGETTERS,
    SETTINGS,
    Settings,
    edit_settings,
    measure_trial,
    run_of,
)
from testbed.engine.controls.forms import ModelBelief
from testbed.evaluations.requests import Requests
from tests.worlds import HEDGED, make_hedged


def test_the_setting_whose_slope_is_nearest_to_one_is_taken_on_worlds_of_its_own(tmp_path):
    options = Settings(runs=tmp_path)
    assert not {*DEVELOPMENT} & {*options.seeds_of("retractions")}
    folder = run_of(tmp_path, DEVELOPMENT[0]).folder
    folder.mkdir(parents=True)
    slopes = {"keyed-forms": (0.5, 1.1, 0.95), "keyed-face-value": (1.2, 0.9, 0.7)}
    trials = {
        name: {str(v): [v, slope, 0.1] for v, slope in zip(SETTINGS[name][1], slopes[name], strict=False)}
        for name in SETTINGS
    }
    write_json(folder / "requests-settings.json", trials)
    claims, retractions = (edit_settings(options, 12, part) for part in ("claims", "retractions"))
    assert claims.configs["keyed-forms"].prior == SETTINGS["keyed-forms"][1][2]
    assert claims.configs["keyed-face-value"].trust == SETTINGS["keyed-face-value"][1][1]
    assert (claims.editors, retractions.editors) == (EDITORS, (*EDITORS, *FORGETTERS))
    assert retractions.chosen_evaluation.withdrawn == "fact"


def test_who_believes_what_the_agent_believes_aims_at_a_slope_of_one():
    world, agent = make_hedged()
    world, graph = world._replace(exact=(HEDGED, None, True)), world.graph
    stated = world.generative.statements > 0
    pairs = zip(graph.subject.tolist(), graph.relation.tolist(), strict=True)
    beliefs = {
        fact: ModelBelief(agent.predict(*pair).dense_probabilities() + 1e-12, 1.0 if stated[fact] else 0.0)
        for fact, pair in enumerate(pairs)
    }
    cases = list(Requests(forms=("source",), others=1).make_cases(world, agent, 60, 0.95, 0))
    ours = measure_trial([(world, beliefs, cases)], "keyed-forms", 0.2)
    rival = measure_trial([(world, beliefs, cases)], "keyed-face-value", 0.9)
    assert ours.slope == pytest.approx(1.0, abs=0.15)
    assert ours.distance < 0.1 < rival.distance
