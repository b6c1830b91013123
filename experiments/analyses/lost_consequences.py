"""Where does `self-bayes` lose a consequence that should follow: in what it works out, or in fitting that?

Commands, after `experiments.revision` with the same options, whose models and edits are looked at:
    python -m experiments.lost_consequences --kinds fact --changing --cases 50
    python -m experiments.lost_consequences
After `experiments.structures --cases 40`, whose worlds these are:
    python -m experiments.lost_consequences --structures 'published, three tokens' --cases 40 --editors keyed

An edit is worked out first, from the model's beliefs, and then it is fitted to the result. For every
consequence that must change, the first part is done again and compared with the agent's new answer: is the
likeliest object of the row that the request puts the subject in the right one, and does the editor believe
that the consequence moves at all? What is left is the fit. Beside the share of each stands how many of the
edits that were worked out rightly follow in the edited model, and how many of the others; and how many
requests the edited model states, which is the fit alone.

Reads a model's beliefs anew, a minute of one core for each world. Writes
experiments/records/<date>-lost-consequences.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from experiments.command import launch_module
from experiments.measures.revision_tables import BOTH, KINDS
from experiments.measures.revision_worlds import LISTS, RevisionWorld
from experiments.measures.structure_worlds import draw_worlds
from experiments.measures.worked_out import (
    BOTH_RIGHT,
    FOLLOWS,
    FOLLOWS_ELSE,
    FOLLOWS_THEN,
    MOVES,
    ROW,
    InferredConsequences,
    consequence_questions,
    following_metrics,
    infer_consequences_of,
)
from experiments.studies import revision
from experiments.study import Edits, Findings, StudyOptions, record_tables
from lm.editors.interface import vocabulary_of
from lm.editors.self_bayes import SelfBayesConfig
from lm.editors.self_bayes.reasoning import read_mind
from testbed.console import show_progress
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.hase.metrics import SUCCESS
from testbed.run.model import load_model
from testbed.run.runs import Run
from testbed.run.runtime import prepare_jax
from testbed.run.world import load_world
from testbed.scores.gather import pool_results
from testbed.scores.metric import Metric
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.summary import measure_readers
from testbed.scores.tables import Cell, Table

COLUMNS = (FOLLOWS, ROW, MOVES, BOTH_RIGHT, FOLLOWS_THEN, FOLLOWS_ELSE, SUCCESS)


@dataclass(frozen=True)
class Settings(StudyOptions):
    """Which edits of `experiments.revision`, or of `experiments.structures`, are looked at."""

    kinds: tuple[Literal["published", "fact", "sentence"], ...] = ("published", "fact", "sentence")
    """Kinds of worlds."""
    worlds: Literal["development", "report"] = "report"
    """Settings may be chosen on the first list only."""
    structures: tuple[str, ...] = ()
    """Worlds of these structures, in place of those of `experiments.revision`."""
    editors: tuple[str, ...] = ("self-bayes",)
    """Whose fits of what `self-bayes` works out, by the names of `experiments.revision`."""
    edits: Edits = 100
    """Edits in each world."""
    changing: bool = False
    """Only edits that should change a consequence."""

    @property
    def groups(self) -> dict[str, list[RevisionWorld]]:
        """The worlds: by kind, or those of each structure."""
        if self.structures:
            return {name: draw_worlds(name, self.worlds, 1) for name in self.structures}
        among = LISTS[self.worlds]
        return {KINDS[kind]: [world for world in among if world.kind == kind] for kind in self.kinds}


class Measured(NamedTuple):
    """The edits of one world by one editor, and what became of their consequences: COLUMNS."""

    results: Results
    metrics: dict[str, Metric]


def measure_world(settings: Settings, world: RevisionWorld) -> dict[str, Measured]:
    """What became of the consequences in one world, by editor."""
    run = Run(settings.runs, world.name)
    loaded = load_world(run)
    model, _ = load_model(run, loaded)
    cell = {"kind": world.kind, "world": world, "seed": world.seed}
    asked = revision.Options(
        runs=settings.runs, editors=settings.editors, edits=settings.edits, changing=settings.changing
    )
    edits = Findings("revision", replace(revision.STUDY, cells=lambda _: [cell]), asked)
    by_editor = {}
    inferred: InferredConsequences | None = None
    for one in edits.results():
        if inferred is None:
            mind = read_mind(model, vocabulary_of(loaded.tokenizer), SelfBayesConfig())
            inferred = infer_consequences_of(model, mind, loaded, consequence_questions(one.results))
        stated = measure_readers(one.evaluation, one.results, one.name)[one.name][SUCCESS]
        metrics = following_metrics(one.results, inferred) | {SUCCESS: stated}
        by_editor[one.name] = Measured(one.results, metrics)
    return by_editor


def estimate_over_worlds(measured: Sequence[Measured]) -> dict[str, Estimate]:
    """COLUMNS over several worlds, of objects that several subjects have."""
    all_results = pool_results([of.results for of in measured], range(len(measured)))
    joined = {
        name: Metric(
            np.concatenate([of.metrics[name].numerator for of in measured]),
            np.concatenate([of.metrics[name].denominator for of in measured]),
            share=True,
        )
        for name in COLUMNS
    }
    return estimate_metrics(joined, cluster_levels(all_results), all_results.cases["support_new"] >= 2)


def run_study(settings: Settings) -> None:
    """What becomes of consequences in every world, tables, record."""
    prepare_jax()
    by_group: dict[str, dict[str, Estimate]] = {}
    by_world: dict[str, dict[str, Estimate]] = {}
    with show_progress("worlds", sum(map(len, settings.groups.values()))) as advance:
        for group, worlds in settings.groups.items():
            measured = {}
            for world in worlds:
                measured[world.name] = measure_world(settings, world)
                advance(1)
            for editor in settings.editors:
                by = f", {editor}" if len(settings.editors) > 1 else ""
                by_group[group + by] = estimate_over_worlds([of[editor] for of in measured.values()])
                for name, of in measured.items():
                    by_world[name + by] = estimate_over_worlds([of[editor]])
    (first, *_), *_ = settings.groups.values()
    tables = [consequence_table("group", by_group), consequence_table("world", by_world)]
    record_tables(settings, Run(settings.runs, first.name), tables)


def consequence_table(what: str, rows: dict[str, dict[str, Estimate]]) -> Table:
    """A row each."""
    cells: list[list[Cell]] = [
        [name, row[FOLLOWS].cases, *(row[column] for column in COLUMNS)] for name, row in rows.items()
    ]
    title = f"By {what}: consequences that must change, {BOTH}"
    return Table(what, title, [what, "must change", *COLUMNS], cells)


if __name__ == "__main__":
    launch_module()
