"""The tables of a report, from scored editors; each is None where nothing could stand in it.

Four follow tables of Hase et al. 2024, in our definitions of the metrics. What those show was taken from
the authors' analysis code where it says: accuracy, probabilistic and logical coherence before and after
editing (Table 4), and the same on subsets of requests (Table 5). It does not say what Tables 7 and 8
compare; editing methods with their steps, and what the edit is, are the closest natural ones.
"""

from collections.abc import Sequence

from testbed.cases import STRATA, SUPPORT_BINS
from testbed.comparison import FLOORS, Differences, Scored
from testbed.statistics import Estimate
from testbed.summary import Summary
from testbed.tables import Cell, Table

HEADLINES = (
    "edit success",
    "answer s1r2, must change",
    "answer s1r2, must stay",
    "selective propagation",
    "propagation ratio",
    "coherence skill",
    "answer s1rx",
    "answer s2",
    "Dutch book loss",
)
MAIN = (
    "answer s1r1", "answer s1r2", "answer s1rx", "answer s2", "TV s1r1", "TV s1r2", "TV s1rx", "TV s2",
    "logic TF", "logic not", "logic and", "logic or",
)  # fmt: skip
LOGIC = (
    "logic TF", "logic not", "logic and", "logic or", "logic commute", "logic sum", "Dutch book loss",
)  # fmt: skip
COST_COLUMNS = {
    "steps": "gradient steps",
    "forward": "forward tokens",
    "backward": "backward tokens",
    "flops": "FLOPs",
    "seconds": "seconds",
    "peak_bytes": "peak bytes",
    "prepare_flops": "FLOPs to prepare",
    "prepare_seconds": "seconds to prepare",
}
SUBSETS = ("all", "answer changes", "fixes an error", "initially coherent")
BEFORE = "before edit"


def comparison(editors: Sequence[Scored], found: Differences) -> Table:
    """A row an editor and a floor, the headline metrics with intervals."""
    metrics = _known(editors, HEADLINES)
    rows: list[list[Cell]] = [
        [e.name, _cases(e), *_row(e.summary, "all", e.name, metrics), e.edited.cost.get("seconds")]
        for e in editors
    ]
    first = editors[0]
    rows += [[floor, _cases(first), *_row(first.summary, "all", floor, metrics), None] for floor in FLOORS]
    return Table(
        "comparison",
        "All editors",
        ["editor", "edits", *metrics, "seconds an edit"],
        rows,
        "± is half of a 95% interval. The last three rows bound what the numbers can mean"
        + (f"; they are for the cases of {first.name}." if len(editors) > 1 else "."),
        foot=(["smallest detectable difference", None, *map(found.detectable, metrics), None],),
    )


def paired(editors: Sequence[Scored], found: Differences) -> Table | None:
    """Differences from the reference on the cases that both have, with adjusted p-values."""
    metrics = [m for m in HEADLINES if any(m in row for row in found.found.values())]
    rows: list[list[Cell]] = []
    for editor in editors:
        row = found.found.get(editor.name)
        if row:
            rows.append([editor.name, max(c.cases for c in row.values()), *map(row.get, metrics)])
    return _table(
        "differences",
        f"Differences from {found.reference}",
        ["editor", "cases both have", *metrics],
        rows,
        "Paired, over the cases that both have; p-values are Holm's, adjusted for the number of editors.",
        foot=(["smallest detectable difference", None, *map(found.detectable, metrics)],),
    )


def by_support(editors: Sequence[Scored], metric: str, key: str) -> Table | None:
    """One metric of contradicting edits, a column a bin of the new object's support."""
    subsets = [f"support {name}" for name in SUPPORT_BINS]
    readers = [(e, e.name) for e in editors] + [(editors[0], floor) for floor in FLOORS[1:]]
    rows: list[list[Cell]] = [
        [reader, *(e.summary[subset][reader].get(metric) for subset in subsets)] for e, reader in readers
    ]
    return _table(
        key,
        f"{metric}, by support",
        ["editor", *(f"{name} subjects" if name != "0" else "0 (noise)" for name in SUPPORT_BINS)],
        rows,
        "Contradicting edits, by how many subjects have the new object as their true one.",
    )


def costs(editors: Sequence[Scored]) -> Table | None:
    """What an edit costs, what preparation cost once, and the two together."""
    columns = [name for name in COST_COLUMNS if any(name in e.edited.cost for e in editors)]
    rows: list[list[Cell]] = [
        [
            e.name,
            *(e.edited.cost.get(name) for name in columns),
            amortised(e, "seconds"),
            e.summary["all"][e.name]["propagation ratio"],
        ]
        for e in editors
    ]
    header = ["editor", *map(COST_COLUMNS.__getitem__, columns), "seconds, amortised", "propagation ratio"]
    note = "Means of one edit. Amortised: preparation, done once for a model, is spread over the edits made."
    return _table("costs", "What an edit costs", header, rows if columns else [], note)


def amortised(editor: Scored, unit: str) -> float | None:
    """Cost of an edit in "flops" or "seconds" with its share of the preparation; None if not known."""
    cost = editor.edited.cost
    if unit not in cost or f"prepare_{unit}" not in cost:
        return None
    each_run = _cases(editor) / len(editor.edited.runs)
    return cost[unit] + cost[f"prepare_{unit}"] / each_run


def coherence(editors: Sequence[Scored]) -> Table:
    """Residuals of the axioms of probability, and what they would cost in bets."""
    metrics = _known(editors, LOGIC)
    first = editors[0]
    readers = [(first, BEFORE), *((e, e.name) for e in editors), (first, "Bayesian reader")]
    rows: list[list[Cell]] = [[name, *_row(e.summary, "all", name, metrics)] for e, name in readers]
    return Table(
        "logic",
        "Logical coherence",
        ["editor", *metrics],
        rows,
        "Mean absolute violation of each axiom by the model's own truth values; 0 is coherent.",
    )


def main_results(editors: Sequence[Scored]) -> Table:
    """Every editor before and after, and the change: accuracy, then both kinds of coherence (Table 4)."""
    metrics = _known(editors, MAIN)
    rows: list[list[Cell]] = []
    for e in editors:
        before, after = (e.summary["all"][reader] for reader in (BEFORE, e.name))
        rows.append([e.name, "before", *map(before.get, metrics)])
        rows.append([e.name, "after", *map(after.get, metrics)])
        rows.append([e.name, "change", *(_change(before.get(m), after.get(m)) for m in metrics)])
    return Table(
        "hase-4",
        "Before and after editing, all requests",
        ["editor", "when", *metrics],
        rows,
        "As Hase's Table 4, in our definitions: each time against the agent of that time.",
        words=2,
    )


def by_subset(editors: Sequence[Scored]) -> Table:
    """The main metrics after editing on every subset of requests (Table 5)."""
    rows = _by_part(editors, [(subset, subset) for subset in SUBSETS])
    title, note = "By subset of requests", "As Hase's Table 5, in our definitions; before edit: no editor."
    return Table("hase-5", title, ["subset", "editor", "edits", *_known(editors, MAIN)], rows, note, words=2)


def by_method(editors: Sequence[Scored]) -> Table:
    """The main metrics after editing, by method, with its gradient steps (closest to Table 7)."""
    metrics = _known(editors, MAIN)
    first = editors[0]
    rows: list[list[Cell]] = [[BEFORE, 0, *_row(first.summary, "all", BEFORE, metrics)]]
    for e in editors:
        steps = float(e.edited.outcomes.scalars["steps"].mean())
        rows.append([e.name, steps, *_row(e.summary, "all", e.name, metrics)])
    return Table(
        "hase-7", "By editing method", ["editor", "gradient steps", *metrics], rows, "After the edit."
    )


def by_kind(editors: Sequence[Scored]) -> Table:
    """The main metrics after editing, by what the edit is (closest to Table 8)."""
    kinds = [(name, name) for name in ("repeats the truth", "contradicts the truth")]
    kinds += [(f"consequence stated: {name}", f"stated {name}") for name in STRATA]
    note = "S0: the dependent fact was never stated in the corpus; S1: one to three times; S2: more often."
    rows = _by_part(editors, kinds)
    header = ["kind of edit", "editor", "edits", *_known(editors, MAIN)]
    return Table("hase-8", "By what the edit is", header, rows, note, words=2)


def _by_part(editors: Sequence[Scored], parts: Sequence[tuple[str, str]]) -> list[list[Cell]]:
    metrics = _known(editors, MAIN)
    rows: list[list[Cell]] = []
    for label, subset in parts:
        for e, reader in [(editors[0], BEFORE), *((e, e.name) for e in editors)]:
            cases = e.summary[subset][e.name]["edit success"].cases
            if cases:
                rows.append([label, reader, cases, *_row(e.summary, subset, reader, metrics)])
    return rows


def _change(before: Estimate | None, after: Estimate | None) -> float | None:
    return after.value - before.value if before and after else None


def _known(editors: Sequence[Scored], metrics: Sequence[str]) -> list[str]:
    return [m for m in metrics if any(m in e.summary["all"][e.name] for e in editors)]


def _row(summary: Summary, subset: str, reader: str, metrics: Sequence[str]) -> list[Cell]:
    return [summary[subset][reader].get(metric) for metric in metrics]


def _cases(editor: Scored) -> int:
    return len(editor.edited.outcomes.objects)


def _table(
    key: str,
    title: str,
    header: list[str],
    rows: list[list[Cell]],
    note: str,
    foot: Sequence[Sequence[Cell]] = (),
) -> Table | None:
    """A table, unless it has no rows."""
    return Table(key, title, header, rows, note, foot=foot) if rows else None
