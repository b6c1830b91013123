"""The summary of one editor's cases: every metric, reader and subset, with intervals (design.md 6)."""

import math
from collections.abc import Mapping
from pathlib import Path

from corpus.files import write_record
from testbed.engine.records import SUMMARY
from testbed.engine.results import Results, cluster_levels
from testbed.scores.measures import EvaluationMetrics
from testbed.scores.metric import Metric, metrics_shown_in
from testbed.scores.statistics import Estimate, estimate_metrics
from testbed.scores.tables import case_counts, format_cell

MetricsByReader = dict[str, dict[str, Metric]]
"""Reader -> metric -> numerators and denominators per case."""

Summary = dict[str, dict[str, dict[str, Estimate]]]
"""Subset -> reader -> metric -> estimate."""


def measure_readers(
    evaluation: EvaluationMetrics,
    results: Results,
    editor: str,
    controls: Mapping[str, Results] | None = None,
) -> MetricsByReader:
    """Every metric of the editor, of what it did when told a control, and of the references, case by case."""
    readers = evaluation.readers(results, editor)
    values = {name: evaluation.measure(results, reader) for name, reader in readers.items()}
    for told, other in (controls or {}).items():
        reader = evaluation.readers(other, editor)[editor]
        values[control_reader(editor, told)] = evaluation.measure(other, reader)
    return values


def control_reader(editor: str, control: str) -> str:
    """What the row of a control is called."""
    return f"{editor}, told {control}"


def summarise_results(
    evaluation: EvaluationMetrics, results: Results, editor: str, controls: Mapping[str, Results]
) -> Summary:
    """Estimates for every subset, reader and metric."""
    return estimate_subsets(evaluation, results, measure_readers(evaluation, results, editor, controls))


def estimate_subsets(evaluation: EvaluationMetrics, results: Results, values: MetricsByReader) -> Summary:
    """As `summarise_results`, of known metrics: all over all cases, those in tables over subsets."""
    levels, main = cluster_levels(results), set(metrics_shown_in(evaluation.metrics, "table"))
    flat = {(reader, name): m for reader, metrics in values.items() for name, m in metrics.items()}
    shown_metrics = {(reader, name): m for (reader, name), m in flat.items() if name in main}
    summary: Summary = {}
    for subset, among in evaluation.subsets(results).items():
        rows: dict[str, dict[str, Estimate]] = {reader: {} for reader in values}
        metrics = flat if subset == "all" else shown_metrics
        for (reader, name), estimate in estimate_metrics(metrics, levels, among).items():
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
    evaluation: EvaluationMetrics, summary: Summary, subset: str = "all"
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table over one subset: a row a metric, a column a reader, and counts."""
    rows = summary[subset]
    lines = []
    for name in metrics_shown_in(evaluation.metrics, "table"):
        cells = [rows[reader].get(name) for reader in rows]
        if any(cells):
            lines.append([name, *map(format_cell, cells), case_counts([c for c in cells if c and c.cases])])
    return ["metric", *rows, "cases (clusters)"], lines
