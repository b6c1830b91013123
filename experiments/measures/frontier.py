"""What thresholds of counting buy and cost, beside `keyed` on the same cases."""

from collections.abc import Iterator

import numpy as np

from corpus.seeds import generator
from experiments.measures.subject_answers import FALSE, false_changes
from experiments.study import Findings
from testbed.commands.tune import choose_setting
from testbed.engine.results import cluster_levels
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, KEPT, SKILL_RECALIBRATED, SUCCESS
from testbed.scores.gather import EditorResults
from testbed.scores.metric import Metric
from testbed.scores.statistics import compare_metrics, estimate_metric
from testbed.scores.summary import measure_readers
from testbed.scores.tables import Better, Cell, Table

SUPPORTS = {"0": (0, 0), "1": (1, 1), "2 or more": (2, np.inf)}
FOLLOWS_AT = {name: f"{FOLLOWS}, support {name}" for name in SUPPORTS}
COLUMNS: dict[str, Better] = {
    SUCCESS: "high", **dict.fromkeys(FOLLOWS_AT.values(), "high"), FALSE: "low", KEPT: "high", DAMAGE: "low",
    SKILL_RECALIBRATED: "high",
}  # fmt: skip


def measure_point(edits: EditorResults) -> dict[str, tuple[Metric, np.ndarray]]:
    """COLUMNS of one editor, each with the cases that it is about: requests that contradict the truth."""
    results = edits.results
    values = measure_readers(edits.evaluation, results, edits.editor)[edits.editor]
    among, support = ~results.cases["reinforces"], results.cases["support_new"]
    measured = {name: (values[name], among) for name in (SUCCESS, KEPT, DAMAGE, SKILL_RECALIBRATED)}
    measured[FALSE] = false_changes(results), among
    for name, (least, most) in SUPPORTS.items():
        measured[FOLLOWS_AT[name]] = values[FOLLOWS], among & (support >= least) & (support <= most)
    return measured


def frontier_tables(findings: Findings) -> Iterator[Table]:
    """A table of the development world, and of the others; and what each point has more than `keyed`."""
    found = {}
    for use in ("development", "report"):
        found[use] = {
            one.name: {
                name: estimate_metric(of, cluster_levels(one.results), among)
                for name, (of, among) in measure_point(one).items()
            }
            for one in findings.results(use=use)
        }
    lines = [
        {"name": name} | {metric: row[metric].value for metric in (SUCCESS, SKILL_RECALIBRATED)}
        for name, row in found["development"].items()
        if name != "keyed"
    ]
    chosen = choose_setting(lines, SUCCESS, SKILL_RECALIBRATED)["name"]
    for use, rows in found.items():
        cells: list[list[Cell]] = [[name, *(row[column] for column in COLUMNS)] for name, row in rows.items()]
        cases = ", ".join(f"{c}: {rows['keyed'][c].cases}" for c in (*FOLLOWS_AT.values(), FALSE))
        note = f"On the development world {chosen!r} is chosen. Cases: {cases}."
        yield Table(use, f"Worlds of {use}", ["editor", *COLUMNS], cells, note, better=dict(COLUMNS))
    ours, *points = findings.results(use="report")
    mine, levels = measure_point(ours), cluster_levels(ours.results)
    compared: list[list[Cell]] = []
    for point in points:
        rng, theirs = generator(0, f"frontier {point.name}"), measure_point(point)
        row = {c: compare_metrics(of, mine[c][0], levels, among, rng) for c, (of, among) in theirs.items()}
        compared.append([point.name, *(row[column] for column in COLUMNS)])
    yield Table("differences", "Worlds of report: each point less keyed", ["point", *COLUMNS], compared)
