"""What becomes of other people's graphs: facts kept, dependences found, and the way to the first edit?

Command:
    python -m experiments.graphs --path FOLDER

FOLDER has a file of facts for each graph, which is taken with no other option than --world.path, or a folder
in Wikidata5m's layout. Each whole graph is looked through as `testbed.corpus` would: which facts are kept,
which fall away as second objects, which dependences hold out. Then `tiny`, 240 subjects of it, is written
down, learned until 0.9 of the facts are stated, or to the last step, and edited; with --models of so many
graphs, the smallest files first. Processor time is that of these three commands, in one process, and so
without the seconds that each takes to start. Takes two minutes of one core a graph.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.files import read_json, write_json
from corpus.graph import NO_UPSTREAM, KnowledgeGraph
from corpus.world import build_world
from corpus.worlds.account import Account
from experiments.command import launch_module
from experiments.study import Changes, Findings, Stage, Study, StudyOptions, Values, change_settings
from testbed.commands.edit import edit
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, KEPT, SUCCESS
from testbed.presets import CORPUS
from testbed.run.runs import Run, read_metrics
from testbed.run.world import load_world
from testbed.scores.tables import Cell, Table
from testbed.scores.views import View
from testbed.world_tables import weigh_dependences

COLUMNS = (
    "graph", "facts", "kept", "second objects", "relations", "dependences", "nats", "shuffled", "accuracy",
    "CPU minutes",
)  # fmt: skip


@dataclass(frozen=True)
class Options(StudyOptions):
    """Where the graphs are."""

    path: str = ""
    """Folder with a file, or a folder in Wikidata5m's layout, for each graph; without it the built-in
    world."""
    models: int = 100
    """How many graphs are learned and edited."""

    @property
    def graphs(self) -> dict[str, str]:
        """Every graph's file by its name, the smallest first and folders last."""
        if not self.path:
            return {"built-in world": ""}
        folder = Path(self.path).expanduser()
        if not folder.is_dir():
            raise InputError(f"{folder} is no folder; --path has a file for each graph")
        files = sorted(folder.iterdir(), key=lambda file: (file.is_dir(), file.stat().st_size, file.name))
        return {file.name.partition(".")[0]: str(file) for file in files}

    @property
    def cells(self) -> list[Values]:
        """The graphs that are learned and edited."""
        graphs = list(self.graphs.items())[: self.models]
        return [{"graph": name, "file": file, "seed": 0} for name, file in graphs]


def source_of(file: str) -> Changes:
    """The one option; two for a folder."""
    changes: Changes = {"world.path": file} if file else {}
    return changes | ({"world.source": "wikidata"} if file and Path(file).is_dir() else {})


def timed_stages(findings: Findings) -> Iterator[Stage]:
    """Corpus, model and the first editor's edits of each graph, whose processor time is kept."""
    for cell in findings.cells:
        run = findings.run_of(cell)
        edited = partial(edit, findings.edits_of(cell, findings.options.editors[0]))
        stages: list[Stage] = [*findings.model_stages(cell), (f"edits of {run.name}", edited)]
        for title, work in stages:
            yield title, partial(time_stage, run, title, work)


def time_stage(run: Run, title: str, work: Callable[[], object]) -> None:
    """Do it, and add the processor's seconds to those that it took before; nearly none where it was done."""
    began = time.process_time()
    work()
    seconds = seconds_of(run)
    spent = time.process_time() - began
    write_json(run.folder / "seconds.json", seconds | {title: seconds.get(title, 0.0) + spent})


def seconds_of(run: Run) -> dict[str, float]:
    """Processor time by stage."""
    path = run.folder / "seconds.json"
    return read_json(path) if path.exists() else {}


def read_whole(config: WorldConfig) -> tuple[KnowledgeGraph, Account]:
    """A graph with all its subjects, and what was left out."""
    account = Account()
    whole = config if config.source == "builtin" else replace(config, subjects=sys.maxsize)
    return build_world(whole, 0, account=account), account


def describe_graph(graph: KnowledgeGraph, account: Account) -> dict[str, Any]:
    """What was kept of a graph, and the strongest of the dependences that were found.

    Each subject with one relation has one fact, so that kept and left out are all facts.
    """
    facts = len(graph) + sum(account.left_out.values())
    evidence = [*weigh_dependences(graph).values()]
    return {
        "facts": facts,
        "kept": len(graph) / facts,
        "second objects": account.left_out.get("second objects", 0) / facts,
        "relations": len(graph.relations),
        "dependences": int((graph.upstream != NO_UPSTREAM).sum()),
        "nats": max((one.gain for one in evidence), default=None),
        "shuffled": max((one.chance for one in evidence), default=None),
    }


def graphs_table(findings: Findings) -> Iterator[Table]:
    """A row a graph."""
    rows: list[list[Cell]] = []
    learned: dict[str, list[Cell]] = {}
    for cell in findings.cells:
        run = findings.run_of(cell)
        minutes = sum(seconds_of(run).values()) / 60
        learned[cell["graph"]] = [read_metrics(run)[-1]["accuracy"], minutes]
    for name, file in findings.options.graphs.items():
        whole = describe_graph(*read_whole(change_settings(CORPUS["tiny"], source_of(file)).world))
        rows.append([name, *whole.values(), *learned.get(name, [None, None])])
    note = (
        "Kept and second objects are shares of all facts; nats a subject of the strongest dependence, and "
        "the most in tables dealt anew. Accuracy is that of 240 subjects; minutes are up to all their edits."
    )
    yield Table("graphs", "Graphs as tables", [*COLUMNS], rows, note)
    sampled: list[list[Cell]] = []
    for cell in findings.cells:
        graph = load_world(findings.run_of(cell)).graph
        found = int((graph.upstream != NO_UPSTREAM).sum())
        sampled.append([cell["graph"], len(graph.subjects), len(graph), found])
    header = ["graph", "subjects", "facts", "dependences"]
    yield Table("sampled", "What was edited", header, sampled)


STUDY = Study(
    options=Options(editors=("lora-down",), edits=24),
    run="graphs-{graph}",
    corpus=lambda cell: source_of(cell["file"]),
    train=lambda _: {"until": 0.9},
    pool=("seed", "file"),
    before=timed_stages,
    views=[
        View("edits", "Edits", (SUCCESS, FOLLOWS, KEPT, DAMAGE), rows={"graph": "graph", "reader": "editor"})
    ],
    tables=graphs_table,
)

if __name__ == "__main__":
    launch_module()
