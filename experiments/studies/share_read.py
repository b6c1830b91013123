"""How many must be read? `keyed` with beliefs about some of the subjects, and about all of them.

Command:
    python -m experiments.share_read

Three laptop worlds of 1,055 subjects, and requests that contradict the truth. With the 300 objects of
experiments.support_law some forty have one supporter, where the preset's 24 leave one or none. `keyed` reads
beliefs about the 164, 325 or 654 subjects of whom the model speaks most, or about all; `keyed-request` reads
nobody. The ideal reader is a control: it knows all facts of the same subjects and none of others, and takes
what most of them have who have the requested object. Some fifty minutes of one core.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.command import launch_module
from experiments.measures.concluded import answered_metric, find_named
from experiments.study import Findings, Study, WorldOptions
from lm.editors.interface import vocabulary_of
from lm.editors.self_bayes.recall import recall_beliefs
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.hase import CHILD
from testbed.evaluations.hase import metrics as m
from testbed.evaluations.hase.support import HEADS
from testbed.run.model import load_model
from testbed.run.world import World, load_world
from testbed.scores.statistics import estimate_metric
from testbed.scores.tables import Cell, Table
from testbed.scores.views import View

SOME = {f"keyed, {count} read": ("keyed", {"keyed.beliefs.subjects": count}) for count in (164, 325, 654)}
SHOWN = (m.SUCCESS, m.FOLLOWS, m.STAYS, m.KEPT, m.DAMAGE, m.SKILL_RECALIBRATED)


def conclude_ideally(world: World, known: np.ndarray, cases: Sequence[np.ndarray]) -> np.ndarray:
    """What somebody concludes from a request who knows all true facts of some entities, and no others.

    Args:
        known: entities.
        cases: int[E] each, subject, relation and object of requests, and the relation of what depends on it.

    Returns:
        int64[E], the dependent object of most of them who have the requested one; -1 where nobody has.
    """
    graph, answers = world.graph, np.full(len(cases[0]), -1)
    has = np.full((len(graph.relations), len(graph.entities)), -1)
    mine = np.isin(graph.subject, known)
    has[graph.relation[mine], graph.subject[mine]] = world.generative.truth[mine]
    for i, (s, r, o, child) in enumerate(zip(*cases, strict=True)):
        is_peer = (has[r] == o) & (has[child] >= 0) & (np.arange(has.shape[1]) != s)
        if is_peer.any():
            answers[i] = np.bincount(has[child, is_peer]).argmax()
    return answers


def read_ideally(findings: Findings, editor: str, results: Results) -> tuple[np.ndarray, float]:
    """What the ideal reader of those whom an editor has read concludes, int64[E]; and their share of all."""
    child = results.choices.relation[m.rows_of_role(results, CHILD)]
    cases = [*(results.cases[name] for name in ("subject", "relation", "object")), child]
    answers, shares = np.full(len(results), -1), list[float]()
    for number, cell in enumerate(findings.cells):
        run, mine = findings.run_of(cell), results.cases["run"] == number
        world, config = load_world(run), findings.edits_of(cell, editor).configs["keyed"].beliefs
        beliefs = recall_beliefs(load_model(run, world)[0], vocabulary_of(world.tokenizer), config)
        known = find_named(beliefs.subjects, world)
        shares.append(len(known) / len(world.graph.subjects))
        answers[mine] = conclude_ideally(world, known, [of_all[mine] for of_all in cases])
    return answers, sum(shares) / len(shares)


def dose_table(findings: Findings) -> Iterator[Table]:
    """What follows by support; below each editor that reads, the ideal reader of the same subjects."""
    rows = list[list[Cell]]()
    for editor in findings.editors():
        results, share = editor.edits.results, None
        found = {editor.name: editor.values[editor.name][m.FOLLOWS]}
        if editor.edits.editor == "keyed":
            answers, share = read_ideally(findings, editor.name, results)
            found[f"ideal reader of {editor.name}"] = answered_metric(results, answers)
        subsets, levels = editor.evaluation.subsets(results), cluster_levels(results)
        among = [subsets[name] for name in (*(f"support {one}" for one in HEADS), "all")]
        for name, metric in found.items():
            rows.append([name, share, *(estimate_metric(metric, levels, one) for one in among)])
    head = ["editor", "share read", *HEADS.values(), "all"]
    yield Table("dose", "Consequences that follow, by support", head, rows)


STUDY = Study(
    options=WorldOptions(worlds=3, edits=240, editors=(*SOME, "keyed", "keyed-request")),
    # Settings of `keyed` were chosen on a world of seed 0.
    cells=lambda options: [{"seed": 1 + i} for i in range(options.worlds)],
    run="share-read-{seed}",
    preset="laptop",
    corpus=lambda _: {"world.builtin.upstream-objects": 300, "world.builtin.downstream-objects": 60},
    edit=lambda _: {"hase.reinforce": 0.0},
    variants=SOME,
    views=[View("all", "All requests", SHOWN, who=("editor", "reference"))],
    tables=dose_table,
)

if __name__ == "__main__":
    launch_module()
