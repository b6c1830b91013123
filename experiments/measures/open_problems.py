"""What the open problems of Hase et al. 2024 need counted: edits by how surprising they are, and voices."""

from collections.abc import Iterator

import numpy as np

from corpus.seeds import generator
from corpus.worlds.press import EATS, PAPERS
from experiments.study import Findings
from testbed.engine.results import Results
from testbed.evaluations.hase import REQUEST as EDITED
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, KEPT, METRICS, SUCCESS, rows_of_role
from testbed.evaluations.kinds import OWN, REQUEST
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.scores.metric import Metric, labels_of, sum_by_case
from testbed.scores.readers import has_to_change, is_as_good
from testbed.scores.tables import Cell, Table

OBJECTS = ("of the relation", "of another relation")
THIRDS = ("least surprising", "middle", "most surprising")
COLUMNS = (
    "that paper writes it", "others write what they wrote", "others write it too", "belief follows",
    "belief stays",
)  # fmt: skip


def name_others(run: Run, count: int, seed: int) -> tuple[str, ...]:
    """Requests that give causes an object of another cause's relation; none before the world is made."""
    if not run.finished_file.exists():
        return ()
    graph, rng = load_world(run).graph, generator(seed, "objects of other relations")
    causes = np.unique(graph.upstream[graph.upstream >= 0])
    requests = []
    for fact in rng.permutation(np.flatnonzero(np.isin(graph.relation, causes)))[:count]:
        others = causes[causes != graph.relation[fact]]
        other = rng.choice(graph.object[np.isin(graph.relation, others)])
        about = graph.entities[graph.subject[fact]], graph.relations[graph.relation[fact]]
        requests.append(f"{' '.join(about)} = {graph.entities[other]}")
    return tuple(requests)


def divide_edits(results: Results) -> dict[str, np.ndarray]:
    """bool[E] by third of the agent's surprise, and by whether a fact depends on the edited one."""
    c, requested = results.choices, results.cases["object"][results.choices.case]
    p = c.agent[:, 0].sum(-1, where=c.options == requested[:, None])[rows_of_role(results, EDITED)]
    third = np.argsort(np.argsort(-p, kind="stable")) * len(THIRDS) // len(p)
    depends = results.cases["child"]
    return {name: third == i for i, name in enumerate(THIRDS)} | {
        "something depends on it": depends, "nothing does": ~depends
    }  # fmt: skip


def surprise_tables(findings: Findings) -> Iterator[Table]:
    """A table a metric: an editor's edits of each part."""
    for metric in (SUCCESS, FOLLOWS, KEPT, DAMAGE):
        rows: list[list[Cell]] = []
        for usual, other in zip(*(findings.editors(objects=objects) for objects in OBJECTS), strict=True):
            parts = divide_edits(usual.edits.results)
            own, named = (one.values[one.name][metric] for one in (usual, other))
            cells = [usual.estimate(own, among) for among in parts.values()]
            rows.append([usual.name, *cells, other.estimate(named)])
        head = ["editor", *parts, f"object {OBJECTS[1]}"]
        yield Table(f"by-surprise-{metric}", labels_of(METRICS)[metric], head, rows)


def measure_voices(results: Results, papers: list[int], eats: int) -> list[Metric]:
    """COLUMNS, of edits in a paper's voice.

    Args:
        papers, eats: relations, of each paper's sentences and of those in nobody's voice.
    """
    c = results.choices
    requested, answer = results.cases["object"][c.case], c.lm_answer[:, 1]
    in_voice, is_paper = np.isin(results.cases["relation"], papers)[c.case], np.isin(c.relation, papers)
    own, follows, right = np.isin(c.role, OWN), has_to_change(c), is_as_good(c, answer, 1)
    others, belief = in_voice & own & is_paper & ~follows, in_voice & own & (c.relation == eats)
    shares = (
        (answer == requested, in_voice & (c.role == REQUEST)),
        (right, others),
        (answer == requested, others & (c.agent_answer[:, 1] != requested)),
        (right, belief & follows),
        (right, belief & ~follows),
    )
    return [
        sum_by_case(is_so, c.case, len(results), among)._replace(limits=(0.0, 1.0)) for is_so, among in shares
    ]


def voices_table(findings: Findings) -> Iterator[Table]:
    """A row an editor."""
    (relations,) = {tuple(load_world(run).graph.relations) for run in findings.runs()}
    at = [*map(relations.index, PAPERS)], relations.index(EATS)
    rows: list[list[Cell]] = [
        [one.name, *map(one.estimate, measure_voices(one.edits.results, *at))] for one in findings.editors()
    ]
    note = "After an edit in one paper's voice. The third column is harm: what the agent leaves as it was."
    yield Table("voices", "Narrators", ["editor", *COLUMNS], rows, note)
