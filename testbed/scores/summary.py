"""An editor's cases as numbers: every metric, reader and subset, and what lasts (design.md 6, 7)."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from corpus.errors import InputError
from corpus.files import write_record
from testbed.engine.records import SUMMARY
from testbed.engine.results import Results, cluster_levels
from testbed.scores.gather import EditorResults
from testbed.scores.lost import count_failures
from testbed.scores.metric import Metric, metrics_shown_in
from testbed.scores.parts import CasePart, measure_parts, take_readers
from testbed.scores.readers import BEFORE_EDIT, NO_EDIT, EvaluationMetrics, Reader
from testbed.scores.statistics import Estimate, estimate_metrics

MetricsByReader = dict[str, dict[str, Metric]]
"""Reader -> metric -> numerators and denominators per case."""


Summary = dict[str, dict[str, dict[str, Estimate]]]
"""Subset -> reader -> metric -> estimate."""

Of = TypeVar("Of")
_FLOOR = "no edit, for edits that left no numbers"


class ScoredEditor(NamedTuple):
    """An editor with its metrics: case by case, and estimated."""

    edits: EditorResults
    values: MetricsByReader
    summary: Summary

    @property
    def name(self) -> str:
        """The editor's name, and that of its reader."""
        return self.edits.name

    @property
    def evaluation(self) -> EvaluationMetrics:
        """What its edits were made for."""
        return self.edits.evaluation

    @property
    def reference_names(self) -> list[str]:
        """The references that the editor is held against after the edit."""
        own = {self.name, BEFORE_EDIT, *self.control_readers}
        return [reader for reader in self.values if reader not in own]

    @property
    def control_readers(self) -> list[str]:
        """The readers that were told something else than the request."""
        return [control_reader(self.name, control) for control in self.edits.controls]

    def compared_metrics(self) -> list[str]:
        """The metrics of first tables and of comparisons, those that this editor has."""
        names = metrics_shown_in(self.evaluation.metrics, "compared")
        return [name for name in names if name in self.values[self.name]]


def score_editors(editors: Sequence[EditorResults]) -> list[ScoredEditor]:
    """Measure every editor's cases and estimate all that is reported of them.

    The references that editors are held against are measured once for editors of the same cases.
    """
    scored_by_digest: dict[str, ScoredEditor] = {}
    scores = []
    for edits in editors:
        results, evaluation = edits.results, edits.evaluation
        key = _case_digest(edits) if len(editors) > 1 else ""
        twin = scored_by_digest.get(key)
        if twin is None or edits.controls:
            values = measure_readers(evaluation, results, edits.name, edits.controls)
            scored = ScoredEditor(edits, values, estimate_subsets(evaluation, results, values))
            if not edits.controls:
                scored_by_digest[key] = scored
        else:
            reader = evaluation.readers(results, edits.name)[edits.name]
            editor_values = {edits.name: measure_reader(evaluation, results, reader)}
            summary = estimate_subsets(evaluation, results, editor_values)
            scored = ScoredEditor(
                edits,
                _replace_row(twin.values, twin.name, editor_values),
                {
                    subset: _replace_row(twin.summary[subset], twin.name, rows)
                    for subset, rows in summary.items()
                },
            )
        scores.append(scored)
    return scores


def _case_digest(edits: EditorResults) -> str:
    """The same for editors of the same cases, agent and unedited model, whose reference rows are equal."""
    cases, choices, claims = edits.results.cases, edits.results.choices, edits.results.claims
    seen = hashlib.sha256(repr(edits.evaluation).encode())
    parts = [cases[name] for name in ("run", "cluster", "position")]
    for array in (*parts, choices.case, choices.options, choices.agent, choices.lm[:, 0], claims.lm[:, 0]):
        seen.update(np.ascontiguousarray(array).tobytes())
    return seen.hexdigest()


def _replace_row(rows: dict[str, Of], old: str, new: dict[str, Of]) -> dict[str, Of]:
    """Rows by reader in their order, with those of one editor replaced by another's."""
    return dict(
        item for name, row in rows.items() for item in (new.items() if name == old else [(name, row)])
    )


def measure_readers(
    evaluation: EvaluationMetrics,
    results: Results,
    editor: str,
    controls: Mapping[str, Results] | None = None,
) -> MetricsByReader:
    """Every metric of the editor, of what it did when told a control, and of the references, case by case."""
    readers = evaluation.readers(results, editor)
    measured = _measure_together(evaluation, results, readers)
    values = {name: metrics for name, metrics in measured.items() if metrics}
    for control, other in (controls or {}).items():
        reader = evaluation.readers(other, editor)[editor]
        values[control_reader(editor, control)] = measure_reader(evaluation, other, reader)
    return values


def measure_reader(evaluation: EvaluationMetrics, results: Results, reader: Reader) -> dict[str, Metric]:
    """Every metric of a reader, case by case.

    Edits that left no numbers count as failures, and who gives truth values alone has their metrics alone.
    """
    return _measure_together(evaluation, results, {"": reader})[""]


def _measure_together(
    evaluation: EvaluationMetrics, results: Results, readers: Mapping[str, Reader]
) -> MetricsByReader:
    """As `measure_reader`, for several readers, which share what they are held against."""
    has_lost = any(reader.lost is not None and reader.lost.any() for reader in readers.values())
    unedited = evaluation.readers(results, "").get(NO_EDIT) if has_lost else None
    floor = {_FLOOR: unedited} if unedited is not None else {}

    def measure_part(part: CasePart) -> dict[tuple[str, str], Metric]:
        taken = take_readers({**readers, **floor}, part)
        worst = taken.pop(_FLOOR, None)
        return {
            (name, metric): values
            for name, reader in taken.items()
            for metric, values in _measure_cases(evaluation, part.results, reader, worst).items()
        }

    measured: MetricsByReader = {name: {} for name in readers}
    for (name, metric), values in measure_parts(results, measure_part).items():
        measured[name][metric] = values
    return measured


def _measure_cases(
    evaluation: EvaluationMetrics, results: Results, reader: Reader, unedited: Reader | None
) -> dict[str, Metric]:
    measured = evaluation.measure(results, reader)
    if reader.claims_only:
        of_claims = {m.id for m in evaluation.metrics if m.of_claims}
        return {name: metric for name, metric in measured.items() if name in of_claims}
    if reader.lost is None or not reader.lost.any():
        return measured
    floor = evaluation.measure(results, unedited._replace(time=reader.time)) if unedited is not None else {}
    return count_failures(measured, floor, evaluation.metrics, reader.lost)


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
    for (_, name), metric in flat.items():
        if not np.shape(metric.numerator) == np.shape(metric.denominator) == (len(results),):
            raise InputError(
                f"the metric {name!r} of {type(evaluation).__name__} should have two numbers for each of "
                f"{len(results)} cases; it has {np.shape(metric.numerator)} and "
                f"{np.shape(metric.denominator)}"
            )
    shown_metrics = {(reader, name): m for (reader, name), m in flat.items() if name in main}
    summary: Summary = {}
    subsets = evaluation.subsets(results)
    for name, mask in ({"all": None} | subsets).items():
        if mask is None or np.shape(mask) != (len(results),):
            raise InputError(
                f"subsets() of {type(evaluation).__name__} should give bool[{len(results)}] for {name!r}; it "
                f"has {'nothing' if mask is None else f'shape {np.shape(mask)}'}"
            )
    for subset, among in subsets.items():
        rows: dict[str, dict[str, Estimate]] = {reader: {} for reader in values}
        metrics = flat if subset == "all" else shown_metrics
        for (reader, name), estimate in estimate_metrics(metrics, levels, among).items():
            rows[reader][name] = estimate
        summary[subset] = rows
    return summary


def write_summary(summary: Summary, folder: Path, standard: str, lost: int = 0) -> None:
    """summary.json: the estimates, who is the standard, and how many edits gave no numbers."""

    def estimate_as_data(e: Estimate) -> dict:
        known = e._asdict() | {"few": [few._asdict() for few in e.few]}
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in known.items() if v != []}

    tables = {
        subset: {r: {m: estimate_as_data(e) for m, e in metrics.items()} for r, metrics in rows.items()}
        for subset, rows in summary.items()
    }
    write_record(folder / SUMMARY, {"standard": standard, "without numbers": lost, "subsets": tables})


def rows_in_contest(editors: Sequence[ScoredEditor]) -> tuple[int, ...]:
    """The editors, by number, that may be named best: those that have all cases, and numbers for each."""
    most = max(len(editor.edits.results) for editor in editors)
    return tuple(
        i
        for i, editor in enumerate(editors)
        if len(editor.edits.results) == most and not editor.edits.results.lost_edits
    )


class Retention(NamedTuple):
    """The first k edits of every sequence: each scored at once, and all scored after k; by metric."""

    edits: int
    at_once: dict[str, Estimate]
    at_end: dict[str, Estimate]


def retention_curve(editor: ScoredEditor) -> list[Retention]:
    """Scores at once and at the end by number of edits; empty for independent edits."""
    results, evaluation, curve = editor.edits.results, editor.evaluation, []
    names = followed_metrics(evaluation)

    def pick_metrics(metrics: dict[str, Metric]) -> dict[str, Metric]:
        return {name: metrics[name] for name in names if name in metrics}

    for count, after in editor.edits.later_results.items():
        later = measure_reader(evaluation, after, evaluation.readers(after, editor.name)[editor.name])
        among = results.cases["position"] < count
        now = pick_metrics(editor.values[editor.name])
        curve.append(
            Retention(
                count,
                estimate_metrics(now, cluster_levels(results), among),
                estimate_metrics(pick_metrics(later), cluster_levels(after), np.ones(len(after), bool)),
            )
        )
    return curve


def followed_metrics(evaluation: EvaluationMetrics) -> list[str]:
    """The metrics that are followed along sequences."""
    return [m.id for m in evaluation.metrics if m.follows_sequences]
