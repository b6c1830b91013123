"""What do the thresholds of counting buy, and what do they cost? Its frontier with real fits, beside `keyed`.

Commands:
    python -m experiments.counting_frontier
    python -m experiments.counting_frontier --points 'counting, fewest 2, majority 0.5, unread'

Counting concludes from so many supporters (`fewest`), of whom more than a share agree (`majority`), perhaps
also what the model has never read of the subject (`unread`). Each point has thresholds of its own and stores
its answers at the subject's name, as `keyed` stores those of `self-bayes`. Worlds, models and requests are
those of `experiments.demo_worlds`, whose runs and edits are used where they are there.

The world of seed 0 is for development: `choose_point` takes there what `testbed.tune` would take. All points
are reported on the other worlds.

follows: of consequences that must change, the share that is the agent's; falsely changed: of the subject's
other answers that must stay, the share that changes. Requests contradict the truth. The last table has
what each point has more or less than `keyed` on the same cases.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from corpus.seeds import generator
from experiments import stages
from experiments.command import launch_module
from experiments.record import comparison_as_list, estimate_as_list
from experiments.settings import StagedSettings
from experiments.studies.demo_worlds import list_model_stages, list_world_runs
from experiments.studies.structure_reasoning import Thresholds
from experiments.studies.structures import FALSE, false_changes
from testbed.commands.tune import choose_setting
from testbed.engine.results import cluster_levels
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, KEPT, SKILL_RECALIBRATED, SUCCESS
from testbed.presets import EDIT
from testbed.run.runs import Run
from testbed.scores.gather import EditorResults
from testbed.scores.metric import Metric
from testbed.scores.statistics import Comparison, Estimate, compare_metrics, estimate_metric
from testbed.scores.summary import measure_readers
from testbed.scores.tables import Better, Cell, Table
from testbed.settings import CaseConfig, EditSettings

OURS, RIVAL = "keyed", "keyed-counting"
POINTS = {
    point.name: point
    for point in (
        Thresholds(1, 0.0, True),
        Thresholds(1, 0.5, True),
        Thresholds(1, 0.5, False),
        Thresholds(2, 0.5, True),
        Thresholds(2, 0.5, False),
        Thresholds(3, 0.5, False),
    )
}
"""As many as `testbed.tune` tries of every editor."""
SUPPORTS = {"0": (0, 0), "1": (1, 1), "2 or more": (2, None)}
FOLLOWS_AT = {name: f"{FOLLOWS}, support {name}" for name in SUPPORTS}
COLUMNS: dict[str, Better] = {
    SUCCESS: "high",
    **dict.fromkeys(FOLLOWS_AT.values(), "high"),
    FALSE: "low",
    KEPT: "high",
    DAMAGE: "low",
    SKILL_RECALIBRATED: "high",
}
Row = dict[str, Estimate]


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How many worlds, and how many edits of each."""

    worlds: int = 11
    """Worlds, of seeds 0, 1, ...; the first is for development."""
    edits: int = 120
    """Edits by each point in each world, half of which repeat the truth and are not judged."""
    points: tuple[str, ...] = tuple(POINTS)
    """Thresholds of counting, by their names in tables."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.points or set(self.points) - set(POINTS):
            raise ValueError(f"points must be some of {', '.join(map(repr, POINTS))}")
        if self.worlds < 2:
            raise ValueError("worlds must be 2 or more: one for development, others to report")

    @property
    def world_runs(self) -> list[Run]:
        """A run for each world."""
        return list_world_runs(self.runs, self.worlds)


def run_study(options: Settings) -> None:
    """Models, edits, tables, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """All models first; then the edits, a point at a time."""
    yield from list_model_stages(options.world_runs, clock)
    for name in (OURS, *options.points):
        for run in options.world_runs:
            about = f", {name}" if name in POINTS else ""
            yield from stages.edit_stages([edit_settings(options, run, name)], about)


def edit_settings(options: Settings, run: Run, name: str) -> EditSettings:
    """The demo's, by counting with thresholds of this name, or by `keyed`."""
    where = stages.settings_of_run(run, options.world_runs.index(run))
    editor, changes = (RIVAL, POINTS[name]._asdict()) if name in POINTS else (OURS, {})
    base = EDIT["tiny"]
    configs = stages.change_settings_of(base.configs, editor, changes)
    return replace(base, editors=(editor,), cases=CaseConfig(options.edits), configs=configs, **where)


def gather_points(options: Settings, runs: Sequence[Run]) -> list[EditorResults]:
    """The edits by `keyed` and at each point, pooled over worlds."""
    return stages.pool_worlds(
        [
            [
                stages.gather_edits(run, edit_settings(options, run, name), name)
                for name in (OURS, *options.points)
            ]
            for run in runs
        ]
    )


def measure_point(edits: EditorResults) -> dict[str, tuple[Metric, np.ndarray]]:
    """COLUMNS of one editor, each with the cases that it is about: requests that contradict the truth."""
    results = edits.results
    values = measure_readers(edits.evaluation, results, edits.editor)[edits.editor]
    among, support = ~results.cases["reinforces"], results.cases["support_new"]
    measured = {name: (values[name], among) for name in (SUCCESS, KEPT, DAMAGE, SKILL_RECALIBRATED)}
    measured[FALSE] = false_changes(results), among
    for name, (least, most) in SUPPORTS.items():
        inside = (support >= least) & (support <= (support.max() if most is None else most))
        measured[FOLLOWS_AT[name]] = values[FOLLOWS], among & inside
    return measured


def estimate_point(edits: EditorResults) -> Row:
    """COLUMNS of one editor."""
    levels = cluster_levels(edits.results)
    return {name: estimate_metric(of, levels, among) for name, (of, among) in measure_point(edits).items()}


def compare_points(ours: EditorResults, point: EditorResults) -> dict[str, Comparison]:
    """COLUMNS of one point less those of `keyed`, on the same cases."""
    levels, rng = cluster_levels(ours.results), generator(0, f"frontier {point.name}")
    mine, theirs = measure_point(ours), measure_point(point)
    return {
        name: compare_metrics(of, mine[name][0], levels, among, rng) for name, (of, among) in theirs.items()
    }


def choose_point(rows: Mapping[str, Row]) -> str:
    """The thresholds that `testbed.tune` would choose: the most skill among those with enough success."""
    lines = [
        {"name": name} | {metric: row[metric].value for metric in (SUCCESS, SKILL_RECALIBRATED)}
        for name, row in rows.items()
        if name != OURS
    ]
    return str(choose_setting(lines, SUCCESS, SKILL_RECALIBRATED)["name"])


def record_study(options: Settings) -> Path:
    """A table of the development world, and one of the others."""
    first, *others = options.world_runs
    developed = {one.name: estimate_point(one) for one in gather_points(options, [first])}
    ours, *points = gather_points(options, others)
    reported = {one.name: estimate_point(one) for one in (ours, *points)}
    differences = {point.name: compare_points(ours, point) for point in points}
    chosen = choose_point(developed)
    where = f"{len(others)} other worlds"
    rows: list[list[Cell]] = [[name, *(of[c] for c in COLUMNS)] for name, of in differences.items()]
    tables = [
        frontier_table("development", "The world for development", developed, chosen),
        frontier_table("report", where, reported, chosen),
        Table("differences", f"{where}: each point less {OURS}", ["point", *COLUMNS], rows),
    ]
    figures = {
        key: {name: {c: estimate_as_list(row[c]) for c in COLUMNS} for name, row in rows.items()}
        for key, rows in (("development", developed), ("report", reported))
    }
    figures["differences"] = {
        name: {c: comparison_as_list(of[c]) for c in COLUMNS} for name, of in differences.items()
    }
    return options.record(
        first, {"counting_frontier.md": stages.show_tables(tables)}, ("worlds", "editor"), found=figures
    )


def frontier_table(key: str, title: str, rows: Mapping[str, Row], chosen: str) -> Table:
    """A row for `keyed` and for each point."""
    cells: list[list[Cell]] = [[name, *(row[c] for c in COLUMNS)] for name, row in rows.items()]
    cases = ", ".join(f"{c}: {rows[OURS][c].cases}" for c in (*FOLLOWS_AT.values(), FALSE))
    note = f"On the development world {chosen!r} is chosen. Cases: {cases}."
    return Table(key, title, ["editor", *COLUMNS], cells, note, better=dict(COLUMNS))


if __name__ == "__main__":
    launch_module()
