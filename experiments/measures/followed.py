"""What follows of what should after an edit: by support of the new object, and by requested relation."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.hase.metrics import FOLLOWS
from testbed.scores.metric import Metric
from testbed.scores.statistics import estimate_metric
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Cell, Table

SUPPORTS = (0, 1, 2, 5, 20, 100, 1000)
"""The least support of each bin."""


def support_row(name: str, metric: Metric, results: Results) -> list[Cell]:
    """A metric of some edits in each bin of support, and over all."""
    support = results.cases["support_new"]
    bins = zip(SUPPORTS, [*SUPPORTS[1:], np.inf], strict=True)
    among = [(support >= low) & (support < high) for low, high in bins] + [np.ones(len(support), bool)]
    return [name, *(estimate_metric(metric, cluster_levels(results), one) for one in among)]


def support_table(editors: Sequence[ScoredEditor], more: Sequence[list[Cell]] = ()) -> Table:
    """What follows, by how many subjects have the new object for their truth.

    Args:
        more: further rows of `support_row`, above those of editors.
    """
    rows = [support_row(one.name, one.values[one.name][FOLLOWS], one.edits.results) for one in editors]
    ends = [f"{low:,}" if high == low + 1 else f"{low:,} to {high - 1:,}" for low, high in pairwise(SUPPORTS)]
    header = ["editor", *ends, f"{SUPPORTS[-1]:,} and more", "all"]
    return Table("support", f"{FOLLOWS}, by support of the new object", header, [*more, *rows])


def relation_table(editors: Sequence[ScoredEditor], relations: Sequence[str]) -> Table:
    """What follows by the relation of the request, if anything should."""
    rows: list[list[Cell]] = []
    due = editors[0].values[editors[0].name][FOLLOWS].denominator
    of_case = editors[0].edits.results.cases["relation"]
    columns = np.unique(of_case[due > 0])
    for editor in editors:
        results, metric = editor.edits.results, editor.values[editor.name][FOLLOWS]
        among = [results.cases["relation"] == relation for relation in columns]
        rows.append([editor.name, *(estimate_metric(metric, cluster_levels(results), one) for one in among)])
    header = ["editor", *(f"{relations[r]} ({due[of_case == r].sum():.0f})" for r in columns)]
    return Table("relations", f"{FOLLOWS}, by requested relation", header, rows)
