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
(docs/findings/structures.md).

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
from dataclasses import dataclass
from typing import Literal

import numpy as np

from corpus.seeds import generator
from experiments.command import launch_module
from experiments.measures.revision_tables import BOTH
from experiments.measures.revision_worlds import corpus_of_world, presets_of_world, training_of_world
from experiments.measures.structure_worlds import STRUCTURE_NAMES, draw_worlds
from experiments.studies import revision
from experiments.study import Findings, Study, StudyOptions, Values
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, SKILL
from testbed.scores.gather import EditorResults
from testbed.scores.metric import Metric, sum_by_case
from testbed.scores.readers import has_to_change
from testbed.scores.statistics import Comparison, Estimate, compare_metrics, estimate_metrics
from testbed.scores.summary import measure_readers
from testbed.scores.tables import Cell, Table

FALSE = "false change"
LEAST_FOLLOWED = 0.6
METRICS = (FOLLOWS, FALSE, SKILL, DAMAGE)


@dataclass(frozen=True)
class Options(StudyOptions):
    """Which structures, and who edits; the first is held to the bar of the last."""

    worlds: Literal["development", "report"] = "report"
    """Settings may be chosen on the first list only."""
    structures: tuple[str, ...] = STRUCTURE_NAMES
    """Kind of world and factor."""
    draws: int = 1
    """Worlds of each structure."""
    changing: bool = False
    """Only edits that should change a consequence, of which there are few where facts persist."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.structures or set(self.structures) - {*STRUCTURE_NAMES}:
            raise ValueError(f"structures are a kind and a factor, such as {STRUCTURE_NAMES[0]!r}")
        if set(self.editors) - set(revision.VARIANTS):
            raise ValueError(f"editors must be some of {', '.join(revision.VARIANTS)}")

    @property
    def cells(self) -> list[Values]:
        """The worlds of each structure."""
        return [
            {"structure": name, "world": world, "seed": world.seed}
            for name in self.structures
            for world in draw_worlds(name, self.worlds, self.draws)
        ]


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


def make_tables(findings: Findings) -> Iterator[Table]:
    """By structure what follows and what changes falsely, beside the bar; and the first less the last."""
    options = findings.options
    found: dict[str, dict[str, Estimate]] = {}
    rows: list[list[Cell]] = []
    compared: list[list[Cell]] = []
    for name in options.structures:
        editors = findings.results(structure=name)
        found = {one.name: estimate_editor(one) for one in editors}
        first, last = found[options.editors[0]], found[options.editors[-1]]
        values = (found[editor][metric] for metric in METRICS for editor in options.editors)
        rows.append([name, first[FOLLOWS].cases, *values, find_shortfalls(first, last)])
        one = compare_editors(editors[0], editors[-1])
        compared.append([name, one.cases, one])
    columns = ["world", "must change", *(f"{m}, {e}" for m in METRICS for e in options.editors), "bar"]
    yield Table("structures", f"Followed, {BOTH}, and changed falsely, by structure", columns, rows)
    if len(options.editors) > 1:
        title = f"Followed, {BOTH}: {options.editors[0]} less {options.editors[-1]}"
        yield Table("differences", title, ["world", "must change", FOLLOWS], compared)


STUDY = Study(
    options=Options(editors=("self-bayes", revision.COUNTING, revision.TUNED_COUNTING), edits=60),
    run="{world.name}",
    preset=lambda cell: presets_of_world(cell["world"]),
    pool=("world", "seed"),
    corpus=lambda cell: corpus_of_world(cell["world"], cell["runs"]),
    train=lambda cell: training_of_world(cell["world"]),
    edit=revision.edits_of,
    variants=revision.VARIANTS,
    tables=make_tables,
    title=lambda options: "structures" + "-development" * (options.worlds == "development"),
)

if __name__ == "__main__":
    launch_module()
