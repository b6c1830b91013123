"""What is worked out rightly, structure by structure, from beliefs that a corpus gives; no model is trained.

Commands:
    python -m experiments.structure_reasoning --worlds development
    python -m experiments.structure_reasoning
    python -m experiments.structure_reasoning --worlds development --hints persistence

An edit by `self-bayes` or by counting is worked out from beliefs first, and then fitted. Here beliefs are
those of a reader of the corpus: of each fact how often each object was stated, mixed with what is said of
those who have the same cause, as a model that generalises mixes them, and blurred. The first part of an edit
is done on them, and what it asks for is taken to be fitted exactly. So the fit loses nothing, and every
structure of `experiments.structures` is asked about hundreds of times faster than with models.

follows: of consequences that must change, where two subjects or more have the new object, the share that is
the agent's; false: of the subject's other answers that must stay, the share that changes; skill: over all of
the subject's other answers. Counting is shown with all its thresholds, since each buys what follows by what
changes falsely. Calibration: how often the agent moves what `self-bayes` takes to move with some probability,
by how many steps it is below what was edited. What depends on what, and whether facts persist, can be told to
`self-bayes`: what it then does better is what its doubt about these costs.

Writes experiments/records/<date>-structure-reasoning; takes some twenty seconds of one core a world.
"""

from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Literal

import jax
import numpy as np

from corpus.graph import KnowledgeGraph
from experiments.command import launch_module
from experiments.measures.corpus_reader import (
    DEFAULT,
    GRID,
    TUNED,
    Movement,
    Tally,
    Thresholds,
    find_movement,
    format_share,
    locate_requests,
    open_mind,
    read_corpus,
    revise_by_bayes,
    revise_by_counting,
    tally_counting,
    tally_revision,
)
from experiments.measures.revision_worlds import agent_of, build_run
from experiments.measures.structure_worlds import STRUCTURE_NAMES, draw_worlds
from experiments.study import Edits, StudyOptions, record_tables
from lm.editors.self_bayes import DependenceConfig, SelfBayesConfig
from testbed.console import say, show_progress
from testbed.run.runs import Run
from testbed.run.runtime import prepare_jax
from testbed.scores.tables import Cell, Table

SELF = "self-bayes"
EDGES = (0.0, 0.02, 0.2, 0.4, 0.6, 0.8, 1.01)


@dataclass(frozen=True)
class Settings(StudyOptions):
    """Which worlds."""

    edits: Edits = 80
    worlds: Literal["development", "report"] = "report"
    """Rules and thresholds may be chosen on the first list only."""
    structures: tuple[str, ...] = STRUCTURE_NAMES
    """Kind of world and factor."""
    draws: int = 1
    """Worlds of each structure."""
    hints: tuple[Literal["dependences", "persistence"], ...] = ()
    """What `self-bayes` need not find out."""


def tell_editor(settings: Settings, kind: str, graph: KnowledgeGraph) -> DependenceConfig:
    """What `self-bayes` is told of a world."""
    config = SelfBayesConfig().dependence
    if "dependences" in settings.hints:
        config = replace(config, given=tuple(graph.upstream.tolist()))
    if "persistence" in settings.hints:
        config = replace(config, persistence=float(kind == "fact"))
    return config


def run_study(settings: Settings) -> None:
    """Read, revise, tables, record."""
    prepare_jax()
    tallies: dict[str, dict[str, Tally]] = {}
    movements = []
    worlds = {name: draw_worlds(name, settings.worlds, settings.draws) for name in settings.structures}
    with show_progress("worlds", settings.draws * len(worlds)) as advance:
        for name, of_name in worlds.items():
            of_structure = tallies.setdefault(name, {})
            for world in of_name:
                run = build_run(world, settings.runs)
                reading = read_corpus(run, agent_of(world), settings.edits, world.seed)
                mind = open_mind(reading, tell_editor(settings, world.kind, reading.world.graph))
                contexts, credence = locate_requests(reading, mind), reading.cases[0].credence
                own = revise_by_bayes(reading, mind, contexts, credence)
                counted = tally_counting(reading, revise_by_counting(reading, mind, contexts))
                by_name = {SELF: tally_revision(reading, own)} | {t.name: x for t, x in counted.items()}
                for editor, tally in by_name.items():
                    of_structure[editor] = of_structure.get(editor, Tally()).plus(tally)
                movements.append(find_movement(reading, own))
                jax.clear_caches()
                advance(1)
    movement = Movement(*map(np.concatenate, zip(*movements, strict=True)))
    development = ["development"] if settings.worlds == "development" else []
    record_tables(
        settings,
        Run(settings.runs, worlds[settings.structures[0]][0].name),
        [structure_table(tallies), frontier_table(tallies), calibration_table(movement)],
        title="-".join(["structure-reasoning", *development, *settings.hints]),
        found={s: {name: list(map(float, t)) for name, t in of.items()} for s, of in tallies.items()},
    )
    if settings.worlds == "development":
        say(f"thresholds: {choose_thresholds(tallies).name}")


def choose_thresholds(tallies: dict[str, dict[str, Tally]]) -> Thresholds:
    """Of those that follow within .05 of the most, over all structures alike, those with most skill."""
    mean = {
        t: np.mean([[of[t.name].followed / max(of[t.name].must, 1), 1 - of[t.name].after / of[t.name].before]
                    for of in tallies.values()], axis=0)
        for t in GRID
    }  # fmt: skip
    most = max(follows for follows, _ in mean.values())
    return max((t for t in GRID if mean[t][0] >= most - 0.05), key=lambda t: mean[t][1])


def structure_table(tallies: dict[str, dict[str, Tally]]) -> Table:
    """A row each, `self-bayes` beside counting by default and as it was tuned."""
    readers = (SELF, DEFAULT.name, TUNED.name)
    rows: list[list[Cell]] = [
        [structure, *(cell for name in readers for cell in of[name].row)] for structure, of in tallies.items()
    ]
    columns = [f"{what}, {name}" for name in readers for what in ("follows", "of", "false", "of ", "skill")]
    return Table("structures", "What is worked out, by structure", ["structure", *columns], rows)


def frontier_table(tallies: dict[str, dict[str, Tally]]) -> Table:
    """All settings of counting over all structures, and `self-bayes` beside them."""
    rows: list[list[Cell]] = []
    for name in (SELF, *(t.name for t in GRID)):
        total, worst = Tally(), 1.0
        for of in tallies.values():
            total = total.plus(of[name])
            worst = min(worst, of[name].followed / of[name].must if of[name].must >= 10 else 1.0)
        rows.append([name, *total.row, format_share(worst)])
    columns = ["editor", "follows", "of", "false", "of ", "skill", "follows in the worst structure"]
    return Table("frontier", "What counting buys, and for what", columns, rows)


def calibration_table(movement: Movement) -> Table:
    """How often the agent moves what is taken to move so probably."""
    steps = movement.steps
    places = {"one step below": steps == 1, "further below": steps > 1, "elsewhere": steps == 0}
    rows: list[list[Cell]] = []
    for (place, of_place), (low, high) in product(places.items(), pairwise(EDGES)):
        p = movement.probability
        among = of_place & (p >= low) & (p < high)
        if among.any():
            means = (format_share(float(x[among].mean())) for x in (p, movement.moves))
            rows.append([place, f"{low:g} to {min(high, 1):g}", int(among.sum()), *means])
    columns = ["where", "probability", "answers", "mean", "moves"]
    return Table("calibration", "Is taken to move, and moves", columns, rows)


if __name__ == "__main__":
    launch_module()
