"""Can any fact be edited? By how surprising the request is, what depends on the fact, and nonsense.

Command:
    python -m experiments.corrigibility

In ten of the demo's worlds requests that contradict the truth name an object of the relation, or one of
another relation's, such as a team for a birthplace. The first are told apart by the agent's surprise,
-log p(request) before it is told, in thirds, and by whether another fact depends on the edited one. Settings
are the preset's. Takes an hour of one core, the models included.
"""

from collections.abc import Iterator

import numpy as np

from corpus.seeds import generator
from experiments.command import launch_module
from experiments.study import Changes, Findings, Study, Values, WorldOptions
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.hase import REQUEST
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, KEPT, METRICS, SUCCESS, rows_of_role
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.scores.metric import labels_of
from testbed.scores.statistics import estimate_metric
from testbed.scores.tables import Cell, Table

OBJECTS = ("of the relation", "of another relation")
THIRDS = ("least surprising", "middle", "most surprising")


def name_others(cell: Values) -> tuple[str, ...]:
    """Requests that give causes an object of another cause's relation; none before the world is made."""
    run = Run(cell["runs"], STUDY.run.format_map(cell))
    if not run.finished_file.exists():
        return ()
    world = load_world(run)
    graph, rng = world.graph, generator(cell["seed"], "objects of other relations")
    causes = np.unique(graph.upstream[graph.upstream >= 0])
    requests = []
    for fact in rng.permutation(np.flatnonzero(np.isin(graph.relation, causes)))[: cell["edits"]]:
        others = causes[causes != graph.relation[fact]]
        other = rng.choice(graph.object[np.isin(graph.relation, others)])
        about = graph.entities[graph.subject[fact]], graph.relations[graph.relation[fact]]
        requests.append(f"{' '.join(about)} = {graph.entities[other]}")
    return tuple(requests)


def changes_of(cell: Values) -> Changes:
    """Requests that contradict the truth, as they are drawn or as they are named here."""
    return {"hase.reinforce": 0.0} | (
        {"hase.requests": name_others(cell)} if cell["objects"] == OBJECTS[1] else {}
    )


def divide_edits(results: Results) -> dict[str, np.ndarray]:
    """bool[E] by third of the agent's surprise, and by whether a fact depends on the edited one."""
    c, requested = results.choices, results.cases["object"][results.choices.case]
    p = c.agent[:, 0].sum(-1, where=c.options == requested[:, None])[rows_of_role(results, REQUEST)]
    third = np.argsort(np.argsort(-p, kind="stable")) * len(THIRDS) // len(p)
    depends = results.cases["child"]
    return {name: third == i for i, name in enumerate(THIRDS)} | {
        "something depends on it": depends, "nothing does": ~depends
    }  # fmt: skip


def tables_of(findings: Findings) -> Iterator[Table]:
    """A table a metric: an editor's edits of each part."""
    for metric in (SUCCESS, FOLLOWS, KEPT, DAMAGE):
        rows: list[list[Cell]] = []
        for usual, other in zip(*(findings.editors(objects=objects) for objects in OBJECTS), strict=True):
            parts = divide_edits(usual.edits.results)
            cells = [(usual, among) for among in parts.values()]
            cells.append((other, np.ones(len(other.edits.results), bool)))
            rows.append([usual.name, *(
                estimate_metric(one.values[one.name][metric], cluster_levels(one.edits.results), among)
                for one, among in cells
            )])  # fmt: skip
        head = ["editor", *parts, f"object {OBJECTS[1]}"]
        yield Table(f"by-surprise-{metric}", labels_of(METRICS)[metric], head, rows)


STUDY = Study(
    options=WorldOptions(
        worlds=10, edits=40, editors=("lora-down", "full", "rome", "keyed-request", "keyed")
    ),
    cells=lambda options: [
        {"objects": objects, "seed": seed} for seed in range(options.worlds) for objects in OBJECTS
    ],
    run="demo-worlds-{seed}",
    edit=changes_of,
    tables=tables_of,
)

if __name__ == "__main__":
    launch_module()
