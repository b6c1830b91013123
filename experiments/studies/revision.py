"""Does an edit revise beliefs in worlds that its editor was not made on? `self-bayes`, its rivals and bounds.

Commands:
    python -m experiments.revision
    python -m experiments.revision --worlds development
    python -m experiments.revision --worlds real --facts FOLDER_IN_WIKIDATA5M_LAYOUT
    python -m experiments.revision --worlds deep
    python -m experiments.revision --kinds fact --changing --cases 60      (few edits change anything there)
    python -m experiments.revision --editors self-bayes 'self-bayes, told dependences'

Fifteen worlds of three kinds (`experiments.revision_worlds`), five of each: published; exact, in which facts
persist; exact, in which each statement is a draw. Graphs are pairs, forks, chains and a cause with many
effects, names have one token or several; `real` are three worlds of real facts, one of each kind, and
`deep` three of models with twelve layers. Every world's model is edited by `self-bayes`; by the trivial rival
with the same access, `count-based`, with hard and soft targets, also for what the model has never read of the
subject, with and without what is to stay; by `oracle`, which is told the agent's answers; and by editors of
weights. All requests contradict the truth, about causes; beside them stands how coherent the unedited model
is about true ones. No setting is chosen here: they are the editors' own.

Tables: by kind, what follows that should, by support, and what changes that should not; by world, the same,
so that the worst is seen; and what `self-bayes` takes each world for, from the model alone: which relations
hang together (AUC over pairs), which is the cause, and whether facts persist.

A world takes about eleven minutes of one core, or 25 with several tokens a name.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from experiments import stages
from experiments.command import launch_module
from experiments.settings import StagedSettings
from experiments.studies.found_dependence import Search, read_run_beliefs, search_dependence
from experiments.studies.revision_tables import (
    Estimates,
    estimate_editors,
    kind_tables,
    shorten_estimates,
    world_tables,
)
from experiments.studies.revision_worlds import LISTS, RevisionWorld, prepare_run
from lm.editors.keyed import AT_THE_NAME
from lm.editors.self_bayes import DependenceConfig
from testbed.commands.edit import edit
from testbed.evaluations.hase import Hase
from testbed.presets import EDIT
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.scores.gather import EditorResults
from testbed.scores.tables import Cell, Table
from testbed.settings import CaseConfig, EditSettings

GIVEN_DEPENDENCE = "self-bayes, told dependences"
"""It is given which relation depends on which, and looks for nothing."""
COUNTING, TUNED_COUNTING = "count-based", "count-based, tuned"
"""With its default thresholds, and with BEST_THRESHOLDS."""
TWO_LAYERS = replace(AT_THE_NAME, layers=(0, 1))
"""A vector of its own for each of the first two layers to read at the subject's name."""
TRUE = "no edit, of true facts"
"""The one whose requests repeat the truth: how coherent the model is about what it was trained on."""
BEST_THRESHOLDS = {"fewest": 1, "majority": 0.5, "unread": True}
"""Of counting, on the development worlds of `experiments.structure_reasoning`."""
AT_NAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "keyed": ("keyed", {}),
    "keyed, 40 steps": ("keyed", {"fit": replace(AT_THE_NAME, steps=40)}),
    "keyed, two layers": ("keyed", {"fit": TWO_LAYERS}),
    "keyed, two layers, 40 steps": ("keyed", {"fit": replace(TWO_LAYERS, steps=40)}),
    "keyed, logic": ("keyed", {"logic": True}),
    "keyed, told dependences": ("keyed-told", {}),
    "keyed, half of the gold": ("keyed-oracle", {}),
    "keyed, tuned counting": ("keyed-counting", BEST_THRESHOLDS),
    "keyed, tuned counting, two layers, 40 steps": (
        "keyed-counting",
        BEST_THRESHOLDS | {"fit": replace(TWO_LAYERS, steps=40)},
    ),
}
"""As VARIANTS: stored at the subject's name, which is some times as fast."""
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "self-bayes": ("self-bayes", {}),
    GIVEN_DEPENDENCE: ("self-bayes", {}),
    COUNTING: ("count-based", {}),
    TUNED_COUNTING: ("count-based", BEST_THRESHOLDS),
    "count-based, soft, unread": ("count-based", {"soft": True, "unread": True}),
    "count-based, hard": ("count-based", {"soft": False}),
    "count-based, hard, unread": ("count-based", {"soft": False, "unread": True}),
    "count-based, hard, no anchors": ("count-based", {"soft": False, "unread": True, "anchor": 0.0}),
    "embeddings": ("embeddings", {}),
    "full-early": ("full-early", {}),
    "lora-down": ("lora-down", {}),
    "rome, subject's token": ("rome", {"token": "subject"}),
    "none": ("none", {}),
    TRUE: ("none", {}),
    "oracle": ("oracle", {}),
    **AT_NAMES,
}
"""Name in tables -> editor, and the fields of its configuration that differ from the preset's."""


@dataclass(frozen=True)
class Settings(StagedSettings):
    """Which worlds and editors, and how many edits."""

    worlds: Literal["development", "report", "real", "deep", "byte-pairs"] = "report"
    """Settings may be chosen on the first list only."""
    facts: Path | None = None
    """Folder in Wikidata5m's layout, of real facts."""
    kinds: tuple[Literal["published", "fact", "sentence"], ...] = ("published", "fact", "sentence")
    """Kinds of worlds."""
    editors: tuple[str, ...] = tuple(
        name for name in VARIANTS if name not in (GIVEN_DEPENDENCE, COUNTING, TUNED_COUNTING, *AT_NAMES)
    )
    """Who edits, by the names in tables."""
    cases: int = 100
    """Edits by each editor in each world."""
    changing: bool = False
    """Only edits that should change a consequence, which are few where facts persist."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.editors or set(self.editors) - set(VARIANTS):
            raise ValueError(f"editors must be some of {', '.join(VARIANTS)}")
        if (self.worlds == "real") != bool(self.facts):
            raise ValueError("worlds real and facts, a folder of real ones, go together")

    def worlds_of_kind(self, kind: str) -> list[RevisionWorld]:
        """The worlds of one kind."""
        return [world for world in LISTS[self.worlds] if world.kind == kind]

    def run(self, world: RevisionWorld) -> Run:
        """Where a world's model is."""
        return Run(self.runs, world.name)


def run_study(settings: Settings) -> None:
    """Models, edits, tables, record."""
    stages.run_in_stages(settings, study_stages, record_study)


def study_stages(settings: Settings, _: stages.Clock) -> Iterator[stages.Stage]:
    """The models, and after each its edits."""
    for kind in settings.kinds:
        for world in settings.worlds_of_kind(kind):
            yield f"model of {world.name}", partial(prepare_run, world, settings.runs, settings.facts)
            for name in settings.editors:
                yield f"edit {world.name} by {name}", partial(edit, edit_settings(settings, world, name))


def edit_settings(settings: Settings, world: RevisionWorld, name: str) -> EditSettings:
    """What one editor is to edit in one world."""
    editor, changes = VARIANTS[name]
    base = EDIT["tiny"]
    if name == GIVEN_DEPENDENCE:
        upstream = load_world(settings.run(world)).graph.upstream
        changes = {"dependence": DependenceConfig(given=tuple(upstream.tolist()))}
    return replace(
        base,
        **stages.settings_of_run(settings.run(world), world.seed),
        editors=(editor,),
        configs=stages.change_settings_of(base.configs, editor, changes),
        agent="paper" if world.kind == "published" else "exact",
        cases=CaseConfig(settings.cases),
        evaluations=base.evaluations
        | {
            "hase": Hase(
                edits="upstream", reinforce=float(name == TRUE), changing=settings.changing and name != TRUE
            )
        },
    )


def gather_edits(settings: Settings, world: RevisionWorld) -> list[EditorResults]:
    """What each editor did in one world, by the names in tables."""
    run = settings.run(world)
    return [stages.gather_edits(run, edit_settings(settings, world, name), name) for name in settings.editors]


def _search_world(run: Run) -> Search:
    world = load_world(run)
    return search_dependence(read_run_beliefs(run, world), world.graph.upstream)


def search_table(searches: dict[str, Search]) -> Table:
    """What was found out about each world."""
    rows: list[list[Cell]] = [
        [world, *one.pairs, _format_number(one.auc), one.found, one.right, _format_number(one.persists)]
        for world, one in searches.items()
    ]
    columns = ["world", "pairs that depend", "others", "AUC", "found", "cause right", "p(persists)"]
    return Table("search", "What `self-bayes` takes the worlds for", columns, rows)


def _format_number(x: float | None) -> str:
    return "" if x is None else f"{x:.2f}"


def _unlike_the_default(settings: Settings) -> list[str]:
    worlds = [settings.worlds] if settings.worlds != Settings.worlds else []
    return [*worlds, *(["changing"] if settings.changing else [])]


def record_study(settings: Settings) -> Path:
    """The tables of each kind and of all worlds, and the figures behind them."""
    tables: list[Table] = []
    figures: dict[str, Any] = {}
    worlds: dict[str, Estimates] = {}
    searches: dict[str, Search] = {}
    for kind in settings.kinds:
        among = settings.worlds_of_kind(kind)
        in_each = [gather_edits(settings, world) for world in among]
        editors = stages.pool_worlds(in_each)
        by_reader = estimate_editors(editors)
        tables += kind_tables(kind, by_reader, {e.name: len(e.results) for e in editors})
        figures[kind] = shorten_estimates(by_reader)
        for world, of_world in zip(among, in_each, strict=True):
            worlds[world.name] = estimate_editors(of_world)
            searches[world.name] = _search_world(settings.run(world))
    figures["worlds"] = {world: shorten_estimates(by_reader) for world, by_reader in worlds.items()}
    figures["search"] = searches
    tables += [*world_tables(worlds), search_table(searches)]
    first = settings.run(settings.worlds_of_kind(settings.kinds[0])[0])
    return settings.record(
        first,
        {"revision.md": stages.show_tables(tables)},
        found=figures,
        title="-".join(["revision", *_unlike_the_default(settings)]),
    )


if __name__ == "__main__":
    launch_module()
