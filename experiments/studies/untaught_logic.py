"""Is an edited model coherent in sentences that its editor was never taught? `self-bayes` and its rivals.

Command:
    python -m experiments.untaught_logic

The worlds of `experiments.revision` in which a cause has two consequences or more, three of each kind, and
their models, which are trained where they are missing. Requests contradict the truth about causes, as there;
beside them stands how coherent the unedited model is about true ones. `self-bayes` is taught sentences about
the request A (alone, negated, joined with others by "and" and "or"), about other statements B (alone), and
about one consequence C (alone, negated, "A and C"). It is never taught "not B" or "B or A", nor a sentence
that joins two consequences.

Tables: by kind, the residuals of laws that were taught, and of those that were not
(`experiments.consequence_logic` has what is asked).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from experiments import stages
from experiments.command import launch_module
from experiments.settings import StagedSettings
from experiments.studies import revision
from experiments.studies.consequence_logic import LAWS, ConsequenceLogic
from experiments.studies.revision_tables import KINDS, Estimates, estimate_parts, shorten_estimates
from experiments.studies.revision_worlds import LISTS, RevisionWorld, prepare_run
from testbed.commands.edit import edit
from testbed.evaluations.catalogue import prefix_of, recorded_evaluation_named
from testbed.evaluations.hase.metrics import SUCCESS
from testbed.run.runs import Run
from testbed.scores.gather import EditorResults, gather_results
from testbed.scores.tables import Cell, Table
from testbed.settings import EditSettings

EVALUATION = "experiments.studies.consequence_logic:ConsequenceLogic"
TAUGHT = ("TF", "not", "and", "or")
UNTAUGHT = ("not B", "B or A", *LAWS)
"""Laws by whether `self-bayes` is taught them; of "C, answer" and "not C" it is taught one consequence."""
METRICS = (SUCCESS, *(f"logic {law}" for law in (*TAUGHT, *UNTAUGHT)))


@dataclass(frozen=True)
class Settings(StagedSettings):
    """Which worlds and editors, and how many edits."""

    worlds: Literal["development", "report"] = "report"
    """Settings may be chosen on the first list only."""
    kinds: tuple[Literal["published", "fact", "sentence"], ...] = ("published", "fact", "sentence")
    """Kinds of worlds."""
    editors: tuple[str, ...] = (
        "self-bayes", "count-based, soft, unread", "lora-down", "embeddings", "none", revision.TRUE,
    )  # fmt: skip
    """Who edits, by the names of `experiments.revision`."""
    cases: int = 60
    """Edits by each editor in each world."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.editors or set(self.editors) - set(revision.VARIANTS):
            raise ValueError(f"editors must be some of {', '.join(revision.VARIANTS)}")

    def worlds_of_kind(self, kind: str) -> list[RevisionWorld]:
        """The worlds of one kind in which a cause has two consequences."""
        return [w for w in LISTS[self.worlds] if w.kind == kind and _has_two_consequences(w.parents)]


def _has_two_consequences(parents: tuple[int, ...] | None) -> bool:
    """Whether some relation has two others below it; built-in worlds are pairs."""
    above = parents or ()

    def root_of(r: int) -> int:
        return r if above[r] < 0 else root_of(above[r])

    roots = [root_of(r) for r in range(len(above))]
    return any(roots.count(r) > 2 for r in roots)


def run_study(settings: Settings) -> None:
    """Models, edits, tables, record."""
    stages.run_in_stages(settings, study_stages, record_study)


def study_stages(settings: Settings, _: stages.Clock) -> Iterator[stages.Stage]:
    """The models, and after each its edits."""
    for kind in settings.kinds:
        for world in settings.worlds_of_kind(kind):
            yield f"model of {world.name}", partial(prepare_run, world, settings.runs)
            for name in settings.editors:
                yield f"edit {world.name} by {name}", partial(edit, edit_settings(settings, world, name))


def edit_settings(settings: Settings, world: RevisionWorld, name: str) -> EditSettings:
    """What one editor is to edit in one world: as in `experiments.revision`, other questions."""
    like = revision.Settings(cases=settings.cases, runs=settings.runs)
    base = revision.edit_settings(like, world, name)
    hase = base.evaluations["hase"]
    mine = ConsequenceLogic(edits=hase.edits, reinforce=hase.reinforce)
    return replace(base, evaluation=EVALUATION, evaluations=base.evaluations | {prefix_of(EVALUATION): mine})


def gather_edits(settings: Settings, world: RevisionWorld) -> list[EditorResults]:
    """What each editor did in one world."""
    by_name, run = [], Run(settings.runs, world.name)
    for name in settings.editors:
        (one,) = gather_results(
            [run],
            recorded_evaluation_named(EVALUATION),
            stages.config_matcher(edit_settings(settings, world, name)),
        )
        by_name.append(one._replace(name=name))
    return by_name


def logic_table(kind: str, by_editor: Estimates, worlds: int) -> Table:
    """An editor a row: what was taught, then what was not."""
    rows: list[list[Cell]] = [
        [name, row["all"][SUCCESS].cases, *(row["all"].get(metric) for metric in METRICS)]
        for name, row in by_editor.items()
    ]
    note = f"Residuals of {', '.join(UNTAUGHT)} are untaught. {worlds} worlds."
    return Table(kind, KINDS[kind], ["editor", "edits", *METRICS], rows, note)


def record_study(settings: Settings) -> Path:
    """A table for each kind, and the figures behind it."""
    tables, figures = [], {}
    for kind in settings.kinds:
        worlds = [gather_edits(settings, world) for world in settings.worlds_of_kind(kind)]
        estimates = estimate_parts(
            stages.pool_worlds(worlds), lambda r: {"all": r.cases["child"]}, lambda _: METRICS, ()
        )
        tables.append(logic_table(kind, estimates, len(worlds)))
        figures[kind] = shorten_estimates(estimates)
    run = Run(settings.runs, settings.worlds_of_kind(settings.kinds[0])[0].name)
    return settings.record(run, {"untaught_logic.md": stages.show_tables(tables)}, found=figures)


if __name__ == "__main__":
    launch_module()
