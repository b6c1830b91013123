"""Laws of truth before and after edits, in the definitions of Hase et al. 2024."""

from collections.abc import Iterator, Sequence

import numpy as np

from corpus.config import SENTENCES
from experiments.study import Findings
from testbed.engine.results import Results, cluster_levels
from testbed.evaluations.hase.published import WAS_COHERENT, published_metrics, request_groups
from testbed.run.runs import read_metrics
from testbed.scores.metric import Metric
from testbed.scores.statistics import estimate_metrics
from testbed.scores.tables import Cell, Table

LAWS = {"logic TF": "TF", "logic not": "not", "logic and": "and", "logic or": "or"}
"""The published columns, and what they are called here."""
GROUPS = ("new request", "downstream", WAS_COHERENT)
LABELS = SENTENCES[1:]


def residuals_of(results: Results) -> dict[str, Metric]:
    """Each law's residual before, after, and the difference, by law and time."""
    before, after = published_metrics(results)
    found: dict[str, Metric] = {}
    for name, law in LAWS.items():
        first, second = before[name], after[name]
        moved = Metric(second.numerator - first.numerator, first.denominator)
        found |= {f"{law} before": first, f"{law} after": second, f"{law} moved": moved}
    return found


def truth_tables(findings: Findings, recipes: Sequence[str]) -> Iterator[Table]:
    """Labels learned by each recipe, and each law before and after the edits of each editor."""
    last = {recipe: [read_metrics(run)[-1] for run in findings.runs(recipe=recipe)] for recipe in recipes}
    means = {
        recipe: [float(np.mean([line[what] for line in lines])) for what in ("accuracy", *LABELS)]
        for recipe, lines in last.items()
    }
    rows: list[list[Cell]] = [[recipe, *of] for recipe, of in means.items()]
    yield Table("labels", "Facts and labels right, mean over worlds", ["recipe", "facts", *LABELS], rows)
    note = (
        "Mean absolute residuals in the paper's definitions; moved is after less before, of the same edits."
    )
    for group in GROUPS:
        found: dict[str, dict[str, Cell]] = {}
        for recipe in recipes:
            for one in findings.results(recipe=recipe):
                among = request_groups(one.results)[group]
                estimates = estimate_metrics(residuals_of(one.results), cluster_levels(one.results), among)
                found[f"{recipe}, {one.name}"] = {"edits": int(among.sum()), **estimates}
        header = ["model, editor", *next(iter(found.values()))]
        rows = [[name, *row.values()] for name, row in found.items()]
        key = f"residuals-{group.replace(' ', '-')}"
        yield Table(key, f"Laws of truth, {group}", header, rows, note)
