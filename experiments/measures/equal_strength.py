"""Editors where the request is as probable: what was reached, and what else it changes."""

from collections.abc import Sequence

import numpy as np

from experiments.study import Findings
from testbed.engine.results import Results
from testbed.evaluations.hase.metrics import METRICS
from testbed.scores.metric import mean_of
from testbed.scores.tables import Cell, Table, better_of

NEAR = 0.02


def request_probability(results: Results) -> np.ndarray:
    """float64[E]: the probability of each case's request after the edit; nan where it is not asked about."""
    cases, choices = results.cases, results.choices
    s, r, o = (cases[name][choices.case] for name in ("subject", "relation", "object"))
    itself = (choices.subject == s) & (choices.relation == r)
    p = np.where(choices.options == o[:, None], choices.lm[:, 1], 0.0).sum(axis=1)
    probability = np.full(len(results), np.nan)
    probability[choices.case[itself]] = p[itself]
    return probability


def strength_table(findings: Findings, shown_words: Sequence[str]) -> Table:
    """A row an editor and strength."""
    shown = [m for m in METRICS if m.shown_in != "file" and any(w in m.title for w in shown_words)]
    rows: list[list[Cell]] = []
    for cell in findings.cells:
        strength = cell["strength"]
        for one in findings.editors(strength=strength):
            results = one.edits.results
            p = request_probability(results)
            near = np.nan_to_num(p) >= (strength or 0.0) - NEAR
            reached, within = (one.estimate(mean_of(x, ~np.isnan(p))) for x in (np.nan_to_num(p), near))
            values = one.frame.metrics_of(one.name)
            dial = (f"{strength:g}", reached, within) if strength else ("none", reached, None)
            rows.append([one.name, *dial, *(values.get(metric.id) for metric in shown)])
    rows.sort(key=lambda row: findings.options.editors.index(str(row[0])))
    header = ["editor", "strength", "p(request)", "within", *(metric.title for metric in shown)]
    note = "± is half of a 95% interval. An editor without a dial stands as it is."
    return Table("strength", "At equal strength", header, rows, note, words=2, better=better_of(shown))
