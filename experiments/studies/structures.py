"""Does `self-bayes` follow what follows, whatever the structure of a world is? One factor changed at a time.

Commands:
    python -m experiments.structures --worlds development
    python -m experiments.structures
    python -m experiments.structures --structures 'published, three causes' 'fact, five levels'
    python -m experiments.structures --editors keyed 'keyed, tuned counting'
    python -m experiments.structures --structures 'fact, base' --editors keyed --changing
    python -m experiments.structures --structures 'fact, everything' --draws 3 --changing

The factors: how many levels a chain has; how many causes an effect has; how much commoner common objects are;
how many words names have, which share them; how many relations there are; which sentences with labels are
read, so that a model learns some of them and not others; and all of it together. The rest is as in a world
of a chain of three, a fork and one relation alone.
Each structure has a world to develop on and another to report, of another seed. Requests contradict the
truth, about causes. Counting has its default thresholds, and those that do best on the development worlds
(`experiments.structure_reasoning`, which asks the same of beliefs without training a model).

Of an effect of several causes the agents know one, the first; a request is about that one.

follows: of consequences that must change, where two subjects or more have the new object, the share that is
the agent's; false: of the subject's other answers that must stay, the share that changes; skill: of the whole
edit. Bar: the first editor follows as much as the last, tuned counting, less .05, and .6 at least, changes
less falsely and has more skill; otherwise what falls short is named, as is what has no number. A second table
has what the first editor follows less what the last does, on the same cases. A world takes three to six
minutes of one core, three or four times as long with names of several words.
Writes experiments/records/<date>-structures.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from corpus.seeds import generator
from experiments import stages
from experiments.command import launch_module
from experiments.record import comparison_as_list, estimate_as_list
from experiments.settings import StagedSettings
from experiments.studies import revision
from experiments.studies.revision_tables import BOTH
from experiments.studies.revision_worlds import RevisionWorld, prepare_run
from testbed.commands.edit import edit
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, SKILL
from testbed.run.runs import Run
from testbed.scores.gather import EditorResults
from testbed.scores.metric import Metric, sum_by_case
from testbed.scores.readers import has_to_change
from testbed.scores.statistics import Comparison, Estimate, compare_metrics, estimate_metrics
from testbed.scores.summary import measure_readers
from testbed.scores.tables import Cell, Table

FALSE = "false change"
SELF = "self-bayes"
LEAST_FOLLOWED = 0.6
BASE = {
    "published": RevisionWorld("depth 3", "published", 0, subjects=200, steps=260),
    "fact": RevisionWorld("depth 3", "fact", 0, subjects=200, steps=260),
    "sentence": RevisionWorld("causes 1", "sentence", 0, subjects=200, steps=260),
}
"""Where statements are draws, nothing depends on what depends on something."""
SPELT = {"subjects": 100, "uppers": 12, "downs": 8, "steps": 200}
FACTORS: dict[str, dict[str, Any]] = {
    "base": {},
    "two levels": {"shape": "depth 2"},
    "four levels": {"shape": "depth 4"},
    "five levels": {"shape": "depth 5"},
    "six levels": {"shape": "depth 6"},
    "two causes": {"shape": "causes 2"},
    "three causes": {"shape": "causes 3"},
    "four causes": {"shape": "causes 4"},
    "Zipf 0": {"zipf": 0.0},
    "Zipf 2": {"zipf": 2.0},
    "two tokens": {"words": 2} | SPELT,
    "three tokens": {"words": 3} | SPELT,
    "four tokens": {"words": 4} | SPELT,
    "five relations": {"shape": "relations 5", "subjects": 280},
    "thirty relations": {"shape": "relations 30", "subjects": 80, "uppers": 10, "downs": 6, "steps": 400},
    "no labels": {"sentences": ("atomic",)},
    "everything": {"shape": "everything", "zipf": 1.5, "words": 3} | SPELT | {"steps": 300},
}
"""Name -> what differs from the base."""
LABELS: dict[str, dict[str, Any]] = {
    "labels of truth": {"sentences": ("atomic", "truth")},
    "labels of and, or": {"sentences": ("atomic", "and", "or")},
}
"""The same, of published worlds only."""
STRUCTURES: tuple[tuple[str, str], ...] = (
    *(("published", name) for name in FACTORS),
    *(("fact", name) for name in ("base", "five levels", "three causes", "Zipf 2", "three tokens")),
    *(("sentence", name) for name in ("base", "three causes", "Zipf 0", "Zipf 2", "three tokens")),
    ("fact", "everything"),
    *(("published", name) for name in LABELS),
)
"""Kind of world, and factor. A structure's seed is its place, so new ones come last."""
FIRST_SEED = {"development": 1001, "report": 3001}
"""Settings may be chosen on the first list only."""


def structure_world(kind: str, factor: str, seed: int) -> RevisionWorld:
    """A world of one structure; its own seed is `seed` and its place among all."""
    place = STRUCTURES.index((kind, factor))
    return replace(BASE[kind], seed=seed + place, **(FACTORS | LABELS)[factor])


def find_structure(name: str) -> tuple[str, str]:
    """Kind of world and factor, from a name in tables."""
    kind, _, factor = name.partition(", ")
    return kind, factor


def draw_worlds(name: str, among: Literal["development", "report"], draws: int) -> list[RevisionWorld]:
    """So many worlds of a structure, by its name in tables; no two structures share a seed."""
    seeds = [FIRST_SEED[among] + draw * len(STRUCTURES) for draw in range(draws)]
    return [structure_world(*find_structure(name), seed) for seed in seeds]


@dataclass(frozen=True)
class Settings(StagedSettings):
    """Which structures, and who edits."""

    worlds: Literal["development", "report"] = "report"
    """Settings may be chosen on the first list only."""
    structures: tuple[str, ...] = tuple(f"{kind}, {factor}" for kind, factor in STRUCTURES)
    """Kind of world and factor."""
    editors: tuple[str, ...] = (SELF, revision.COUNTING, revision.TUNED_COUNTING)
    """By the names of `experiments.revision`; the first is held to the bar of the last."""
    draws: int = 1
    """Worlds of each structure."""
    cases: int = 60
    """Edits by each editor in each world."""
    changing: bool = False
    """Only edits that should change a consequence, of which there are few where facts persist."""

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = {find_structure(name) for name in self.structures} - {*STRUCTURES}
        if unknown or not self.structures:
            raise ValueError(f"structures are a kind and a factor, such as {Settings.structures[0]!r}")
        if not self.editors or set(self.editors) - set(revision.VARIANTS):
            raise ValueError(f"editors must be some of {', '.join(revision.VARIANTS)}")

    def worlds_of(self, name: str) -> list[RevisionWorld]:
        """The worlds of a structure."""
        return draw_worlds(name, self.worlds, self.draws)

    @property
    def edits(self) -> revision.Settings:
        """The same, as `experiments.revision` is asked."""
        return revision.Settings(
            runs=self.runs, editors=self.editors, cases=self.cases, changing=self.changing
        )


def run_study(settings: Settings) -> None:
    """Models, edits, table, record."""
    stages.run_in_stages(settings, study_stages, record_study)


def study_stages(settings: Settings, _: stages.Clock) -> Iterator[stages.Stage]:
    """The models, and after each its edits."""
    for name in settings.structures:
        for world in settings.worlds_of(name):
            about = name if settings.draws == 1 else world.name
            yield f"model of {about}", partial(prepare_run, world, settings.runs)
            for editor in settings.editors:
                options = revision.edit_settings(settings.edits, world, editor)
                yield f"edit {about} by {editor}", partial(edit, options)


def false_changes(results: Results) -> Metric:
    """Share of answers about the request's subject, besides the request's own, that change and must stay."""
    c, cases = results.choices, results.cases
    own = (c.subject == cases["subject"][c.case]) & (c.relation != cases["relation"][c.case])
    changed = c.lm_answer[:, 1] != c.lm_answer[:, 0]
    return sum_by_case(changed, c.case, len(results), own & ~has_to_change(c))


def estimate_editor(edits: EditorResults) -> dict[str, Estimate]:
    """What is reported of one editor in the worlds of one structure."""
    results = edits.results
    values = measure_readers(edits.evaluation, results, edits.name)[edits.name]
    levels, everything = cluster_levels(results), np.ones(len(results), bool)
    shared = estimate_metrics({FOLLOWS: values[FOLLOWS]}, levels, results.cases["support_new"] >= 2)
    of_all = {FALSE: false_changes(results), SKILL: values[SKILL], DAMAGE: values[DAMAGE]}
    return shared | estimate_metrics(of_all, levels, everything)


def compare_editors(first: EditorResults, last: EditorResults) -> Comparison:
    """What the first follows less what the last does, on the same cases of two supporters or more."""
    results = first.results
    one, other = (measure_readers(of.evaluation, of.results, of.name)[of.name] for of in (first, last))
    rng = generator(0, "structures")
    among = results.cases["support_new"] >= 2
    return compare_metrics(one[FOLLOWS], other[FOLLOWS], cluster_levels(results), among, rng)


def find_shortfalls(own: dict[str, Estimate], rival: dict[str, Estimate]) -> str:
    """Where an editor does not clear the bar that a rival sets, in words; "met" if it does."""
    enough = {
        FOLLOWS: own[FOLLOWS].value >= max(rival[FOLLOWS].value - 0.05, LEAST_FOLLOWED),
        FALSE: own[FALSE].value < rival[FALSE].value,
        SKILL: own[SKILL].value > rival[SKILL].value,
    }
    return ", ".join(name for name, clears in enough.items() if not clears) or "met"


def record_study(settings: Settings) -> Path:
    """The table, and the figures behind it."""
    found: dict[str, dict[str, dict[str, Estimate]]] = {}
    differences: dict[str, Comparison] = {}
    for name in settings.structures:
        worlds = settings.worlds_of(name)
        editors = stages.pool_worlds([revision.gather_edits(settings.edits, world) for world in worlds])
        found[name] = {one.name: estimate_editor(one) for one in editors}
        if len(editors) > 1:
            differences[name] = compare_editors(editors[0], editors[-1])
    metrics = (FOLLOWS, FALSE, SKILL, DAMAGE)
    rows: list[list[Cell]] = [
        [name, of[settings.editors[0]][FOLLOWS].cases, *(of[e][m] for m in metrics for e in settings.editors)]
        for name, of in found.items()
    ]
    columns = ["world", "must change", *(f"{m}, {e}" for m in metrics for e in settings.editors)]
    if len(settings.editors) > 1:
        columns.append("bar")
        for row, of in zip(rows, found.values(), strict=True):
            row.append(find_shortfalls(of[settings.editors[0]], of[settings.editors[-1]]))
    tables = [Table("structures", f"Followed, {BOTH}, and changed falsely, by structure", columns, rows)]
    if differences:
        title = f"Followed, {BOTH}: {settings.editors[0]} less {settings.editors[-1]}"
        compared: list[list[Cell]] = [[name, one.cases, one] for name, one in differences.items()]
        tables.append(Table("differences", title, ["world", "must change", FOLLOWS], compared))
    figures: dict[str, dict[str, Any]] = {
        name: {editor: {m: estimate_as_list(e) for m, e in row.items()} for editor, row in of.items()}
        for name, of in found.items()
    }
    for name, one in differences.items():
        figures[name]["difference"] = comparison_as_list(one)
    return settings.record(
        Run(settings.runs, settings.worlds_of(settings.structures[0])[0].name),
        {"structures.md": stages.show_tables(tables)},
        found=figures,
        title="-".join(["structures", *(["development"] if settings.worlds == "development" else [])]),
    )


if __name__ == "__main__":
    launch_module()
