"""What do the thresholds of counting buy, and what do they cost? Its frontier with real fits, beside `keyed`.

Command:
    python -m experiments.counting_frontier

Counting concludes from so many supporters (`fewest`), of whom more than a share agree (`majority`), perhaps
also what the model has never read of the subject (`unread`). Each point has thresholds of its own and stores
its answers at the subject's name, as `keyed` stores those of `self-bayes`. Worlds, models and requests are
those of `experiments.demo_worlds`, whose runs and edits are used where they are there.

The world of seed 0 is for development: `choose_point` takes there what `testbed.tune` would take. All points
are reported on the other worlds.

follows: of consequences that must change, the share that is the agent's; falsely changed: of the subject's
other answers that must stay, the share that changes. Requests contradict the truth.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments import stages
from experiments.command import launch_module
from experiments.record import estimate_as_list
from experiments.settings import StagedSettings
from experiments.studies.demo_worlds import list_model_stages, list_world_runs
from experiments.studies.structure_reasoning import Thresholds
from experiments.studies.structures import FALSE, false_changes
from testbed.engine.results import cluster_levels
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, KEPT, SKILL_RECALIBRATED, SUCCESS
from testbed.presets import EDIT
from testbed.run.runs import Run
from testbed.scores.gather import EditorResults
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.summary import measure_readers
from testbed.scores.tables import Better, Cell, Table
from testbed.settings import CaseConfig, EditSettings
from testbed.tune import choose_setting

OURS, RIVAL = "keyed", "keyed-counting"
POINTS = (
    Thresholds(1, 0.0, True),
    Thresholds(1, 0.5, True),
    Thresholds(1, 0.5, False),
    Thresholds(2, 0.5, True),
    Thresholds(2, 0.5, False),
    Thresholds(3, 0.5, False),
)
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

    def __post_init__(self) -> None:
        super().__post_init__()
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
    for point in (None, *POINTS):
        for run in options.world_runs:
            about = f", {point.name}" if point else ""
            yield from stages.edit_stages([edit_settings(options, run, point)], about)


def edit_settings(options: Settings, run: Run, point: Thresholds | None) -> EditSettings:
    """The demo's, by counting with such thresholds; by `keyed` without any."""
    where = stages.settings_of_run(run, options.world_runs.index(run))
    editor, changes = (RIVAL, point._asdict()) if point else (OURS, {})
    base = EDIT["tiny"]
    configs = stages.change_settings_of(base.configs, editor, changes)
    return replace(base, editors=(editor,), cases=CaseConfig(options.edits), configs=configs, **where)


def gather_points(options: Settings, runs: Sequence[Run]) -> list[EditorResults]:
    """The edits by `keyed` and at each point, pooled over worlds."""
    return stages.pool_worlds(
        [
            [
                stages.gather_edits(run, edit_settings(options, run, point), point.name if point else OURS)
                for point in (None, *POINTS)
            ]
            for run in runs
        ]
    )


def estimate_point(edits: EditorResults) -> Row:
    """COLUMNS of one editor, over requests that contradict the truth."""
    results = edits.results
    values = measure_readers(edits.evaluation, results, edits.editor)[edits.editor]
    levels, among = cluster_levels(results), ~results.cases["reinforces"]
    measured = {name: values[name] for name in (SUCCESS, KEPT, DAMAGE, SKILL_RECALIBRATED)}
    row = estimate_metrics(measured | {FALSE: false_changes(results)}, levels, among)
    support = results.cases["support_new"]
    for name, (least, most) in SUPPORTS.items():
        inside = among & (support >= least) & (support <= (support.max() if most is None else most))
        row |= estimate_metrics({FOLLOWS_AT[name]: values[FOLLOWS]}, levels, inside)
    return row


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
    developed, reported = (
        {one.name: estimate_point(one) for one in gather_points(options, runs)} for runs in ([first], others)
    )
    chosen = choose_point(developed)
    tables = [
        frontier_table("development", "The world for development", developed, chosen),
        frontier_table("report", f"{len(others)} other worlds", reported, chosen),
    ]
    return options.record(
        first,
        {"counting_frontier.md": stages.show_tables(tables)},
        ("worlds", "editor"),
        found={
            key: {name: {c: estimate_as_list(row[c]) for c in COLUMNS} for name, row in rows.items()}
            for key, rows in (("development", developed), ("report", reported))
        },
    )


def frontier_table(key: str, title: str, rows: Mapping[str, Row], chosen: str) -> Table:
    """A row for `keyed` and for each point."""
    cells: list[list[Cell]] = [[name, *(row[c] for c in COLUMNS)] for name, row in rows.items()]
    cases = ", ".join(f"{c}: {rows[OURS][c].cases}" for c in (*FOLLOWS_AT.values(), FALSE))
    note = f"On the development world {chosen!r} is chosen. Cases: {cases}."
    return Table(key, title, ["editor", *COLUMNS], cells, note, better=dict(COLUMNS))


if __name__ == "__main__":
    launch_module()
