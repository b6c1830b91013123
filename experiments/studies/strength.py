"""Damage and propagation at equal strength: every editor stops where the request is as probable.

Command:
    python -m experiments.strength --run demo

Each editor edits the same facts of a run's model, once for each strength: the probability of the request at
which its edits are cut short, or stretched up to four times (`lm.editors.strength`). Editors that add nothing
to the model have no such dial, and stand once, where they are. The picture has a panel for each metric whose
name contains one of `--show`, over the mean probability that the request then has, with 95% intervals; the
table has what was reached too. Requests that repeat the truth are left out: the model says most of them
without an edit. Needs a trained run, such as the demo's; takes about a minute of one core for each editor
there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullLocator

from corpus.errors import InputError
from experiments import stages
from experiments.command import launch_module
from experiments.settings import StagedSettings
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.catalogue import prefix_of
from testbed.evaluations.hase import Hase
from testbed.pages.charts import STYLE, interval_halves, save_figure
from testbed.pages.inks import GRID
from testbed.presets import EDIT
from testbed.run.runs import Run
from testbed.scores.metric import MetricDefinition, mean_of
from testbed.scores.statistics import Estimate, estimate_metric
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table, better_of
from testbed.settings import CaseConfig, EditSettings

EDITORS = (
    "lora-down", "lora-all", "embeddings", "full", "full-early", "full-late", "ft-constrained", "rome",
    "memit", "mend", "in-context", "grace", "context-distillation", "self-bayes", "count-based", "oracle",
)  # fmt: skip
NO_DIAL = ("in-context", "grace")
EVALUATION = "hase"
REACHED = "p(request)"
NEAR = 0.02
COLUMNS = 4
TICKS = (0.01, 0.1, 0.5, 0.9, 0.99)


@dataclass(frozen=True)
class Settings(StagedSettings):
    """Which editors, at which strengths, on which run."""

    run: str = "demo"
    """Name of a trained run."""
    editors: tuple[str, ...] = EDITORS
    """Who edits."""
    strengths: tuple[float, ...] = (0.5, 0.9, 0.99)
    """Probabilities of the request."""
    cases: int = 120
    """Edits by each editor at each strength, all contradicting the truth."""
    show: tuple[str, ...] = ("damage", "harm", "spill", "propagation", "skill")
    """Parts of the names of metrics that are shown."""
    seed: int = 0
    """Of the requests."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.strengths or not all(0 < p < 1 for p in self.strengths):
            raise ValueError("strengths must be probabilities inside (0, 1)")


class Point(NamedTuple):
    """One editor at one strength.

    Attributes:
        strength: what was asked for; None for an editor without a dial.
        reached: the mean probability of the request.
        within: share of edits whose request is within NEAR of what was asked for, or beyond it; None without.
        estimates: the metrics that are shown.
    """

    editor: str
    strength: float | None
    reached: Estimate
    within: Estimate | None
    estimates: dict[str, Estimate]


def run_study(options: Settings) -> None:
    """Edits, picture, table, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, _: stages.Clock) -> Iterator[stages.Stage]:
    """The edits, an editor and a strength at a time."""
    for one in _edit_settings(options):
        yield from stages.edit_stages([one], "" if one.strength is None else f", strength {one.strength:g}")


def record_study(options: Settings) -> Path:
    """Picture, table, and the points behind them."""
    run = Run(options.runs, options.run)
    editors = stages.score_runs([run], EVALUATION, lambda config: _is_of_study(options, config))
    metrics = _choose_metrics(editors[0].evaluation.metrics, options.show)
    points = sorted(
        (_measure_point(e, [m.name for m in metrics]) for e in editors),
        key=lambda p: _point_order(options, p),
    )
    pages = {"strength.md": stages.show_tables([strength_table(points, metrics)])}
    return options.record(run, pages, points=points, cases=options.cases)


def strength_table(points: Sequence[Point], metrics: Sequence[MetricDefinition]) -> Table:
    """A row an editor and strength."""
    names = [m.name for m in metrics]
    rows: list[list[Cell]] = [
        [
            p.editor,
            "none" if p.strength is None else f"{p.strength:g}",
            p.reached,
            p.within,
            *map(p.estimates.get, names),
        ]
        for p in points
    ]
    note = (
        "± is half of a 95% interval; edits that contradict the truth. An editor without a dial stands as it "
        "is. `within`: share of edits whose request came within .02 of the strength, or beyond it."
    )
    header = ["editor", "strength", REACHED, "within", *names]
    return Table("strength", "At equal strength", header, rows, note, words=2, better=better_of(metrics))


def draw_figures(points: Sequence[dict[str, Any]], path: Path) -> None:
    """The picture of a record's points."""
    names = dict.fromkeys(name for point in points for name in point["estimates"])
    draw_strengths([Point(**point) for point in points], list(names), path)


def draw_strengths(points: Sequence[Point], metrics: Sequence[str], path: Path) -> None:
    """A panel a metric, in it a line an editor over the probability that its requests have."""
    by_editor: dict[str, list[Point]] = {}
    for point in points:
        by_editor.setdefault(point.editor, []).append(point)
    with plt.rc_context(STYLE):
        columns = min(COLUMNS, len(metrics))
        rows = -(-len(metrics) // columns)
        figure, grid = plt.subplots(rows, columns, figsize=(3.2 * columns, 3 * rows), squeeze=False)
        colours = plt.get_cmap("tab20")(np.linspace(0, 1, 20))
        for axis in grid.flat[len(metrics) :]:
            axis.remove()
        for axis, metric in zip(grid.flat, metrics, strict=False):
            for i, (name, line) in enumerate(by_editor.items()):
                at = [p for p in line if metric in p.estimates]
                values = [p.estimates[metric] for p in at]
                axis.errorbar(
                    np.clip([p.reached.value for p in at], 0.001, 0.999),
                    [v.value for v in values],
                    interval_halves(*(np.array([v[k] for v in values]) for k in range(3))),
                    fmt="o-" if line[0].strength is not None else "s",
                    color=colours[i % 20], ms=3.5, lw=1.1, elinewidth=0.5, label=name,
                )  # fmt: skip
            axis.set_title(metric, fontsize=9)
            axis.grid(axis="y", color=GRID, lw=0.6)
            # As odds, so that .9 and .99 are apart.
            axis.set_xscale("logit")
            axis.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
            axis.xaxis.set_minor_locator(NullLocator())
        figure.supxlabel("probability of the request after the edit", fontsize=10)
        figure.tight_layout()
        handles, words = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, words, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=4, frameon=False)
        save_figure(figure, path)


def request_probability(results: Results) -> np.ndarray:
    """float64[E]: the probability of each case's request after the edit; nan where it is not asked about."""
    cases, choices = results.cases, results.choices
    s, r, o = (cases[name][choices.case] for name in ("subject", "relation", "object"))
    itself = (choices.subject == s) & (choices.relation == r)
    p = np.where(choices.options == o[:, None], choices.lm[:, 1], 0.0).sum(axis=1)
    probability = np.full(len(results), np.nan)
    probability[choices.case[itself]] = p[itself]
    return probability


def _edit_settings(options: Settings) -> Iterator[EditSettings]:
    """What is to be edited, an editor and a strength at a time; what was done before is quick."""
    evaluation = Hase(reinforce=0.0)
    for name in options.editors:
        for strength in (None,) if name in NO_DIAL else options.strengths:
            yield replace(
                EDIT["tiny"], editors=(name,), run=options.run, runs=options.runs, seed=options.seed,
                cases=CaseConfig(options.cases), strength=strength,
                evaluations=EDIT["tiny"].evaluations | {prefix_of(EVALUATION): evaluation},
            )  # fmt: skip


def _is_of_study(options: Settings, config: Mapping[str, Any]) -> bool:
    settings, name = config["settings"], config["editor"]
    strengths = (None,) if name in NO_DIAL else options.strengths
    values = (settings["cases"]["count"], settings["seed"], settings["evaluation"].get("reinforce"))
    same = values == (options.cases, options.seed, 0.0) and settings["sequential"] == settings["batch"] == 1
    return same and name in options.editors and settings["strength"] in strengths


def _choose_metrics(metrics: Sequence[MetricDefinition], words: Sequence[str]) -> list[MetricDefinition]:
    """The metrics of tables whose names contain one of some words."""
    tabled = [m for m in metrics if m.shown_in != "file"]
    metrics_chosen = [m for m in tabled if any(word in m.name for word in words)]
    if not metrics_chosen:
        names = ", ".join(m.name for m in tabled)
        raise InputError(f"no metric is called anything like {', '.join(words)}; --show parts of {names}")
    return metrics_chosen


def _measure_point(editor: ScoredEditor, names: Sequence[str]) -> Point:
    results, strength = editor.edits.results, editor.edits.settings["strength"]
    p = request_probability(results)
    is_asked = ~np.isnan(p)
    levels, everywhere = cluster_levels(results), np.ones(len(results), bool)
    near = np.nan_to_num(p) >= (strength or 0.0) - NEAR
    reached, within = (
        estimate_metric(mean_of(x, is_asked), levels, everywhere) for x in (np.nan_to_num(p), near)
    )
    summary = editor.summary["all"][editor.name]
    estimates = {name: summary[name] for name in names if name in summary}
    return Point(editor.edits.editor, strength, reached, None if strength is None else within, estimates)


def _point_order(options: Settings, point: Point) -> tuple[int, float]:
    return options.editors.index(point.editor), point.strength or 0.0


if __name__ == "__main__":
    launch_module()
