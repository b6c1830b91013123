"""Does a model keep its narrators apart? An edit in one paper's voice, asked in other papers' and in none.

Command:
    python -m experiments.narrators

In a world of kind press (docs/kinds.md) three papers report what people eat, each right as often as its
quality says, and a sentence says which paper it is of or is in nobody's voice. The agent is told that one
paper writes something else of somebody; its answers say what other papers still write and what is to be
believed. Models and settings of editors are those of experiments.kinds. Three minutes of one core a world.
"""

from collections.abc import Iterator

import numpy as np

from corpus.worlds.press import EATS, PAPERS
from experiments.command import launch_module
from experiments.studies import kinds
from experiments.study import Findings, Study, WorldOptions
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.kinds import OWN, REQUEST
from testbed.run.world import load_world
from testbed.scores.metric import Metric, sum_by_case
from testbed.scores.readers import has_to_change, is_as_good
from testbed.scores.statistics import estimate_metric
from testbed.scores.tables import Cell, Table

COLUMNS = (
    "that paper writes it", "others write what they wrote", "others write it too", "belief follows",
    "belief stays",
)  # fmt: skip


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
    rows: list[list[Cell]] = []
    for one in findings.editors():
        results = one.edits.results
        levels, everywhere = cluster_levels(results), np.ones(len(results), bool)
        found = measure_voices(results, *at)
        rows.append([one.name, *(estimate_metric(metric, levels, everywhere) for metric in found)])
    note = "After an edit in one paper's voice. The third column is harm: what the agent leaves as it was."
    yield Table("voices", "Narrators", ["editor", *COLUMNS], rows, note)


STUDY = Study(
    options=WorldOptions(
        worlds=6, edits=40, editors=("none", "lora-down", "embeddings", "keyed-request", "keyed")
    ),
    cells=lambda options: [
        {"law": "press", "seed": kinds.FIRST + i, "development": False} for i in range(options.worlds)
    ],
    run=kinds.STUDY.run,
    preset=kinds.STUDY.preset,
    corpus=kinds.STUDY.corpus,
    train=kinds.STUDY.train,
    edit=kinds.STUDY.edit,
    quick=True,
    pool=("seed", "law", "development"),
    tables=voices_table,
)

if __name__ == "__main__":
    launch_module()
