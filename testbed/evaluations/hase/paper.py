"""Tables in the order of Hase et al. 2024, in our definitions of the metrics and, apart, in the paper's own.

What Tables 4 and 5 show was taken from the authors' analysis code: accuracy, probabilistic and logical
coherence before and after editing, and the same on subsets of requests. It does not say what Tables 7 and
8 compare; editing methods with their steps, and what the edit is, are the closest natural ones.
"""

from collections.abc import Sequence

import numpy as np

from testbed.engine.results import cluster_levels
from testbed.evaluations.hase.meanings import SUCCESS
from testbed.evaluations.hase.published import published_metrics, request_groups
from testbed.evaluations.hase.subsets import CHANGES, CONTRADICTS, FIXES, REPEATS, WAS_COHERENT
from testbed.run.strata import STRATA
from testbed.scores.comparison import ScoredEditor
from testbed.scores.readers import BEFORE_EDIT
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import Cell, Table

MAIN = (
    "answer s1r1", "answer s1r2", "answer s1rx", "answer s2", "TV s1r1", "TV s1r2", "TV s1rx", "TV s2",
    "logic TF", "logic not", "logic and", "logic or",
)  # fmt: skip
SUBSETS = ("all", CHANGES, FIXES, WAS_COHERENT)


def paper_tables(editors: Sequence[ScoredEditor]) -> list[Table]:
    """All of them, in the paper's order."""
    return [
        main_results(editors),
        by_subset(editors),
        by_method(editors),
        by_kind(editors),
        in_published_terms(editors),
    ]


def main_results(editors: Sequence[ScoredEditor]) -> Table:
    """Every editor before and after, and the change: accuracy, then both kinds of coherence (Table 4)."""
    rows: list[list[Cell]] = []
    for e in editors:
        before, after = (e.summary["all"][reader] for reader in (BEFORE_EDIT, e.name))
        rows.append([e.name, "before", *(before[m] for m in MAIN)])
        rows.append([e.name, "after", *(after[m] for m in MAIN)])
        rows.append([e.name, "change", *(after[m].value - before[m].value for m in MAIN)])
    note = "As Hase's Table 4, in our definitions: each time against the agent of that time."
    return Table("hase-4", "Before and after editing", ["editor", "when", *MAIN], rows, note, words=2)


def by_subset(editors: Sequence[ScoredEditor]) -> Table:
    """The main metrics after editing on every subset of requests (Table 5)."""
    rows = _rows_by_part(editors, [(subset, subset) for subset in SUBSETS])
    note = "As Hase's Table 5, in our definitions; after the edit, and before it for comparison."
    header = ["subset", "editor", "edits", *MAIN]
    return Table("hase-5", "By subset of requests", header, rows, note, words=2)


def by_method(editors: Sequence[ScoredEditor]) -> Table:
    """The main metrics after editing, by method, with its gradient steps (closest to Table 7)."""
    first = editors[0]
    rows: list[list[Cell]] = [[BEFORE_EDIT, None, *(first.summary["all"][BEFORE_EDIT][m] for m in MAIN)]]
    for e in editors:
        steps = float(e.edited.results.cases["steps"].mean())
        rows.append([e.name, steps, *(e.summary["all"][e.name][m] for m in MAIN)])
    header = ["editor", "gradient steps", *MAIN]
    return Table("hase-7", "By editing method", header, rows, "After the edit.")


def by_kind(editors: Sequence[ScoredEditor]) -> Table:
    """The main metrics after editing, by what the edit is (closest to Table 8)."""
    kinds = [(name, name) for name in (REPEATS, CONTRADICTS)]
    kinds += [(f"consequence {name}", f"stated {name}") for name in STRATA]
    note = "Consequence S0: the dependent fact was never stated; S1: one to three times; S2: more often."
    header = ["kind of edit", "editor", "edits", *MAIN]
    return Table("hase-8", "By what the edit is", header, _rows_by_part(editors, kinds), note, words=2)


def in_published_terms(editors: Sequence[ScoredEditor]) -> Table:
    """Accuracy, coherence and logic as the paper defines them, on the groups of requests it reports."""
    of_readers = [
        (BEFORE_EDIT, _estimate_published(editors[0], 0)),
        *((e.name, _estimate_published(e, 1)) for e in editors),
    ]
    rows: list[list[Cell]] = [
        [group, label, max(e.cases for e in values[group].values()), *values[group].values()]
        for group in of_readers[0][1]
        for label, values in of_readers
    ]
    columns = next(iter(of_readers[0][1].values()))
    note = (
        "For comparison with the paper's Tables 4, 5, 7 and 8 only. Before an edit everything is scored on "
        "other objects than after it, so the rows of one group ask different questions."
    )
    header = ["requests", "editor", "edits", *columns]
    rows = [row for row in rows if row[2]]
    return Table("published", "In the paper's own definitions", header, rows, note, words=2)


def _estimate_published(editor: ScoredEditor, when: int) -> dict[str, dict[str, Estimate]]:
    """By group of requests, the estimate of every column before (0) or after (1)."""
    results = editor.edited.results
    metrics, levels = published_metrics(results)[when], cluster_levels(results)
    masks = {"all": np.ones(len(results), bool)} | request_groups(results)
    return {name: estimate_metrics(metrics, levels, among) for name, among in masks.items()}


def _rows_by_part(editors: Sequence[ScoredEditor], parts: Sequence[tuple[str, str]]) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for label, subset in parts:
        for e, reader in [(editors[0], BEFORE_EDIT), *((e, e.name) for e in editors)]:
            cases = e.summary[subset][e.name][SUCCESS].cases
            if cases:
                rows.append([label, reader, cases, *(e.summary[subset][reader][m] for m in MAIN)])
    return rows
