"""What `self-bayes` finds out about a world, by how many subjects it looks at.

Commands:
    python -m experiments.found_dependence
    python -m experiments.found_dependence --known [--facts FOLDER_IN_WIKIDATA5M_LAYOUT]

The report worlds of `experiments.revision` and their models are made where they are missing (a minute or two
of two cores each). Of every model the beliefs are read once, and dependences looked for in some of its
subjects only, drawn at random, five times over. For each kind of world and number of subjects:

AUC          chance that a pair of relations that depend is taken to hang together more surely than another
found        of the pairs that depend, those in the likeliest forest, in whichever direction
false        of the dependences in that forest, those of pairs that do not depend
cause right  of those that do, the ones with the cause on the right side
p(persists)  mean probability that facts of what depends persist; 1 is right where they do, 0 elsewhere
Brier        of the probabilities that pairs hang together: mean squared error, 0 is best; a constant at the
             share of pairs that depend has "Brier, constant"

With --known no model is asked, to see whether more could be had: all facts themselves are searched, in fresh
draws of the worlds in which facts persist and, given a folder, of its samples of real facts, by

mass 2, mass .2   the exact posterior over forests (`bayes.structure`), rows being Dirichlet of that mass, and
                  tables of no cause of mass 8, as the agents of these worlds have it with rows of mass 2
each its own      the search of `self-bayes`, which averages over masses for each pair of relations

Intervals are over worlds. Writes experiments/records/<date>-found-dependence; takes five minutes once the
models are there, with --known one minute of one core.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bayes.structure import log_scores
from corpus.config import ExactConfig
from corpus.forests import forest_posterior, likeliest_forest
from corpus.graph import KnowledgeGraph
from corpus.seeds import generator
from experiments.command import launch_module
from experiments.measures.dependence_search import (
    Search,
    compare_forests,
    read_run_beliefs,
    search_dependence,
    search_estimates,
)
from experiments.measures.revision_tables import KINDS
from experiments.measures.revision_worlds import LISTS, RevisionWorld, build_run, prepare_run
from experiments.study import StudyOptions, record_tables
from lm.editors.self_bayes.beliefs import Beliefs
from testbed.console import show_progress
from testbed.run.runs import Run
from testbed.run.runtime import prepare_jax
from testbed.run.world import load_world
from testbed.scores.statistics import Estimate
from testbed.scores.tables import Cell, Table

ROW_MASSES = (ExactConfig.row_mass, 0.2)
KNOWN_COLUMNS = ("AUC", "found", "false", "cause right", "Brier", "Brier, constant")


def sample_subjects(beliefs: Beliefs, count: int, rng: np.random.Generator) -> Beliefs:
    """The beliefs about so many of the subjects, drawn at random."""
    places = np.sort(rng.choice(len(beliefs.subjects), count, replace=False))
    return beliefs._replace(
        subjects=beliefs.subjects[places],
        top=beliefs.top[:, places],
        p=beliefs.p[:, places],
        mention_probability=beliefs.mention_probability[:, places],
    )


@dataclass(frozen=True)
class Settings(StudyOptions):
    """Which worlds, and how many subjects."""

    subjects: tuple[int, ...] = (8, 16, 32, 64, 120)
    """Numbers of subjects; all of them are looked at besides."""
    draws: int = 5
    """Draws of each number of subjects in each world; with --known, of each world."""
    known: bool = False
    """Search in all facts in place of the beliefs of models."""
    facts: Path | None = None
    """Folder in Wikidata5m's layout, with --known; without one there are no real facts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.subjects) < 1:
            raise ValueError("subjects must be positive")
        if self.facts and not self.known:
            raise ValueError("facts go with known")

    @property
    def known_worlds(self) -> dict[str, list[RevisionWorld]]:
        """By name in the table, fresh draws of one world; names of several tokens would change no fact."""
        world_lists = LISTS["report"] + (LISTS["real"] if self.facts else ())
        return {
            f"{one.shape}, {one.subjects} subjects": [
                replace(one, seed=100 * one.seed + k, several_tokens=False) for k in range(self.draws)
            ]
            for one in world_lists
            if one.kind == "fact"
        }


Found = dict[str, dict[str, list[tuple[int, Search]]]]
"""By kind of world and number of subjects, the world and what was found there, for each draw."""


def run_study(settings: Settings) -> None:
    """Search, tables, record."""
    prepare_jax()
    if settings.known:
        record_known(settings)
    else:
        record_found(settings)


def record_found(settings: Settings) -> None:
    """Read every model, search in some of its subjects."""
    searches: Found = {}
    worlds = LISTS["report"]
    with show_progress("worlds", len(worlds)) as advance:
        for number, revision_world in enumerate(worlds):
            run = prepare_run(revision_world, settings.runs)
            world = load_world(run)
            beliefs, upstream = read_run_beliefs(run, world), world.graph.upstream
            of_kind = searches.setdefault(revision_world.kind, {})
            rng = generator(revision_world.seed, "some subjects")
            for count in settings.subjects:
                if count < len(beliefs.subjects):
                    of_kind.setdefault(f"{count}", []).extend(
                        (number, search_dependence(sample_subjects(beliefs, count, rng), upstream))
                        for _ in range(settings.draws)
                    )
            of_kind.setdefault("all", []).append((number, search_dependence(beliefs, upstream)))
            advance(1)
    shares = {
        kind: {n: search_estimates(of) for n, of in by_number.items()} for kind, by_number in searches.items()
    }
    tables = [recovery_table(kind, of) for kind, of in shares.items()]
    record_tables(settings, Run(settings.runs, worlds[0].name), tables)


def recovery_table(kind: str, by_number: dict[str, dict[str, Estimate]]) -> Table:
    """One row for each number of subjects."""
    columns = next(iter(by_number.values()))
    rows: list[list[Cell]] = [[n, *row.values()] for n, row in by_number.items()]
    note = "± is half of a 95% interval over worlds; brackets: searches."
    return Table(f"found-{kind}", f"What is found, {KINDS[kind]}", ["subjects", *columns], rows, note)


def record_known(settings: Settings) -> None:
    """Search in all facts of every draw of a world."""
    searches: dict[str, dict[str, list[tuple[int, Search]]]] = {}
    pooled: dict[str, list[tuple[int, Search]]] = {}
    with show_progress("worlds", settings.draws * len(settings.known_worlds)) as advance:
        for name, draws in settings.known_worlds.items():
            for world in draws:
                run = build_run(world, settings.runs, settings.facts)
                for reader, one in search_facts(load_world(run).graph).items():
                    searches.setdefault(name, {}).setdefault(reader, []).append((world.seed, one))
                    if world.shape != "real":
                        pooled.setdefault(reader, []).append((world.seed, one))
                advance(1)
    searches["all but real"] = pooled
    record_tables(settings, run, [known_table(searches)], "known-dependence")


def sure_beliefs(graph: KnowledgeGraph) -> Beliefs:
    """The beliefs of somebody who knows every fact and doubts none."""
    relations, subjects = len(graph.relations), int(graph.subject.max()) + 1
    top, certainty = np.zeros((relations, subjects, 1), np.int32), np.zeros((relations, subjects), np.float32)
    top[graph.relation, graph.subject, 0] = graph.object
    certainty[graph.relation, graph.subject] = 1
    names = np.arange(max(subjects, int(graph.object.max()) + 1), dtype=np.int32)[:, None]
    return Beliefs(names[:subjects], names, top, certainty[..., None], certainty)


def search_facts(graph: KnowledgeGraph) -> dict[str, Search]:
    """By name in the table, what is found in the facts of a graph."""
    comparisons = {}
    for mass in ROW_MASSES:
        scores = log_scores(graph, [ExactConfig.root_mass], [mass])
        depends = forest_posterior(scores).depends
        comparisons[f"mass {mass:g}"] = compare_forests(
            likeliest_forest(scores), depends + depends.T, graph.upstream
        )
    return comparisons | {"each its own": search_dependence(sure_beliefs(graph), graph.upstream)}


def known_table(found: dict[str, dict[str, list[tuple[int, Search]]]]) -> Table:
    """One row for each kind of world and reader."""
    rows: list[list[Cell]] = []
    for world, by_reader in found.items():
        for reader, searches in by_reader.items():
            shares = search_estimates(searches)
            rows.append([world, reader, *(shares[name] for name in KNOWN_COLUMNS)])
    note = "± is half of a 95% interval over worlds; brackets: worlds."
    title = "What is found in all facts, where they persist"
    return Table("known", title, ["world", "mass of rows", *KNOWN_COLUMNS], rows, note, words=2)


if __name__ == "__main__":
    launch_module()
