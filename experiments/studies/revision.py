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
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from experiments.command import launch_module
from experiments.measures.dependence_search import read_run_beliefs, search_dependence
from experiments.measures.revision_tables import estimate_editors, kind_tables, world_tables
from experiments.measures.revision_worlds import (
    LISTS,
    agent_of,
    corpus_of_world,
    presets_of_world,
    training_of_world,
)
from experiments.study import Changes, Findings, Study, StudyOptions, Values
from lm.editors.self_bayes import DependenceConfig
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.scores.tables import Cell, Table

GIVEN_DEPENDENCE = "self-bayes, told dependences"
"""It is given which relation depends on which, and looks for nothing."""
COUNTING, TUNED_COUNTING = "count-based", "count-based, tuned"
"""With its default thresholds, and with those that are best on the development worlds."""
TRUE = "no edit, of true facts"
"""The one whose requests repeat the truth: how coherent the model is about what it was trained on."""


def count_by(editor: str) -> Changes:
    """Counting with the thresholds that are best on development worlds of docs/findings/structures.md."""
    return {f"{editor}.fewest": 1, f"{editor}.majority": 0.5, f"{editor}.unread": True}


def store_in(editor: str, layers: bool, steps: bool) -> Changes:
    """A vector of its own for each of the first two layers to read at the subject's name; in 40 steps."""
    in_two = {f"{editor}.fit.layers": (0, 1)} if layers else {}
    return in_two | ({f"{editor}.fit.steps": 40} if steps else {})


AT_NAMES: dict[str, tuple[str, Changes]] = {
    "keyed": ("keyed", {}),
    "keyed, 40 steps": ("keyed", store_in("keyed", layers=False, steps=True)),
    "keyed, two layers": ("keyed", store_in("keyed", layers=True, steps=False)),
    "keyed, two layers, 40 steps": ("keyed", store_in("keyed", layers=True, steps=True)),
    "keyed, logic": ("keyed", {"keyed.logic": True}),
    "keyed, told dependences": ("keyed-told", {}),
    "keyed, half of the gold": ("keyed-oracle", {}),
    "keyed, tuned counting": ("keyed-counting", count_by("keyed-counting")),
    "keyed, tuned counting, two layers, 40 steps": (
        "keyed-counting", count_by("keyed-counting") | store_in("keyed-counting", layers=True, steps=True),
    ),
}  # fmt: skip
"""As VARIANTS: stored at the subject's name, which is some times as fast."""
VARIANTS: dict[str, tuple[str, Changes]] = {
    "self-bayes": ("self-bayes", {}),
    GIVEN_DEPENDENCE: ("self-bayes", {}),
    COUNTING: ("count-based", {}),
    TUNED_COUNTING: ("count-based", count_by("count-based")),
    "count-based, soft, unread": ("count-based", {"count-based.soft": True, "count-based.unread": True}),
    "count-based, hard": ("count-based", {"count-based.soft": False}),
    "count-based, hard, unread": ("count-based", {"count-based.soft": False, "count-based.unread": True}),
    "count-based, hard, no anchors": (
        "count-based", {"count-based.soft": False, "count-based.unread": True, "count-based.anchor": 0.0},
    ),
    "embeddings": ("embeddings", {}),
    "full-early": ("full-early", {}),
    "lora-down": ("lora-down", {}),
    "rome, subject's token": ("rome", {"rome.token": "subject"}),
    "none": ("none", {}),
    TRUE: ("none", {}),
    "oracle": ("oracle", {}),
    **AT_NAMES,
}  # fmt: skip
"""Name in tables -> editor, and how its settings differ from the preset's."""


@dataclass(frozen=True)
class Options(StudyOptions):
    """Which worlds and editors, and how many edits."""

    worlds: Literal["development", "report", "real", "deep", "byte-pairs"] = "report"
    """Settings may be chosen on the first list only."""
    facts: Path | None = None
    """Folder in Wikidata5m's layout, of real facts."""
    kinds: tuple[Literal["published", "fact", "sentence"], ...] = ("published", "fact", "sentence")
    """Kinds of worlds."""
    changing: bool = False
    """Only edits that should change a consequence, which are few where facts persist."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if set(self.editors) - set(VARIANTS):
            raise ValueError(f"editors must be some of {', '.join(VARIANTS)}")
        if (self.worlds == "real") != bool(self.facts):
            raise ValueError("worlds real and facts, a folder of real ones, go together")

    @property
    def cells(self) -> list[Values]:
        """The worlds, kind by kind."""
        worlds = [world for kind in self.kinds for world in LISTS[self.worlds] if world.kind == kind]
        return [{"world_kind": world.kind, "world": world, "seed": world.seed} for world in worlds]


def edits_of(cell: Values) -> Changes:
    """Requests about causes, which contradict the truth but for one; of one editor dependences are given."""
    name = cell["editor"]
    changes = {
        "agent": agent_of(cell["world"]), "hase.edits": "upstream", "hase.reinforce": float(name == TRUE),
        "hase.changing": cell["changing"] and name != TRUE,
    }  # fmt: skip
    if name == GIVEN_DEPENDENCE:
        upstream = load_world(Run(cell["runs"], cell["world"].name)).graph.upstream
        changes |= {"self-bayes.dependence": DependenceConfig(given=tuple(upstream.tolist()))}
    return changes


def make_tables(findings: Findings) -> Iterator[Table]:
    """By kind of world, world by world, and what `self-bayes` takes each world for."""
    by_world = {}
    rows: list[list[Cell]] = []
    for kind in findings.options.kinds:
        editors = findings.results(world_kind=kind)
        yield from kind_tables(kind, estimate_editors(editors), {e.name: len(e.results) for e in editors})
        for cell in findings.select(world_kind=kind):
            by_world[cell["world"].name] = estimate_editors(findings.results(world=cell["world"]))
            run = findings.run_of(cell)
            loaded = load_world(run)
            one = search_dependence(read_run_beliefs(run, loaded), loaded.graph.upstream)
            auc, persists = ("" if x is None else f"{x:.2f}" for x in (one.auc, one.persists))
            rows.append([run.name, *one.pairs, auc, one.found, one.right, persists])
    yield from world_tables(by_world)
    columns = ["world", "pairs that depend", "others", "AUC", "found", "cause right", "p(persists)"]
    yield Table("search", "What `self-bayes` takes the worlds for", columns, rows)


STUDY = Study(
    options=Options(
        editors=tuple(
            n for n in VARIANTS if n not in (GIVEN_DEPENDENCE, COUNTING, TUNED_COUNTING, *AT_NAMES)
        ),
        edits=100,
    ),
    run="{world.name}",
    preset=lambda cell: presets_of_world(cell["world"]),
    pool=("world", "seed"),
    corpus=lambda cell: corpus_of_world(cell["world"], cell["runs"], cell["facts"]),
    train=lambda cell: training_of_world(cell["world"]),
    edit=edits_of,
    variants=VARIANTS,
    tables=make_tables,
    title=lambda options: "-".join(
        ["revision", *[options.worlds] * (options.worlds != "report"), *["changing"] * options.changing]
    ),
)

if __name__ == "__main__":
    launch_module()
