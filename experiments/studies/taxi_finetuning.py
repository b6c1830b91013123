"""When does fine-tuning a category carry its properties along (Powell et al. 2024, Table 2: not at all)?

Command:
    python -m experiments.taxi_finetuning

The paper's fine-tuning is at chance; on small models it is not. One generated taxonomy is varied in one
respect at a time: how often facts are stated, members of a category, layers of the model. On each, all, the
first and the last third of the layers are tuned to the same edits; on the first and on the deepest, with
other learning rates, too. No setting is chosen: the figure shows what decides.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from corpus.config import TaxonomyWorld
from experiments import stages
from experiments.command import launch_module
from experiments.settings import StagedSettings
from lm.editors.full import FullConfig
from testbed.evaluations.taxi.metrics import CONSISTENCY, OTHERS_RIGHT, SUCCESS
from testbed.pages.charts import fill_panel, finish_figure, make_panels, picture_style, save_figure
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run, read_metrics
from testbed.run.settings import CorpusSettings, TrainSettings
from testbed.scores.readers import CHANCE
from testbed.scores.statistics import Estimate
from testbed.scores.tables import Cell, Table
from testbed.settings import CaseConfig, EditSettings

NAME, EVALUATION = "taxi-finetuning", "taxi"
EDITORS = {"full": "all layers", "full-early": "first third", "full-late": "last third"}
RATE = FullConfig(learning_rate=1e-2).learning_rate
RATES = (1e-3, 3e-3, RATE, 3e-2, 1e-1)
MEMBERS = (2, 4, 8, 16, 32, 64)
NEVER = (0.0, 0.25, 0.5, 0.9)
DEEP_RATES = (RATE, 3e-2, 1e-1, 3e-1)
LAYERS = (2, 4, 8, 12)
RATES_PANEL, DEEP_PANEL, LAYERS_PANEL = "learning rate", "learning rate, 12 layers", "layers"
MEMBERS_PANEL, NEVER_PANEL = "members of a category", "share of properties never stated"
PANELS = (RATES_PANEL, DEEP_PANEL, MEMBERS_PANEL, NEVER_PANEL, LAYERS_PANEL)
WORLD = TaxonomyWorld(superordinates=2, categories=6)


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How much is measured."""

    edits: int = 120
    """Edits by each editor."""
    seed: int = 0
    """Of world, corpus, model and edits."""
    panels: tuple[str, ...] = PANELS
    """What is varied."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.panels or set(self.panels) - set(PANELS):
            raise ValueError(f"panels must be some of {', '.join(map(repr, PANELS))}")


class ModelVariant(NamedTuple):
    """One trained model: how large categories are, how much is said, how deep it is."""

    members: int
    never: float
    layers: int

    @property
    def name(self) -> str:
        """Of its run."""
        return f"{NAME}-{self.members}-{self.never:g}-{self.layers}"


BASE = ModelVariant(members=4, never=0.25, layers=2)
"""What the others vary."""
DEEP = BASE._replace(layers=LAYERS[-1])
PLACES: Mapping[str, Sequence[tuple[float, ModelVariant, float]]] = {
    RATES_PANEL: [(rate, BASE, rate) for rate in RATES],
    DEEP_PANEL: [(rate, DEEP, rate) for rate in DEEP_RATES],
    MEMBERS_PANEL: [(n, BASE._replace(members=n), RATE) for n in MEMBERS],
    NEVER_PANEL: [(share, BASE._replace(never=share), RATE) for share in NEVER],
    LAYERS_PANEL: [(n, BASE._replace(layers=n), RATE) for n in LAYERS],
}
"""Of each panel, its places, the model there and the learning rate of its edits."""


class Point(NamedTuple):
    """What one editor did at one place of a panel; what chance does there."""

    panel: str
    at: float
    editor: str
    estimates: dict[str, Estimate]
    chance: Estimate


def list_rates(options: Settings) -> dict[ModelVariant, list[float]]:
    """All models, and the learning rates of their edits."""
    rates: dict[ModelVariant, list[float]] = {}
    for _, variant, rate in chain.from_iterable(PLACES[panel] for panel in options.panels):
        of_variant = rates.setdefault(variant, [])
        of_variant.extend({rate} - {*of_variant})
    return rates


def variant_settings(options: Settings, setting: ModelVariant) -> tuple[CorpusSettings, TrainSettings]:
    """Settings of one world and its model; training is longer where there is more to read."""
    corpus, training = CORPUS[EVALUATION], TRAIN[EVALUATION]
    where = stages.settings_of_run(Run(options.runs, setting.name), options.seed)
    rest = 1 - setting.never
    exact = replace(corpus.exact, strata=(setting.never, rest / 3, rest - rest / 3))
    world = replace(corpus.world, taxonomy=replace(WORLD, members=setting.members))
    steps = round(600 * max(1.0, (setting.members / 16) ** 0.5))
    return (
        replace(corpus, world=world, exact=exact, **where),
        replace(
            training,
            model=replace(training.model, layers=setting.layers, unroll=setting.layers),
            train=replace(training.train, steps=steps),
            **where,
        ),
    )


def run_study(options: Settings) -> None:
    """Worlds, models, edits, figure, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Worlds, models, edits; trainings stop when the time is over."""
    for variant, rates in list_rates(options).items():
        yield from stages.model_stages(*variant_settings(options, variant), clock)
        yield from stages.edit_stages(edit_settings(options, variant, rate) for rate in rates)


def record_study(options: Settings) -> Path:
    """The figure, its table, and the points behind them."""
    points = [point for panel in options.panels for point in _measure_points(options, panel)]
    pages = {"finetuning.md": stages.show_tables([points_table(points)])}
    runs = {variant.name: Run(options.runs, variant.name) for variant in list_rates(options)}
    accuracy = {name: read_metrics(run)[-1] for name, run in runs.items()}
    return options.record(next(iter(runs.values())), pages, points=points, models=accuracy)


def edit_settings(options: Settings, setting: ModelVariant, rate: float) -> EditSettings:
    """The same edits by all three editors, with one learning rate."""
    base = EDIT[EVALUATION]
    tuned = {name: replace(base.configs[name], learning_rate=rate) for name in EDITORS}
    return replace(
        base,
        **stages.settings_of_run(Run(options.runs, setting.name), options.seed),
        editors=tuple(EDITORS),
        cases=CaseConfig(count=options.edits),
        configs=base.configs | tuned,
    )


def _measure_points(options: Settings, panel: str) -> Iterator[Point]:
    for at, variant, rate in PLACES[panel]:
        settings = edit_settings(options, variant, rate)
        for editor in stages.score_edits([Run(options.runs, variant.name)], settings):
            measured, chance = (editor.summary["all"][who] for who in (editor.name, CHANCE))
            metrics = {metric: measured[metric] for metric in (SUCCESS, CONSISTENCY, OTHERS_RIGHT)}
            yield Point(panel, at, EDITORS[editor.edits.editor], metrics, chance[CONSISTENCY])


def points_table(points: Sequence[Point]) -> Table:
    """A row an editor at a place."""
    rows: list[list[Cell]] = [
        [p.panel, f"{p.at:g}", p.editor, *p.estimates.values(), p.chance]
        for p in sorted(points, key=lambda p: (p.panel, p.at, p.editor))
    ]
    header = ["varied", "at", "tuned", SUCCESS, CONSISTENCY, OTHERS_RIGHT, "consistency by chance"]
    note = "± is half of a 95% interval. One world, one model and the same edits at each place."
    return Table(NAME, "What decides whether properties follow", header, rows, note, words=3)


def draw_figures(points: Sequence[dict[str, Any]], path: Path) -> None:
    """The picture of a record's points."""
    draw_points([Point(**point) for point in points], path)


def draw_points(points: Sequence[Point], path: Path) -> None:
    """A panel for what is varied, in it a line for the layers that are tuned, and one for chance."""
    names = list(dict.fromkeys(p.panel for p in points))
    with picture_style():
        figure, axes = make_panels(len(names), across=False)
        for axis, panel in zip(axes, names, strict=True):
            mine = sorted((p for p in points if p.panel == panel), key=lambda p: p.at)
            places = sorted({p.at for p in mine})
            lines = {
                who: [p.estimates[CONSISTENCY] for p in mine if p.editor == who] for who in EDITORS.values()
            }
            lines["chance"] = [next(p.chance for p in mine if p.at == at) for at in places]
            fill_panel(axis, panel, lines, [f"{at:g}" for at in places])
        finish_figure(figure, axes, "", CONSISTENCY)
        save_figure(figure, path)


if __name__ == "__main__":
    launch_module()
