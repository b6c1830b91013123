"""The tables of Hase's chapter: what follows, coherence, and the paper's, in our definitions and in its own.

What the paper's Tables 4 and 5 show was taken from the authors' analysis code: accuracy, probabilistic and
logical coherence before and after editing, and the same on subsets of requests. Table 7 compares editing
methods, Table 8 all requests with those about which the model was coherent before.
"""

from collections.abc import Sequence

import numpy as np

from corpus.seeds import generator
from testbed.engine.results import cluster_levels
from testbed.evaluations.hase import (
    CHILD,
    CONTROL,
    INDEPENDENT,
    KIN,
    REQUEST,
    Hase,
)
from testbed.evaluations.hase.metrics import (
    CHANGES,
    CONTRADICTS,
    FIXES,
    FOLLOWS,
    FOLLOWS_RIGHT,
    GAINED,
    MUST_CHANGE,
    MUST_STAY,
    NEIGHBOURS,
    RATIO,
    REPEATS,
    SUCCESS,
    WAS_NEAR,
    name_at,
)
from testbed.evaluations.hase.published import COLUMNS, WAS_COHERENT, published_metrics, request_groups
from testbed.evaluations.paper_tables import read_paper_figures
from testbed.run.strata import STRATA, SUPPORT_BINS
from testbed.scores.readers import BAYESIAN, BEFORE_EDIT, NO_EDIT, ONE_HALF
from testbed.scores.statistics import Estimate, compare_metrics, estimate_metrics
from testbed.scores.summary import ScoredEditor, rows_in_contest
from testbed.scores.tables import Cell, RowsBehind, Table, better_of

_ASKED_BY_PAPER = (REQUEST, CHILD, INDEPENDENT, NEIGHBOURS)
MAIN = (
    *(name_at(kind, place) for kind in ("right", "TV") for place in _ASKED_BY_PAPER),
    "logic TF", "logic not", "logic and", "logic or",
)  # fmt: skip
SUBSETS = ("all", CHANGES, FIXES, WAS_NEAR)
BEYOND_CONTROL = (FOLLOWS, GAINED, RATIO)
LAWS = (
    "logic TF", "logic not", "logic and", "logic or", "logic commute", "logic sum", "Dutch book loss",
    "truth values",
)  # fmt: skip
TABLE_8 = ("accuracy s1r1", "logic TF", "logic not")
PRINTED = (
    *(f"{kind} {place}" for kind in ("accuracy", "coherence") for place in COLUMNS),
    "logic TF", "logic not", "logic and", "logic or",
)  # fmt: skip
PublishedEstimates = dict[str, list[dict[str, dict[str, Estimate]]]]
"""By editor, before an edit and after it, by group of requests: every published column."""


def inference_table(editors: Sequence[ScoredEditor]) -> Table:
    """Consequences that follow: of all, and of those that the unedited model had right; by stratum."""
    rows: list[list[Cell]] = []
    first = editors[0]
    strata = [f"stated {name}" for name in STRATA]
    filled = [s for s in strata if first.summary[s][first.name][FOLLOWS].cases]
    for subset in (["all"] if len(filled) > 1 else []) + filled:
        for e in editors:
            before, after = (e.summary[subset][reader] for reader in (BEFORE_EDIT, e.name))
            if after[FOLLOWS].cases:
                follows_right = after[FOLLOWS_RIGHT]
                cells: list[Cell] = [after[FOLLOWS].cases, before[FOLLOWS], after[FOLLOWS]]
                rows.append([subset, e.name, *cells, follows_right.cases, follows_right])
    note = (
        "Dependent answers that the agent changes: how many the unedited model had right before the edit, "
        "how many follow, and how many of those that it had right. Of facts never stated (S0) it can have "
        "inferred them only; of others it may have read them."
    )
    header = ["consequence", "editor", "cases", "right before", "followed", "of these", "of these, followed"]
    return Table("inferred", "Followed, beside what was right before", header, rows, note, words=2)


def kinship_table(editors: Sequence[ScoredEditor]) -> Table:
    """Answers that must change and those that must stay, by the kin that the cases have."""
    first = editors[0]
    readers = [(e, e.name) for e in editors] + [(first, floor) for floor in first.reference_names]
    metrics = [
        names[role]
        for role in KIN
        for names in (MUST_CHANGE, MUST_STAY)
        if first.summary["all"][first.name][names[role]].cases
    ]
    rows: list[list[Cell]] = [
        [reader, *(e.summary["all"][reader].get(m) for m in metrics)] for e, reader in readers
    ]
    counts = ", ".join(f"{m}: {first.summary['all'][first.name][m].cases:,}" for m in metrics)
    note = (
        "Share of answers that are the agent's, where its own answer must change and where it stays. A "
        f"sibling depends on the same fact as the edited one. Cases ({first.name}): {counts}."
    )
    better = better_of(first.evaluation.metrics)
    return Table(
        "kinship",
        "By what the fact is to the edited one",
        ["editor", *metrics],
        rows,
        note,
        better={m: better[m] for m in metrics},
        contest=rows_in_contest(editors),
    )


def control_table(editors: Sequence[ScoredEditor]) -> Table | None:
    """What follows a request beyond what follows when the same object is said of somebody else.

    None where no editor was told a control.
    """
    rows: list[list[Cell]] = []
    for e in editors:
        levels, everywhere = cluster_levels(e.edits.results), np.ones(len(e.edits.results), bool)
        for control in e.control_readers:
            row: list[Cell] = [e.name]
            for metric in BEYOND_CONTROL:
                rng = generator(e.edits.seed, f"{control} {metric}")
                pair = e.values[e.name][metric], e.values[control][metric]
                row += [e.summary["all"][e.name][metric], compare_metrics(*pair, levels, everywhere, rng)]
            rows.append(row)
    if not rows:
        return None
    note = (
        f"Beyond: less what the same editor reaches when it is told {CONTROL} in place of the request. Who "
        "moves everything, whatever it is told, has nothing beyond."
    )
    heads = [head for metric in BEYOND_CONTROL for head in (metric, f"{metric}, beyond")]
    return Table("beyond", "What follows because of the request", ["editor", *heads], rows, note, words=2)


def support_table(editors: Sequence[ScoredEditor], metric: str, key: str) -> Table:
    """One metric of contradicting edits, a column a bin of the new object's support."""
    subsets = [f"support {name}" for name in SUPPORT_BINS]
    readers = [(e, e.name) for e in editors] + [
        (editors[0], floor) for floor in editors[0].reference_names if floor != NO_EDIT
    ]
    rows: list[list[Cell]] = [
        [reader, *(e.summary[subset][reader].get(metric) for subset in subsets)] for e, reader in readers
    ]
    heads = [f"{name} subjects" if name != "0" else "0 (noise)" for name in SUPPORT_BINS]
    direction = better_of(editors[0].evaluation.metrics)[metric]
    return Table(
        key,
        f"{metric}, by support",
        ["editor", *heads],
        rows,
        "Contradicting edits, by how many subjects have the new object as their true one.",
        better=dict.fromkeys(heads, direction),
        contest=rows_in_contest(editors),
        behind={head: RowsBehind(metric, subset) for head, subset in zip(heads, subsets, strict=True)},
    )


def coherence_table(editors: Sequence[ScoredEditor]) -> Table:
    """Residuals of the axioms of probability, and what they would cost in bets."""
    first = editors[0]
    readers = [(e, e.name) for e in editors] + [(first, name) for name in (BEFORE_EDIT, BAYESIAN, ONE_HALF)]
    rows: list[list[Cell]] = [[name, *(e.summary["all"][name].get(m) for m in LAWS)] for e, name in readers]
    note = (
        "Mean absolute violation of each axiom by the model's own truth values; 0 is coherent. Truth values: "
        f"their distance to the agent's beliefs. Where {ONE_HALF} is as good, nobody stands out."
    )
    return Table(
        "logic",
        "Logical coherence",
        ["editor", *LAWS],
        rows,
        note,
        better=better_of(first.evaluation.metrics),
        contest=rows_in_contest(editors),
        to_beat=[len(rows) - 1],
    )


def paper_tables(editors: Sequence[ScoredEditor]) -> list[Table]:
    """All of them, in the paper's order."""
    published = estimate_published(editors)
    beside = beside_printed(editors, published)
    return [
        main_results(editors),
        by_subset(editors),
        by_method(editors),
        by_kind(editors),
        in_published_terms(editors, published),
        by_coherence(editors, published),
        *([beside] if beside else []),
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
    """The main metrics after editing, by method, with its gradient steps (Table 7)."""
    first = editors[0]
    rows: list[list[Cell]] = [[BEFORE_EDIT, None, *(first.summary["all"][BEFORE_EDIT][m] for m in MAIN)]]
    for e in editors:
        steps = float(e.edits.results.cases["steps"].mean())
        rows.append([e.name, steps, *(e.summary["all"][e.name][m] for m in MAIN)])
    header = ["editor", "gradient steps", *MAIN]
    return Table("hase-7", "By editing method", header, rows, "After the edit.")


def by_kind(editors: Sequence[ScoredEditor]) -> Table:
    """The main metrics after editing, by what the edit is."""
    kinds = [(name, name) for name in (REPEATS, CONTRADICTS)]
    kinds += [(f"consequence {name}", f"stated {name}") for name in STRATA]
    note = "Consequence S0: the dependent fact was never stated; S1: one to three times; S2: more often."
    header = ["kind of edit", "editor", "edits", *MAIN]
    return Table("kinds", "By what the edit is", header, _rows_by_part(editors, kinds), note, words=2)


def in_published_terms(editors: Sequence[ScoredEditor], published: PublishedEstimates) -> Table:
    """Accuracy, coherence and logic as the paper defines them, on the groups of requests it reports."""
    of_readers = [
        (BEFORE_EDIT, published[editors[0].name][0]),
        *((e.name, published[e.name][1]) for e in editors),
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


def by_coherence(editors: Sequence[ScoredEditor], published: PublishedEstimates) -> Table:
    """All requests, and those about which the model was coherent before the edit (Table 8)."""
    rows: list[list[Cell]] = []
    for group in ("all", WAS_COHERENT):
        for e in editors:
            before, after = (of_time[group] for of_time in published[e.name])
            if edits := max(before[name].cases for name in TABLE_8):
                rows.append([group, e.name, edits, *(one[m] for m in TABLE_8 for one in (before, after))])
    note = (
        "As Hase's Table 8, in its definitions. Coherent: before the edit p(request), p(it is true) and "
        "1 - p(its negation is true) lay less than a tenth apart."
    )
    header = [
        "requests",
        "editor",
        "edits",
        *(f"{m} {when}" for m in TABLE_8 for when in ("before", "after")),
    ]
    return Table("hase-8", "All requests, and those that were coherent", header, rows, note, words=2)


def beside_printed(editors: Sequence[ScoredEditor], published: PublishedEstimates) -> Table | None:
    """What the paper prints of an editor, and this run's figures of the same requests under it.

    None where no editor of the paper was run.
    """
    names = {e.name for e in editors}
    rows: list[list[Cell]] = []
    for (table, name, group, when), printed in read_paper_figures(Hase.package, "printed").items():
        if name in names:
            found = published[name][when == "after"][group]
            ours = [found[column] for column in PRINTED]
            edits = max(cell.cases for cell in ours)
            rows.append([table, group, name, when, "as printed", None, *map(printed.get, PRINTED)])
            rows.append(
                [table, group, name, when, "this run", edits, *(c if c.cases else None for c in ours)]
            )
    if not rows:
        return None
    note = (
        "Printed: an 83M model with 100,000 facts. It is asked the same only where cases were drawn by the "
        "paper's sampler and agent (--hase.sampler published). Coherence and logic are errors."
    )
    header = ["table", "requests", "editor", "when", "source", "edits", *PRINTED]
    return Table("printed", "Beside the paper's own figures", header, rows, note, words=5)


def estimate_published(editors: Sequence[ScoredEditor]) -> PublishedEstimates:
    """Every column of the published tables, before an edit and after it, by group of requests."""
    published = {}
    for editor in editors:
        results = editor.edits.results
        levels, everywhere = cluster_levels(results), np.ones(len(results), bool)
        masks = {"all": everywhere} | request_groups(results)
        published[editor.name] = [
            {name: estimate_metrics(metrics, levels, among) for name, among in masks.items()}
            for metrics in published_metrics(results)
        ]
    return published


def _rows_by_part(editors: Sequence[ScoredEditor], parts: Sequence[tuple[str, str]]) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for label, subset in parts:
        for e, reader in [(editors[0], BEFORE_EDIT), *((e, e.name) for e in editors)]:
            cases = e.summary[subset][e.name][SUCCESS].cases
            if cases:
                rows.append([label, reader, cases, *(e.summary[subset][reader][m] for m in MAIN)])
    return rows
