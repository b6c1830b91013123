"""Consequences stored at the subject's name: ten demo worlds, storages crossed with targets, sequences.

Command:
    python -m experiments.lasting

Worlds are those of `experiments.demo_worlds`, whose runs are used where they are there. `keyed`,
`keyed-counting` and `keyed-request` edit each of them beside `lora-down`; in the first few every storage
(adapters, the subject's name, the row of its last token) is fitted to every source of answers (the request,
counting, self-bayes, the agent), as in the first of all; and in a few edits are made on top of each other.
The rate and the steps of keyed storage were found on the world of seed 0, a development world: figures are of
the others unless they say so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from experiments import stages
from experiments.command import launch_module
from experiments.record import BY_EDITOR, figures_by_editor
from experiments.settings import StagedSettings
from experiments.studies.demo_worlds import list_model_stages, list_world_runs
from lm.editors.self_bayes import FitConfig
from testbed.engine.catalogue import default_configurations
from testbed.engine.results import cluster_levels
from testbed.evaluations.hase.metrics import (
    CONTRADICTS,
    DAMAGE,
    FOLLOWS,
    KEPT,
    SKILL,
    STAYS,
    SUCCESS,
)
from testbed.evaluations.hase.tables import support_table
from testbed.presets import EDIT
from testbed.run.runs import Run
from testbed.run.strata import SUPPORT_BINS
from testbed.scores.frame import frame_of
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.summary import ScoredEditor, measure_reader, rows_in_contest
from testbed.scores.tables import Cell, Table, better_of
from testbed.settings import CaseConfig, EditSettings

Part = Literal["worlds", "sequences", "cross"]
EDITORS = ("keyed", "keyed-counting", "keyed-request", "lora-down")
SOURCES = {
    "the request": "keyed-request",
    "counting": "keyed-counting",
    "self-bayes": "keyed",
    "the agent, half": "keyed-oracle",
}
"""Where answers come from, and who fits them."""
STORAGES = ("low-rank", "keyed", "row")
IN_SEQUENCE = ("keyed", "lora-down")
DEVELOPMENT = 0
"""The seed of the world on which the settings of keyed storage were found."""
COLUMNS = (SUCCESS, FOLLOWS, STAYS, KEPT, DAMAGE, SKILL)
SUPPORTED = 2
"""Subjects who have a new object, from which on others show what follows from it."""


@dataclass(frozen=True)
class Settings(StagedSettings):
    """How many worlds and edits, and in how many worlds more than that is asked."""

    worlds: int = 10
    """Worlds, of seeds 0, 1, ..."""
    editors: tuple[str, ...] = EDITORS
    """Who edits; the arithmetic of the last one is the unit."""
    parts: tuple[Part, ...] = ("worlds", "sequences", "cross")
    """What is measured."""
    edits: int = 60
    """Edits by each editor in each world, half of which repeat the truth."""
    crossed: int = 3
    """Worlds behind the first in which storages are crossed with sources of answers."""
    sequences: int = 2
    """Worlds behind the first in which edits are made on top of each other."""
    length: int = 240
    """Edits of each sequence."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if max(self.crossed, self.sequences) >= self.worlds:
            raise ValueError("more worlds are crossed or edited in sequence than there are behind the first")

    @property
    def world_runs(self) -> list[Run]:
        """A run for each world."""
        return list_world_runs(self.runs, self.worlds)

    @property
    def report_runs(self) -> list[Run]:
        """Those on which nothing was chosen."""
        return self.world_runs[DEVELOPMENT + 1 :]


def run_study(options: Settings) -> None:
    """Models, edits, tables, record."""
    stages.run_in_stages(options, study_stages, record_study)


def study_stages(options: Settings, clock: stages.Clock) -> Iterator[stages.Stage]:
    """Models; then the edits, those of all worlds first."""
    yield from list_model_stages(options.world_runs, clock)
    for run in options.world_runs if "worlds" in options.parts else ():
        yield from stages.edit_stages([edit_settings(options, run, options.editors)])
    for run in options.report_runs[: options.sequences] if "sequences" in options.parts else ():
        yield from stages.edit_stages([sequence_settings(options, run)], " in sequence")
    for run in options.world_runs[: 1 + options.crossed] if "cross" in options.parts else ():
        for source, storage in product(SOURCES, STORAGES):
            yield from stages.edit_stages([cell_settings(options, run, source, storage)], f", {storage}")


def edit_settings(options: Settings, run: Run, editors: tuple[str, ...]) -> EditSettings:
    """The demo's, of one world."""
    where = stages.settings_of_run(run, options.world_runs.index(run))
    return replace(EDIT["tiny"], editors=editors, cases=CaseConfig(options.edits), **where)


def sequence_settings(options: Settings, run: Run) -> EditSettings:
    """One sequence of edits of one world."""
    one = edit_settings(options, run, IN_SEQUENCE)
    return replace(one, cases=CaseConfig(options.length), sequential=options.length)


def cell_settings(options: Settings, run: Run, source: str, storage: str) -> EditSettings:
    """Edits with answers of one source in one storage; adapters are fitted as `self-bayes` fits them."""
    name = SOURCES[source]
    one = edit_settings(options, run, (name,))
    config: Any = default_configurations()[name]
    fit = FitConfig() if storage == "low-rank" else replace(config.fit, storage=storage)
    return replace(one, configs={**one.configs, name: replace(config, fit=fit)})


def record_study(options: Settings) -> Path:
    """The editors over worlds, by support, the cross, and what is kept of sequences."""
    tables: list[Table] = []
    figures: dict[str, Any] = {}
    if "worlds" in options.parts:
        wanted = edit_settings(options, options.world_runs[0], options.editors)
        editors = stages.score_edits(options.report_runs, wanted)
        first = stages.score_edits(options.world_runs[:1], wanted)
        tables += [
            editor_table(editors, "requests-contradict", "Requests that contradict the truth"),
            editor_table(first, "development", "The same in the world on which settings were found"),
            support_table(frame_of(editors), FOLLOWS, "support-followed"),
        ]
        subsets = [CONTRADICTS, *(f"support {name}" for name in SUPPORT_BINS)]
        figures |= {
            "found": figures_by_editor(editors, subsets),
            "developed": figures_by_editor(first, subsets),
        }
    if "sequences" in options.parts:
        runs = options.report_runs[: options.sequences]
        tables.append(kept_table(stages.score_edits(runs, sequence_settings(options, runs[0]))))
    if "cross" in options.parts:
        found = options.report_runs[: options.crossed]
        for key, runs in (("cross", found), ("cross-development", options.world_runs[:1])):
            cells = {
                cell: stages.score_edits(runs, cell_settings(options, runs[0], *cell))[0]
                for cell in product(SOURCES, STORAGES)
            }
            tables.append(cross_table(cells, key))
            figures[key] = {
                " | ".join(where): figures_by_editor([cell], [CONTRADICTS])[cell.name]
                for where, cell in cells.items()
            }
    pages = {"lasting.md": stages.show_tables(tables)}
    return options.record(options.world_runs[0], pages, BY_EDITOR, **figures)


def editor_table(editors: Sequence[ScoredEditor], key: str, title: str) -> Table:
    """A row an editor: what came of requests that contradict, and how much arithmetic it takes."""
    first, multiples = editors[0], arithmetic_over_last(editors)
    rows: list[list[Cell]] = [
        [reader, followed_where_supported(one, reader), *(values.get(metric) for metric in COLUMNS), multiple]
        for one, reader, multiple in [
            *((one, one.name, multiple) for one, multiple in zip(editors, multiples, strict=True)),
            *((first, name, None) for name in first.reference_names),
        ]
        for values in [one.summary[CONTRADICTS][reader]]
    ]
    return Table(
        key,
        title,
        ["editor", f"{FOLLOWS}, {SUPPORTED} or more support it", *COLUMNS, "FLOPs, x the last"],
        rows,
        "± is half of a 95% interval over worlds, subjects and requested objects at once.",
        better=better_of(first.evaluation.metrics),
        contest=rows_in_contest(editors),
    )


def followed_where_supported(editor: ScoredEditor, reader: str) -> Estimate | None:
    """Consequences followed of contradicting requests whose new object several others have."""
    cases = editor.edits.results.cases
    among = ~cases["reinforces"] & (cases["support_new"] >= SUPPORTED)
    metrics = {name: metric for name, metric in editor.values[reader].items() if name == FOLLOWS}
    return estimate_metrics(metrics, cluster_levels(editor.edits.results), among).get(FOLLOWS)


def cross_table(cross: Mapping[tuple[str, str], ScoredEditor], key: str) -> Table:
    """A row for each source of answers in each storage: requests that contradict the truth."""
    multiples = arithmetic_over_last([*cross.values()])
    rows: list[list[Cell]] = [
        [
            source,
            storage,
            followed_where_supported(cell, cell.name),
            *(cell.summary[CONTRADICTS][cell.name].get(metric) for metric in COLUMNS),
            multiple,
        ]
        for ((source, storage), cell), multiple in zip(cross.items(), multiples, strict=True)
    ]
    heads = ["answers from", "stored in", f"{FOLLOWS}, {SUPPORTED} or more support it", *COLUMNS]
    title = "Sources of answers and storages: requests that contradict the truth"
    return Table(key, title, [*heads, "FLOPs, x the last"], rows)


def arithmetic_over_last(editors: Sequence[ScoredEditor]) -> list[float | None]:
    """Multiplications and additions of an edit, as a multiple of the last editor's; None where unknown."""
    flops = [one.edits.cost.get("flops") for one in editors]
    return [value / flops[-1] if value and flops[-1] else None for value in flops]


def kept_table(editors: Sequence[ScoredEditor]) -> Table:
    """A row an editor and a number of edits: the latest request of every fact, asked again after so many."""
    rows: list[list[Cell]] = []
    for one in editors:
        for count, results in sorted(one.edits.later_results.items()):
            reader = one.evaluation.readers(results, one.name)[one.name]
            metrics = measure_reader(one.evaluation, results, reader)
            measured = {metric: metrics[metric] for metric in COLUMNS if metric in metrics}
            estimates = estimate_metrics(measured, cluster_levels(results), are_latest(results.cases))
            rows.append([one.name, count, *(estimates.get(metric) for metric in COLUMNS)])
    title = "Edits on top of each other: the latest request of each fact, asked again"
    return Table("kept", title, ["editor", "after edits", *COLUMNS], rows)


def are_latest(cases: Mapping[str, np.ndarray]) -> np.ndarray:
    """bool[E]: whether no later edit of the same sequence is of the same fact."""
    world = cases.get("run", np.zeros_like(cases["subject"]))
    facts = list(
        zip(
            *(x.tolist() for x in (world, cases["cluster"], cases["subject"], cases["relation"])), strict=True
        )
    )
    last = {facts[i]: i for i in np.argsort(cases["position"], kind="stable").tolist()}
    return np.isin(np.arange(len(facts)), list(last.values()))


if __name__ == "__main__":
    launch_module()
