"""The tables of a report, from scored editors; each is None where nothing could stand in it."""

from collections.abc import Sequence

from testbed.evaluations.hase.cases import SUPPORT_BINS
from testbed.scores.comparison import BEFORE, COMPARED, FLOORS, Differences, Scored
from testbed.scores.summary import Summary
from testbed.scores.tables import Cell, Table

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
    "prepare_seconds": "seconds to prepare",
}


def comparison(editors: Sequence[Scored], found: Differences) -> Table:
    """A row an editor and a floor, the headline metrics with intervals."""
    metrics = _known(editors, COMPARED)
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
        foot=(["smallest detectable difference", None, *_detectable(found, metrics), None],),
    )


def paired(editors: Sequence[Scored], found: Differences) -> Table | None:
    """Differences from the reference on the cases that both have, with adjusted p-values."""
    metrics = [m for m in COMPARED if any(m in row for row in found.found.values())]
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
        "Paired, over the cases that both have; p-values are Holm's, adjusted for the number of editors, and "
        "bold differences have one below .05.",
        foot=(["smallest detectable difference", None, *_detectable(found, metrics)],),
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
    return cost[unit] + cost[f"prepare_{unit}"] * editor.edited.sweeps / _cases(editor)


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


def _detectable(found: Differences, metrics: Sequence[str]) -> list[float]:
    return [round(found.detectable(metric), 3) for metric in metrics]


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
