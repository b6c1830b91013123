"""What editors of requests aim at before anything is stored, by their dials."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from corpus.files import read_json, write_json
from testbed.engine.controls import FormsConfig
from testbed.engine.controls.forms import ModelBelief, Reasoner, ask_about_facts
from testbed.evaluations.requests import Requests
from testbed.presets import EDIT
from testbed.protocol import Case
from testbed.run.agents import exact_agent
from testbed.run.model import load_model
from testbed.run.runs import Run
from testbed.run.world import World, load_world
from testbed.scores.tables import Cell, Table

CREDENCE = 0.95
DEVELOPMENT_CASES = 400
SETTINGS: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "keyed-forms": ("prior", (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)),
    "keyed-face-value": ("trust", (0.2, 0.4, 0.6, 0.8, 0.9, 1.0)),
}
"""The dial of each of our editors, and what is tried."""
CLAIMED = Requests(others=4)
RETRACTED = Requests(forms=("retraction",), claims=("own",), withdrawn="fact", others=4, texts=0)


class Trial(NamedTuple):
    """One setting of an editor, by what it aims at on the development worlds.

    Attributes:
        slope: of the belief on a source's reliability, by the agent's.
        distance: total variation to the agent over the fact, over all requests but retractions.
    """

    value: float
    slope: float
    distance: float


def choose_settings(runs: Sequence[Run]) -> dict[str, dict[str, Trial]]:
    """What each setting of our editors aims at on the development worlds; kept on disk in the first."""
    path = runs[0].folder / "requests-settings.json"
    if not path.exists():
        worlds = [_ask_development(run, seed) for seed, run in enumerate(runs)]
        write_json(
            path,
            {
                name: {str(value): measure_trial(worlds, name, value) for value in values}
                for name, (_, values) in SETTINGS.items()
            },
        )
    return {
        name: {value: Trial(*trial) for value, trial in trials.items()}
        for name, trials in read_json(path).items()
    }


def options_of(trials: Mapping[str, Mapping[str, Trial]]) -> dict[str, Any]:
    """Of each editor the setting whose slope is nearest to 1, as options."""
    best = {name: min(of.values(), key=lambda trial: abs(trial.slope - 1)) for name, of in trials.items()}
    return {f"{name}.{SETTINGS[name][0]}": trial.value for name, trial in best.items()}


def settings_table(settings: Mapping[str, Mapping[str, Trial]]) -> Table:
    """What was tried on the development worlds."""
    rows: list[list[Cell]] = [
        [name, f"{SETTINGS[name][0]} {trial.value:g}", trial.slope, trial.distance]
        for name, trials in settings.items()
        for trial in trials.values()
    ]
    note = "Of the beliefs that are aimed at, on two worlds apart. Chosen is the slope nearest to 1."
    header = ["editor", "setting", "slope on sources", "distance"]
    return Table("requests-settings", "Settings tried", header, rows, note, words=2)


def _ask_development(run: Run, seed: int) -> tuple:
    """A world, what its model says of every fact, and claims told in every form."""
    world, beliefs = _ask_model(run)
    cases = CLAIMED.make_cases(world, exact_agent(world), DEVELOPMENT_CASES, CREDENCE, seed)
    return world, beliefs, [case for case in cases if case.facets["form"] != "retraction"]


def _ask_model(run: Run) -> tuple[World, dict[int, ModelBelief]]:
    world = load_world(run)
    return world, ask_about_facts(load_model(run, world)[0], world)


def measure_trial(worlds: Sequence[tuple], name: str, value: float) -> Trial:
    """What an editor with a setting aims at, beside the agent's beliefs, over some worlds.

    Args:
        worlds: of each the world, what its model says of every fact, and cases.
    """
    config = _with_setting(name, value)
    product = square = 0.0
    far = []
    for world, beliefs, cases in worlds:
        reasoner = Reasoner(world, beliefs, config)
        for case in cases:
            fact, choice = int(world.graph.find(*case.request[:2])), case.choices[0]
            aim = reasoner.beliefs_after(case.request, case.credence)[fact]
            far.append(abs(aim - choice.agent[1]).sum() / 2)
            if case.facets["form"] == "source":
                place = int(np.flatnonzero(choice.options == case.request.object)[0])
                off = choice.agent[1, place] - choice.agent[0, place] - float(case.facets["centre"])
                product += off * (aim[place] - beliefs[fact].p[place])
                square += off**2
    return Trial(value, product / square if square else math.nan, float(np.mean(far)))


def measure_aim(run: Run, seed: int, retractions: int, prior: float) -> float:
    """How far from the agent `keyed-forms` aims after so many retractions; kept on disk."""
    path = run.folder / "requests-aims.json"
    if not path.exists():
        world, beliefs = _ask_model(run)
        worlds = [(world, beliefs, draw_retractions(world, retractions, seed))]
        write_json(path, {"distance": measure_trial(worlds, "keyed-forms", prior).distance})
    distance: float = read_json(path)["distance"]
    return distance


def draw_retractions(world: World, count: int, seed: int) -> list[Case]:
    """The facts that editors are to forget in a world."""
    return [*RETRACTED.make_cases(world, exact_agent(world), count, CREDENCE, seed)]


def _with_setting(name: str, value: float) -> FormsConfig:
    return replace(EDIT["requests"].configs[name], **{SETTINGS[name][0]: value})
