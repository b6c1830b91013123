"""Can an edit of an effect revise its cause, as evidence would? Not by anything that only has the model.

Command:
    python -m experiments.causes

Takes two and a half minutes of one core and writes experiments/records/<date>-causes.
Where facts persist the agent never changes its answer about a cause. Where statements are fresh draws it
may, if it takes fewer of the request's statements to say that the subject stands in another row than to
outweigh the row it stands in; that depends on how much was said for the cause.

A sentence that stands sixteen times in a text may be sixteen statements or one that was copied: the text is
the same, and so is whatever model is trained on it, but not what is rational. Here agents read the same
worlds in four ways: each sentence is one statement ("once"); each sentence is many ("all"); only those about
causes are, or only those about effects. All are asked about the same requests, which contradict effects, each
at the weight that brings its own credence to .95. Expected, if an editor without the number could be right:
that readings agree on the cause. If they do not, whoever follows the causes that change under one reading
changes them falsely under another.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bayes.exact import ExactAgent, fit_exact
from corpus.config import BuiltinWorld, ExactConfig, WorldConfig
from experiments.analyses.agents_disagree import CREDENCE, ask_before_and_after, share_of_cases
from experiments.command import launch_module
from experiments.study import Edits, StudyOptions, record_tables
from testbed.commands.corpus import build_corpus
from testbed.console import show_progress
from testbed.evaluations.hase import Hase
from testbed.presets import CORPUS
from testbed.run.agents import exact_agent
from testbed.run.runs import Run
from testbed.run.world import World, load_world
from testbed.scores.statistics import Estimate
from testbed.scores.tables import Cell, Table

ONCE = "once"
COLUMNS = ("changes", "follows", "falsely changed")


@dataclass(frozen=True)
class Settings(StudyOptions):
    """Worlds, and how often their sentences count."""

    subjects: int = 400
    """Subjects of each world."""
    statements: tuple[int, ...] = (8, 40)
    """Of each fully stated fact: as many kinds of world."""
    times: int = 16
    """How many statements a sentence is, where it is many."""
    edits: Edits = 200
    """Edits of effects in each world."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Worlds of each kind."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.statements or not self.seeds:
            raise ValueError("statements and seeds must be some numbers")


def load_or_build_world(settings: Settings, statements: int, seed: int) -> World:
    """A world of fresh draws, built where it is missing.

    No sentence joins two statements, since one about a cause may then count as often as one about an effect.
    """
    corpus = replace(
        CORPUS["tiny"],
        run=f"causes-{settings.subjects}-{statements}-{seed}",
        runs=settings.runs,
        seed=seed,
        kind="exact",
        world=WorldConfig(subjects=settings.subjects, builtin=BuiltinWorld()),
        exact=ExactConfig(persistence="sentence", statements=statements, logical=0.0),
    )
    build_corpus(corpus)
    return load_world(Run(settings.runs, corpus.run))


def agents_by_count(world: World, times: int) -> dict[str, ExactAgent]:
    """Agents by how they read the text: what counts as `times` statements, each sentence or some."""
    if world.exact is None:
        raise ValueError("a world of kind exact is needed")
    sentences, graph, config = world.sentences, world.graph, world.exact.config
    cause = np.isin(sentences.a[:, 1], np.flatnonzero(graph.upstream < 0))
    counts = {"all": np.ones_like(cause), "causes": cause, "effects": ~cause}
    return {ONCE: exact_agent(world)} | {
        name: fit_exact(
            graph, config, sentences.take(np.repeat(np.arange(len(cause)), 1 + (times - 1) * many))
        )
        for name, many in counts.items()
    }


def measure_world(settings: Settings, statements: int, seed: int) -> dict[str, np.ndarray]:
    """Columns of one world's edits: by reading, whether the cause changes, its answer after; and LEVELS."""
    world = load_or_build_world(settings, statements, seed)
    agents = agents_by_count(world, settings.times)
    edits = Hase(edits="downstream", reinforce=0.0)
    cases = list(edits.make_cases(world, agents[ONCE], settings.edits, CREDENCE, seed))
    subject, relation, obj = np.array([case.requested_fact for case in cases]).T
    columns = {"subject": subject + seed * 10**7, "object": obj + seed * 10**7}
    columns["world"] = np.full(len(cases), seed)
    causes = world.graph.upstream[relation].tolist()
    for name, agent in agents.items():
        columns[f"{name} changes"], columns[name] = ask_before_and_after(agent, cases, causes, "evidence")
    return columns


def shares_by_agent(columns: dict[str, np.ndarray]) -> dict[str, dict[str, Estimate]]:
    """By reading: how often the cause changes, and what its answer is worth to who reads each sentence once.

    "follows": of the causes that change for that reader, those that get the same answer. "falsely changed":
    of those that do not, those that get another.
    """
    must = columns[f"{ONCE} changes"]
    by_reading = {}
    for name in (column.removesuffix(" changes") for column in columns if column.endswith(" changes")):
        same = columns[name] == columns[ONCE]
        of = columns | {"same": same, "other": ~same}
        by_reading[name] = {
            "changes": share_of_cases(of, f"{name} changes", np.ones(len(must), bool)),
            "follows": share_of_cases(of, "same", must),
            "falsely changed": share_of_cases(of, "other", ~must),
        }
    return by_reading


def run_study(settings: Settings) -> None:
    """Build the worlds, ask the agents, print the table and keep it."""
    rows: list[list[Cell]] = []
    with show_progress("worlds", len(settings.statements) * len(settings.seeds)) as advance:
        for statements in settings.statements:
            columns: dict[str, np.ndarray] = {}
            for one in map(partial(measure_world, settings, statements), settings.seeds):
                columns = {k: np.concatenate([columns[k], v]) if columns else v for k, v in one.items()}
                advance(1)
            rows += [
                [str(statements), name, len(columns["world"]), *(row[c] for c in COLUMNS)]
                for name, row in shares_by_agent(columns).items()
            ]
    header = ["statements", f"what counts {settings.times} times", "edits", *COLUMNS]
    table = Table("causes", "The cause, after an edit of its effect", header, rows, words=2)
    first = f"causes-{settings.subjects}-{settings.statements[0]}-{settings.seeds[0]}"
    record_tables(settings, Run(settings.runs, first), [table])


if __name__ == "__main__":
    launch_module()
