"""Can it be known which of two facts is the cause, where facts persist? By somebody who knows every fact.

Commands:
    python -m experiments.known_dependence
    python -m experiments.known_dependence --facts FOLDER_IN_WIKIDATA5M_LAYOUT

`self-bayes` takes cause for effect in a quarter of the dependences where facts persist
(`experiments.found_dependence`). No model is needed to see whether more could be had: here the facts
themselves are read, all of them, by

mass 2, mass .2   the exact posterior over forests (`bayes.structure`), rows being Dirichlet of that mass, and
                  tables of no cause of mass 8, as the agents of these worlds have it with rows of mass 2
each its own      the search of `self-bayes`, which averages over masses for each pair of relations

in fresh draws of the worlds of `experiments.revision` in which facts persist and, given a folder, of its
samples of real facts. Columns are those of `experiments.found_dependence`; intervals are over worlds. Writes
experiments/records/<date>-known-dependence; takes a minute of one core.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bayes.structure import log_scores
from corpus.config import ExactConfig
from corpus.forests import forest_posterior, likeliest_forest
from corpus.graph import KnowledgeGraph
from experiments.command import launch_module
from experiments.record import short, typed, unusual, write_record
from experiments.studies.found_dependence import Search, compare_forests, search_dependence, search_estimates
from experiments.studies.revision_worlds import LISTS, RevisionWorld, build_run
from lm.editors.self_bayes.beliefs import Beliefs
from testbed.console import say, show_progress
from testbed.run.runtime import prepare_jax
from testbed.run.world import load_world
from testbed.scores.tables import Cell, Table, markdown_section

ROW_MASSES = (ExactConfig.row_mass, 0.2)
COLUMNS = ("AUC", "found", "false", "cause right", "Brier", "Brier, constant")


@dataclass(frozen=True)
class Settings:
    """How many worlds."""

    draws: int = 5
    """Fresh draws of each world."""
    facts: Path | None = None
    """Folder in Wikidata5m's layout; without one there are no real facts."""
    runs: Path = Path("runs")
    """Folder of all runs."""

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise ValueError("draws must be positive")

    @property
    def command(self) -> str:
        """What repeats it."""
        return typed("known_dependence", {"facts": "FOLDER" if self.facts else ""} | unusual(self, "draws"))

    @property
    def worlds(self) -> dict[str, list[RevisionWorld]]:
        """By name in the table, fresh draws of one world; names of several tokens would change no fact."""
        made = LISTS["report"] + (LISTS["real"] if self.facts else ())
        return {
            f"{one.shape}, {one.subjects} subjects": [
                replace(one, seed=100 * one.seed + k, several_tokens=False) for k in range(self.draws)
            ]
            for one in made
            if one.kind == "fact"
        }


def sure_beliefs(graph: KnowledgeGraph) -> Beliefs:
    """The beliefs of somebody who knows every fact and doubts none."""
    relations, subjects = len(graph.relations), int(graph.subject.max()) + 1
    top, said = np.zeros((relations, subjects, 1), np.int32), np.zeros((relations, subjects), np.float32)
    top[graph.relation, graph.subject, 0] = graph.object
    said[graph.relation, graph.subject] = 1
    names = np.arange(max(subjects, int(graph.object.max()) + 1), dtype=np.int32)[:, None]
    return Beliefs(names[:subjects], names, top, said[..., None], said)


def readers(graph: KnowledgeGraph) -> dict[str, Search]:
    """By name in the table, what is found in the facts of a graph."""
    found = {}
    for mass in ROW_MASSES:
        scores = log_scores(graph, ExactConfig.root_mass, mass)
        depends = forest_posterior(scores).depends
        found[f"mass {mass:g}"] = compare_forests(
            likeliest_forest(scores), depends + depends.T, graph.upstream
        )
    return found | {"each its own": search_dependence(sure_beliefs(graph), graph.upstream)}


def table_of(found: dict[str, dict[str, list[tuple[int, Search]]]]) -> tuple[Table, dict[str, dict]]:
    """One row for each kind of world and reader; the same as figures."""
    rows: list[list[Cell]] = []
    figures: dict[str, dict[str, dict]] = {}
    for world, by_reader in found.items():
        for reader, searches in by_reader.items():
            shares = search_estimates(searches)
            rows.append([world, reader, *(shares[name] for name in COLUMNS)])
            figures.setdefault(world, {})[reader] = {name: short(shares[name]) for name in COLUMNS}
    note = "± is half of a 95% interval over worlds; brackets: worlds."
    title = "What is found in all facts, where they persist"
    return Table("known", title, ["world", "mass of rows", *COLUMNS], rows, note), figures


def run_study(settings: Settings) -> None:
    """Worlds, searches, table, record."""
    prepare_jax()
    found: dict[str, dict[str, list[tuple[int, Search]]]] = {}
    pooled: dict[str, list[tuple[int, Search]]] = {}
    with show_progress("worlds", settings.draws * len(settings.worlds)) as advance:
        for name, draws in settings.worlds.items():
            for world in draws:
                run = build_run(world, settings.runs, settings.facts)
                for reader, one in readers(load_world(run).graph).items():
                    found.setdefault(name, {}).setdefault(reader, []).append((world.seed, one))
                    if world.shape != "real":
                        pooled.setdefault(reader, []).append((world.seed, one))
                advance(1)
    found["all but real"] = pooled
    table, figures = table_of(found)
    text = markdown_section(table)
    say(text)
    folder = write_record(run, "known-dependence", settings.command, [], copied=(), found=figures)
    (folder / "known_dependence.md").write_text(text, encoding="utf-8")
    say(f"record: {folder}")


if __name__ == "__main__":
    launch_module()
