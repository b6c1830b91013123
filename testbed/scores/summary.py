"""The summary of one editor's cases: every metric, reader and subset, with intervals (DESIGN 6)."""

import math
from collections.abc import Mapping
from pathlib import Path

from corpus.files import write_record
from testbed.engine.records import SUMMARY
from testbed.engine.results import Results, clusters
from testbed.scores.measures import Measures
from testbed.scores.metric import Metric, shown_in
from testbed.scores.statistics import Estimate, estimates
from testbed.scores.tables import behind, shown

Measured = dict[str, dict[str, Metric]]
"""Reader -> metric -> numerators and denominators per case."""

Summary = dict[str, dict[str, dict[str, Estimate]]]
"""Subset -> reader -> metric -> estimate."""


def measured(
    evaluation: Measures, results: Results, editor: str, controls: Mapping[str, Results] | None = None
) -> Measured:
    """Every metric of the editor, of what it did when told a control, and of the references, case by case."""
    readers = evaluation.readers(results, editor)
    values = {name: evaluation.measure(results, reader) for name, reader in readers.items()}
    for told, other in (controls or {}).items():
        reader = evaluation.readers(other, editor)[editor]
        values[told_instead(editor, told)] = evaluation.measure(other, reader)
    return values


def told_instead(editor: str, control: str) -> str:
    """What the row of a control is called."""
    return f"{editor}, told {control}"


def summarise(
    evaluation: Measures, results: Results, editor: str, controls: Mapping[str, Results]
) -> Summary:
    """Estimates for every subset, reader and metric."""
    return estimated(evaluation, results, measured(evaluation, results, editor, controls))


def estimated(evaluation: Measures, results: Results, values: Measured) -> Summary:
    """As `summarise`, of metrics that are known already: all over all cases, those in tables over subsets."""
    levels, main = clusters(results), set(shown_in(evaluation.metrics, "table"))
    flat = {(reader, name): m for reader, metrics in values.items() for name, m in metrics.items()}
    few = {(reader, name): m for (reader, name), m in flat.items() if name in main}
    summary: Summary = {}
    for subset, among in evaluation.subsets(results).items():
        rows: dict[str, dict[str, Estimate]] = {reader: {} for reader in values}
        metrics = flat if subset == "all" else few
        for (reader, name), estimate in estimates(metrics, levels, among).items():
            rows[reader][name] = estimate
        summary[subset] = rows
    return summary


def write_summary(summary: Summary, folder: Path, standard: str, lost: int = 0) -> None:
    """summary.json: the estimates, who is the standard, and how many edits gave no numbers."""

    def plain(e: Estimate) -> dict:
        known = e._asdict() | {"few": [few._asdict() for few in e.few]}
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in known.items() if v != []}

    tables = {
        subset: {r: {m: plain(e) for m, e in metrics.items()} for r, metrics in rows.items()}
        for subset, rows in summary.items()
    }
    write_record(folder / SUMMARY, {"standard": standard, "without numbers": lost, "subsets": tables})


def summary_rows(
    evaluation: Measures, summary: Summary, subset: str = "all"
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table over one subset: a row a metric, a column a reader, and counts."""
    rows = summary[subset]
    lines = []
    for name in shown_in(evaluation.metrics, "table"):
        cells = [rows[reader].get(name) for reader in rows]
        if any(cells):
            lines.append([name, *map(shown, cells), behind([c for c in cells if c and c.cases])])
    return ["metric", *rows, "cases (clusters)"], lines
