"""The same edits judged by different agents: which one does the model match, and does the order turn?

Command:
    python -m experiments.readings

Requests by the paper's sampler and agent, in the demo's worlds, are put to six editors. What they did, and no
edit, is judged by six agents that have read the same corpus: the paper's with a prior of mass 0.1, 1, 10 and
one for each object (ones), to which a request is evidence of weight n'; with mass 1 and the weight n = 1000;
and the exact agent, on such a corpus an approximation. All but the paper's own columns are of requests that
contradict the truth. Ordered alike: of the pairs of editors that surely differ by one agent, the share that
another orders alike. The votes are three on each consequence, whether it followed by the exact agent, each
wrong in one of ten. Edits are made anew for each agent, and come out the same. Takes ten minutes of one core
a world.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np

from corpus.seeds import generator
from experiments.command import launch_module
from experiments.measures.agreement import decision_table
from experiments.study import Changes, Findings, Study, Values, WorldOptions
from testbed.evaluations.hase import CHILD, CONTRADICTS, Hase
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, SKILL_RECALIBRATED
from testbed.evaluations.hase.published import SUBSETS, published_tables
from testbed.run.agents import agent_named
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.scores.distances import total_variation
from testbed.scores.frame import EDITOR
from testbed.scores.metric import DISTANCE, Metric, sum_by_case
from testbed.scores.readers import BEFORE_EDIT
from testbed.scores.statistics import Estimate
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table
from testbed.scores.views import Column, View
from testbed.settings import CaseConfig

EXACT, VOTES = "exact agent", "votes"
READINGS: dict[str, Changes] = {
    "mass 0.1": {"paper-agent.prior": 0.1},
    "mass 1": {},
    "mass 10": {"paper-agent.prior": 10.0},
    "ones": {"paper-agent.prior": "ones"},
    "n = 1000": {"paper-agent.edit-weight": 1000.0},
    EXACT: {"agent": "exact"},
}
"""Who judges: options of the edits."""
PRIORS = ("mass 0.1", "mass 1", "mass 10", "ones")
PRINTED = ("mass 1", "n = 1000", "ones")
"""Readings of what the paper prints."""
JUDGED = (SKILL_RECALIBRATED, DAMAGE, FOLLOWS)
VOTERS, ERROR = 3, 0.1


@cache
def draw_requests(run: Run, count: int, seed: int) -> tuple[str, ...]:
    """Requests as the paper's sampler draws them by the paper's agent, in words: no judge draws its own."""
    world = load_world(run)
    entities, relations = world.graph.entities, world.graph.relations
    cases = Hase(sampler="published").make_cases(
        world, agent_named("paper", world), count, CaseConfig.credence, seed
    )
    facts = (case.requested_fact for case in cases)
    return tuple(f"{entities[s]} {relations[r]} = {entities[o]}" for s, r, o in facts)


def changes_of(cell: Values) -> Changes:
    """The judge of a cell, and the requests of its world, none before that is made."""
    run = Run(cell["runs"], STUDY.run.format_map(cell))
    is_made = run.finished_file.exists()
    requests = draw_requests(run, cell["edits"], cell["seed"]) if is_made else ()
    return {"hase.sampler": "published", "hase.requests": requests, **READINGS[cell["reading"]]}


def count_votes(metric: Metric, rng: np.random.Generator) -> Metric:
    """Whether something is so in each case, 0 or 1 of 1, as the majority of VOTERS has it."""
    wrong = (rng.random((VOTERS, len(metric.numerator))) < ERROR).sum(axis=0) > VOTERS / 2
    return metric._replace(numerator=np.where(wrong, metric.denominator - metric.numerator, metric.numerator))


def measure_distance(one: ScoredEditor, when: int, only_consequence: bool) -> Estimate:
    """Mean total variation between the answers of model and agent, before the edit (0) or after it (1).

    Over edits that contradict the truth; of all questions, or about the consequence alone.
    """
    results = one.edits.results
    c, cases = results.choices, results.cases
    among = ((c.role == CHILD) & cases["child"][c.case]) | (not only_consequence)
    far = sum_by_case(total_variation(c.lm[:, when], c.agent[:, when]), c.case, len(results), among)
    return one.estimate(far._replace(limits=DISTANCE), ~cases["reinforces"])


def distance_table(by: Mapping[str, Sequence[ScoredEditor]], about: str) -> Table:
    """How far the model is from each judge, before any edit and after each editor's, and the nearest prior.

    Args:
        about: the consequence, or all questions.
    """
    readers = [(BEFORE_EDIT, 0, 0), *((one.name, i, 1) for i, one in enumerate(by[PRIORS[0]]))]
    rows: list[list[Cell]] = []
    for name, i, when in readers:
        far = {
            reading: measure_distance(editors[i], when, about == "consequence")
            for reading, editors in by.items()
        }
        rows.append([name, min((far[prior].value, prior) for prior in PRIORS)[1], *far.values()])
    head = ["editor", "nearest prior", *by]
    return Table(f"distance-{about}", f"Distance to each agent: {about}", head, rows, words=2)


def make_tables(findings: Findings) -> Iterator[Table]:
    """The paper's columns under each of its readings; orders; distances."""
    by = {reading: findings.editors(reading=reading) for reading in READINGS}
    for i, reading in enumerate(PRINTED):
        table = published_tables(by[reading])[0]
        yield table._replace(key=f"{table.key}-{i}", title=f"{table.title}: {reading}")
    for metric in JUDGED:
        judged: dict[str, dict[str, Estimate]] = {
            reading: {one.name: one.frame.cell(metric, one.name, CONTRADICTS) for one in editors}
            for reading, editors in by.items()
        }
        if metric == FOLLOWS:
            judged[VOTES] = {
                one.name: one.estimate(
                    count_votes(one.values[one.name][metric], generator(0, f"votes on {one.name}")),
                    ~one.edits.results.cases["reinforces"],
                )
                for one in by[EXACT]
            }
        yield decision_table(judged, metric)
    yield from (distance_table(by, about) for about in ("consequence", "all"))


STUDY = Study(
    options=WorldOptions(
        worlds=10, edits=100,
        editors=("none", "lora-down", "full-early", "embeddings", "rome", "keyed-request", "keyed"),
    ),
    cells=lambda options: [
        {"seed": seed, "reading": reading} for seed in range(options.worlds) for reading in READINGS
    ],
    run="demo-worlds-{seed}",
    edit=changes_of,
    quick=True,
    subsets=SUBSETS,
    views=[
        View(metric, f"{metric}, by agent", [Column(metric, one, {"reading": one}) for one in READINGS],
             who=(EDITOR,), where={"subset": CONTRADICTS}, ranked=True)
        for metric in JUDGED
    ],
    tables=make_tables,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
