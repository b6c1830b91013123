"""Requests of every kind, in worlds that no setting was chosen on: slopes, retractions, beliefs.

Command:
    python -m experiments.requests

Worlds of the preset `requests`: sources of five reliabilities and statements with a probability speak of
their facts. Editors of text are told sentences; `keyed-forms` (ours) and `keyed-face-value`, its trivial
rival, what the request makes of the model's own beliefs. These two get one dial each, chosen among six
settings on two further worlds by the slope of what they aim at on how reliable a source is. Then every
editor is told claims in every form, editors of text once more to learn the object or the label alone, and
retractions of whole facts by themselves: as if nothing had been said of the fact. Beside them stands a model
that was trained without some facts. A world takes some minutes of a core.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus.files import read_json, write_json
from experiments import stages
from experiments.command import launch_module
from experiments.record import BY_EDITOR, figures_by_editor
from experiments.settings import StagedSettings
from experiments.studies.untold import Untold, measure_untold, untold_table
from testbed.engine.controls import FormsConfig
from testbed.engine.controls.forms import ModelBelief, Reasoner, ask_about_facts
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.evaluations.requests import CLAIMS, FORMS, GRADED, Requests
from testbed.evaluations.requests.metrics import DAMAGE, DEDUCIBLE, FAR, NOT_DEDUCIBLE, SLOPE
from testbed.evaluations.requests.tables import (
    CHANNELS,
    DISJUNCTIONS,
    form_table,
    retraction_table,
    slope_table,
)
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.protocol import Case
from testbed.run.agents import exact_agent
from testbed.run.model import load_model
from testbed.run.runs import Run, read_metrics
from testbed.run.world import World, load_world
from testbed.scores.frame import frame_of
from testbed.scores.gather import gather_results
from testbed.scores.readers import BAYESIAN, NO_EDIT
from testbed.scores.summary import ScoredEditor, score_editors
from testbed.scores.tables import Cell, Table
from testbed.scores.views import make_table
from testbed.settings import CaseConfig, EditSettings

TEXT_EDITORS = ("full", "lora-down", "ft-constrained")
"""Fine-tuning: plain, of adapters, and bounded. They are told sentences."""
FIRST_SEED = 10
DEVELOPMENT = (0, 1)
"""Seeds of the worlds on which settings were chosen."""
CREDENCE = 0.95
DEVELOPMENT_CASES = 400
SETTINGS: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "keyed-forms": ("prior", (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)),
    "keyed-face-value": ("trust", (0.2, 0.4, 0.6, 0.8, 0.9, 1.0)),
}
"""The dial of each of our editors, and what is tried."""
CLAIMED, RETRACTED = (
    Requests(others=4),
    Requests(forms=("retraction",), claims=("own",), withdrawn="fact", others=4, texts=0),
)
EVALUATIONS = {
    "claims": CLAIMED,
    "retractions": RETRACTED,
    "more claims": replace(CLAIMED, texts=0),
    "doubt": replace(CLAIMED, texts=0, learn="doubt"),
    "more retractions": RETRACTED,
}
"""What is asked: claims in every form, with passages or without; the same of which the object or the label
alone is learned; and retractions."""
EDITORS_OF = {
    "claims": ("keyed-forms", "keyed-face-value", "full"),
    "retractions": ("keyed-forms",),
    "more claims": ("lora-down", "ft-constrained"),
    "doubt": TEXT_EDITORS,
    "more retractions": TEXT_EDITORS,
}
IN_ALL = ("claims", "retractions")
"""What is asked in every world."""
IN_DOUBT = ", in doubt alone"
"""Behind the names of editors that learn what is in doubt alone."""
PARTS = (*FORMS, *(f"{form}, {claim}" for form in FORMS for claim in CLAIMS), DEDUCIBLE, NOT_DEDUCIBLE)


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How many worlds, and who edits them."""

    worlds: int = 10
    """Worlds, of seeds 10, 11, ..., in which our editors and plain fine-tuning are told claims, and ours
    retractions."""
    some: int = 4
    """Of these the first, in which other editors are asked, too, and to learn the object or label alone."""
    untold: int = 4
    """Of these the first, in which a model is trained without some facts."""
    edits: int = 84
    """Requests that each editor is told in each world: some six claims, each in every form."""
    retractions: int = 105
    """Facts that each editor is to forget in each world, at most."""

    @property
    def seeds(self) -> range:
        """The seeds of the worlds."""
        return range(FIRST_SEED, FIRST_SEED + self.worlds)

    def seeds_of(self, part: str) -> range:
        """Those in which a part of EVALUATIONS is asked."""
        return self.seeds if part in IN_ALL else self.seeds[: self.some]


class Trial(NamedTuple):
    """One setting of an editor, by what it aims at on the development worlds.

    Attributes:
        slope: of the belief on a source's reliability, by the agent's.
        distance: total variation to the agent over the fact, over all requests but retractions.
    """

    value: float
    slope: float
    distance: float


def run_of(runs: Path, seed: int) -> Run:
    """The run of the world of a seed."""
    return Run(runs, f"told-{seed}")


def run_study(options: Settings) -> None:
    """Models, settings, edits, tables, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """The development worlds' models and the settings, then the models and the edits of the others."""
    for seed in (*DEVELOPMENT, *options.seeds):
        yield from world_stages(options.runs, seed, clock)
    yield "settings", partial(choose_settings, options)
    # Generators make each stage when its turn comes, and then the settings are chosen.
    for seed in options.seeds:
        yield f"aims in the world of seed {seed}", partial(measure_aims, options, seed)
        for part in IN_ALL:
            yield from stages.edit_stages([edit_settings(options, seed, part)], f", {part}")
    for seed in options.seeds[: options.untold]:
        yield f"a model that was not told facts of seed {seed}", partial(untold_in, options, seed)
    for seed in options.seeds[: options.some]:
        for part in (name for name in EVALUATIONS if name not in IN_ALL):
            yield from stages.edit_stages([edit_settings(options, seed, part)], f", {part}")


def world_stages(runs: Path, seed: int, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Corpus and model of the world of a seed."""
    where = stages.settings_of_run(run_of(runs, seed), seed)
    corpus, training = replace(CORPUS["requests"], **where), replace(TRAIN["requests"], **where)
    yield from stages.model_stages(corpus, training, clock)


def choose_settings(options: Settings) -> dict[str, dict[str, Trial]]:
    """What each setting of our editors aims at on the development worlds; kept on disk."""
    path = run_of(options.runs, DEVELOPMENT[0]).folder / "requests-settings.json"
    if not path.exists():
        worlds = [_ask_development(run_of(options.runs, seed), seed) for seed in DEVELOPMENT]
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


def _ask_development(run: Run, seed: int) -> tuple:
    """A world, what its model says of every fact, and claims told in every form."""
    world, beliefs = _ask_model(run)
    cases = EVALUATIONS["claims"].make_cases(world, exact_agent(world), DEVELOPMENT_CASES, CREDENCE, seed)
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


def measure_aims(options: Settings, seed: int) -> float:
    """How far from the agent `keyed-forms` aims after retractions, before it is stored; kept on disk."""
    run = run_of(options.runs, seed)
    path = run.folder / "requests-aims.json"
    if not path.exists():
        settings = edit_settings(options, seed, "retractions")
        world, beliefs = _ask_model(run)
        worlds = [(world, beliefs, draw_retractions(options, world, seed))]
        trial = measure_trial(worlds, "keyed-forms", settings.configs["keyed-forms"].prior)
        write_json(path, {"distance": trial.distance})
    return read_json(path)["distance"]


def draw_retractions(options: Settings, world: World, seed: int) -> list[Case]:
    """The facts that editors are to forget in a world."""
    evaluation = EVALUATIONS["retractions"]
    return [*evaluation.make_cases(world, exact_agent(world), options.retractions, CREDENCE, seed)]


def untold_in(options: Settings, seed: int) -> Untold:
    """What a model of a world says that was never told some of these facts."""
    run = run_of(options.runs, seed)
    world = load_world(run)
    return measure_untold(run, world, draw_retractions(options, world, seed))


def _with_setting(name: str, value: float) -> FormsConfig:
    return replace(EDIT["requests"].configs[name], **{SETTINGS[name][0]: value})


def edit_settings(options: Settings, seed: int, part: str) -> EditSettings:
    """The preset's, with those settings of our editors whose slope is nearest to 1."""
    configs = dict(EDIT["requests"].configs)
    for name, trials in choose_settings(options).items():
        best = min(trials.values(), key=lambda trial: abs(trial.slope - 1))
        configs[name] = _with_setting(name, best.value)
    return replace(
        EDIT["requests"],
        editors=EDITORS_OF[part],
        configs=configs,
        evaluations=EDIT["requests"].evaluations | {"requests": EVALUATIONS[part]},
        cases=CaseConfig(options.retractions if EVALUATIONS[part] is RETRACTED else options.edits, CREDENCE),
        **stages.settings_of_run(run_of(options.runs, seed), seed),
    )


def record_study(options: Settings) -> Path:
    """The tables of the chapter, of all worlds; slopes by world; settings; what the models label rightly."""
    seeds = options.seeds
    asked = {part: score_worlds(options, options.seeds_of(part), part) for part in EVALUATIONS}
    by_world = {seed: score_worlds(options, [seed], "claims") for seed in seeds}
    untold = {seed: untold_in(options, seed) for seed in seeds[: options.untold]}
    taken_back = {seed: score_worlds(options, [seed], "retractions") for seed in untold}
    figures: dict[str, Any] = {part: figures_by_editor(editors, PARTS) for part, editors in asked.items()}
    claims, settings = asked["claims"], choose_settings(options)
    told = [*claims, *asked["more claims"], *asked["doubt"]]
    retractions = [*asked["retractions"], *asked["more retractions"]]
    tables = [
        slope_table(frame_of(told)), distance_table(told), make_table(CHANNELS, frame_of(told)),
        world_table(by_world), form_table(claims, frame_of(claims)), make_table(DISJUNCTIONS,
        frame_of(claims)), retraction_table(frame_of(retractions)), retraction_table(frame_of(claims)),
        untold_table(untold, taken_back), settings_table(settings),
    ]  # fmt: skip
    aims = [round(measure_aims(options, seed), 4) for seed in seeds]
    labels = {f"told-{seed}": read_metrics(run_of(options.runs, seed))[-1]["truth"] for seed in seeds}
    return options.record(
        run_of(options.runs, FIRST_SEED),
        {"requests.md": stages.show_tables(table for table in tables if table)},
        BY_EDITOR,
        **figures,
        aims={"by world": {"all": {"keyed-forms": {"distance aimed at": aims}}}},
        labels_right={name: {"all": {"model": {"labels right": share}}} for name, share in labels.items()},
    )


def score_worlds(options: Settings, seeds: Sequence[int], part: str) -> list[ScoredEditor]:
    """The editors on the worlds of some seeds pooled, in the order of the settings."""
    runs = [run_of(options.runs, seed) for seed in seeds]
    wanted = stages.config_matcher(edit_settings(options, seeds[0], part))
    behind = IN_DOUBT if part == "doubt" else ""
    edits = gather_results(runs, recorded_evaluation_named("requests"), wanted)
    edits.sort(key=lambda one: EDITORS_OF[part].index(one.editor))
    return score_editors([one._replace(name=f"{one.editor}{behind}") for one in edits])


def distance_table(editors: Sequence[ScoredEditor]) -> Table:
    """How far from the agent the fact is after statements of sources and probabilities, by claim."""
    parts = [f"{form}, {claim}" for form in GRADED for claim in CLAIMS]
    parts = [part for part in parts if all(part in e.summary for e in editors)]
    readers = [*((e, e.name) for e in editors), (editors[0], NO_EDIT), (editors[0], BAYESIAN)]
    rows: list[list[Cell]] = [[who, *(e.summary[part][who].get(FAR) for part in parts)] for e, who in readers]
    title = "How far from the agent is the fact?"
    note = "Total variation after statements of sources or with probabilities, by what is claimed."
    return Table("requests-distance", title, ["who", *parts], rows, note)


def world_table(by_world: Mapping[int, Sequence[ScoredEditor]]) -> Table:
    """A row an editor and figure, a column a world: slope on a source's reliability, damage."""
    names = [one.name for one in next(iter(by_world.values()))]
    rows: list[list[Cell]] = [
        [name, metric, *(scored[i].summary["source"][name].get(metric) for scored in by_world.values())]
        for i, name in enumerate(names)
        for metric in (SLOPE, DAMAGE)
    ]
    title = "Sources, by world"
    return Table(
        "requests-worlds", title, ["editor", "", *(f"seed {seed}" for seed in by_world)], rows, words=2
    )


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


if __name__ == "__main__":
    launch_module()
