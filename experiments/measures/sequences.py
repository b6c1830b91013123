"""What is left of edits that were made on top of each other."""

from collections.abc import Mapping, Sequence

import numpy as np

from testbed.engine.results import cluster_levels
from testbed.scores.statistics import estimate_metrics
from testbed.scores.summary import ScoredEditor, measure_reader
from testbed.scores.tables import Cell, Table


def kept_table(editors: Sequence[ScoredEditor], metrics: Sequence[str]) -> Table:
    """A row an editor and a number of edits: the latest request of every fact, asked again after so many."""
    rows: list[list[Cell]] = []
    for one in editors:
        for count, results in sorted(one.edits.later_results.items()):
            reader = one.evaluation.readers(results, one.name)[one.name]
            measured = measure_reader(one.evaluation, results, reader)
            known = {metric: measured[metric] for metric in metrics if metric in measured}
            estimates = estimate_metrics(known, cluster_levels(results), are_latest(results.cases))
            rows.append([one.name, count, *(estimates.get(metric) for metric in metrics)])
    title = "Edits on top of each other: the latest request of each fact, asked again"
    return Table("kept", title, ["editor", "after edits", *metrics], rows)


def are_latest(cases: Mapping[str, np.ndarray]) -> np.ndarray:
    """bool[E]: whether no later edit of the same sequence is of the same fact."""
    world = cases.get("run", np.zeros_like(cases["subject"]))
    facts = list(
        zip(
            *(x.tolist() for x in (world, cases["cluster"], cases["subject"], cases["relation"])), strict=True
        )
    )
    last = {facts[i]: i for i in np.argsort(cases["position"], kind="stable").tolist()}
    return np.isin(np.arange(len(facts)), list(last.values()))
