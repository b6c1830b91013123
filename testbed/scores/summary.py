"""An editor's cases as numbers: every metric, reader and subset, and what lasts (design.md 6, 7)."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from corpus.errors import InputError
from testbed.engine.results import Results, cluster_levels
from testbed.scores.frame import (
    ALL,
    BEFORE,
    CONTROL,
    EDITOR,
    EDITS,
    LOST,
    REFERENCE,
    Frame,
    Keys,
    concat_frames,
    make_frame,
)
from testbed.scores.gather import EditorResults
from testbed.scores.metric import Metric, MetricDefinition, metrics_shown_in
from testbed.scores.parts import CasePart, Rows, measure_parts
from testbed.scores.readers import BEFORE_EDIT, NO_EDIT, EvaluationMetrics, Reader
from testbed.scores.statistics import Estimate, estimate_metric, estimate_metrics
from testbed.scores.tables import Cell

MetricsByReader = dict[str, dict[str, Metric]]
"""Reader -> metric -> numerators and denominators per case."""
Estimates = dict[tuple[str, str, str], Estimate]
"""By subset, reader and metric."""
_FLOOR = "no edit, for edits that left no numbers"


class ScoredEditor(NamedTuple):
    """An editor with its metrics: case by case, and everything that is estimated, with what edits cost."""

    edits: EditorResults
    values: MetricsByReader
    frame: Frame

    @property
    def name(self) -> str:
        """The editor's name, and that of its reader."""
        return self.edits.name

    @property
    def evaluation(self) -> EvaluationMetrics:
        """What its edits were made for."""
        return self.edits.evaluation

    @property
    def readers(self) -> dict[str, Reader]:
        """The edited model under the editor's name, and its references."""
        return self.evaluation.readers(self.edits.results, self.name)

    @property
    def reference_names(self) -> list[str]:
        """The references that the editor is held against after the edit."""
        own = {self.name, BEFORE_EDIT, *self.control_readers}
        return [reader for reader in self.values if reader not in own]

    @property
    def control_readers(self) -> list[str]:
        """The readers that were told something else than the request."""
        return [control_reader(self.name, control) for control in self.edits.controls]

    def estimate(self, metric: Metric, among: np.ndarray | bool = True) -> Estimate:
        """A metric of its cases over some of them, with its interval."""
        results = self.edits.results
        return estimate_metric(metric, cluster_levels(results), np.ones(len(results), bool) & among)

    def compared_metrics(self) -> list[str]:
        """The metrics of first tables and of comparisons, those that this editor has."""
        names = metrics_shown_in(self.evaluation.metrics, "compared")
        return [name for name in names if name in self.values[self.name]]


def score_editors(editors: Sequence[EditorResults]) -> list[ScoredEditor]:
    """Measure every editor's cases and estimate all that is reported of them.

    The references that editors are held against are measured once for editors of the same cases.
    """
    measured: dict[str, tuple[MetricsByReader, Estimates]] = {}
    return [
        _score_editor(edits, measured, _case_digest(edits) if len(editors) > 1 else "") for edits in editors
    ]


def _score_editor(
    edits: EditorResults, measured: dict[str, tuple[MetricsByReader, Estimates]], key: str
) -> ScoredEditor:
    """An editor scored; `measured` has the references of those scored before, by the cases they share."""
    evaluation, results = edits.evaluation, edits.results
    references, known = measured.get(key, ({}, {}))
    readers = evaluation.readers(results, edits.name)
    new = {name: reader for name, reader in readers.items() if name not in references}
    every = references | _measure_together(evaluation, results, new)
    values = {name: every[name] for name in readers if name in every}
    values |= _measure_controls(evaluation, edits.name, edits.controls)
    estimates = estimate_subsets(evaluation, results, values, known)
    own = {edits.name, *map(partial(control_reader, edits.name), edits.controls)}
    measured[key] = (
        {name: of for name, of in values.items() if name not in own},
        {of: estimate for of, estimate in estimates.items() if of[1] not in own},
    )
    rows = [
        *_rows_of(edits.name, edits.controls, evaluation.subsets(results), estimates),
        *_rows_of_costs(edits),
    ]
    return ScoredEditor(edits, values, make_frame(rows, evaluation.metrics))


def _case_digest(edits: EditorResults) -> str:
    """The same for editors of the same cases, agent and unedited model, whose reference rows are equal."""
    cases, choices, claims = edits.results.cases, edits.results.choices, edits.results.claims
    seen = hashlib.sha256(repr(edits.evaluation).encode())
    parts = [cases[name] for name in ("run", "cluster", "position")]
    for array in (*parts, choices.case, choices.options, choices.agent, choices.lm[:, 0], claims.lm[:, 0]):
        seen.update(np.ascontiguousarray(array).tobytes())
    return seen.hexdigest()


def _measure_controls(
    evaluation: EvaluationMetrics, editor: str, controls: Mapping[str, Results]
) -> MetricsByReader:
    """What the editor did when told a control."""
    return {
        control_reader(editor, control): measure_reader(
            evaluation, results, evaluation.readers(results, editor)[editor]
        )
        for control, results in controls.items()
    }


def measure_reader(evaluation: EvaluationMetrics, results: Results, reader: Reader) -> dict[str, Metric]:
    """Every metric of a reader, case by case.

    Edits that left no numbers count as failures, and who gives truth values alone has their metrics alone.
    """
    return _measure_together(evaluation, results, {"": reader}).get("", {})


def _measure_together(
    evaluation: EvaluationMetrics, results: Results, readers: Mapping[str, Reader]
) -> MetricsByReader:
    """As `measure_reader`, for several readers, which share what they are held against.

    Readers that have no metric are left out.
    """
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
    return {name: metrics for name, metrics in measured.items() if metrics}


def take_readers(readers: Mapping[str, Reader], part: CasePart) -> dict[str, Reader]:
    """What readers of the whole results answer in a part of them.

    An array that several of them have, or one before and after the edit, is one array again.
    """
    taken: dict[int, np.ndarray] = {}

    def take(array: np.ndarray, rows: Rows) -> np.ndarray:
        if id(array) not in taken:
            taken[id(array)] = array[rows]
        return taken[id(array)]

    def take_known(array: np.ndarray | None, rows: Rows) -> np.ndarray | None:
        return None if array is None else take(array, rows)

    return {
        name: reader._replace(
            probability=take(reader.probability, part.choices),
            answer=take(reader.answer, part.choices),
            start=take(reader.start, part.choices),
            start_answer=take(reader.start_answer, part.choices),
            claims=take_known(reader.claims, part.claims),
            texts=take_known(reader.texts, part.passages),
            losses=take_known(reader.losses, part.passages),
            lost=take_known(reader.lost, part.cases),
            temperatures=take_known(reader.temperatures, part.choices),
        )
        for name, reader in readers.items()
    }


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
) -> Frame:
    """Estimates for every subset, reader and metric."""
    values = _measure_together(evaluation, results, evaluation.readers(results, editor))
    values |= _measure_controls(evaluation, editor, controls)
    estimates = estimate_subsets(evaluation, results, values)
    return make_frame(_rows_of(editor, controls, evaluation.subsets(results), estimates), evaluation.metrics)


def estimate_subsets(
    evaluation: EvaluationMetrics,
    results: Results,
    values: MetricsByReader,
    known: Mapping[tuple[str, str, str], Estimate] = {},
) -> Estimates:
    """As `summarise_results`, of known metrics: all over all cases, those in tables over subsets.

    Args:
        known: estimates that need not be made again.
    """
    levels, main = cluster_levels(results), set(metrics_shown_in(evaluation.metrics, "table"))
    flat = {(reader, name): m for reader, metrics in values.items() for name, m in metrics.items()}
    for (_, name), metric in flat.items():
        if not np.shape(metric.numerator) == np.shape(metric.denominator) == (len(results),):
            raise InputError(
                f"the metric {name!r} of {type(evaluation).__name__} should have two numbers for each of "
                f"{len(results)} cases; it has {np.shape(metric.numerator)} and "
                f"{np.shape(metric.denominator)}"
            )
    subsets = evaluation.subsets(results)
    for name, mask in ({ALL: None} | subsets).items():
        if mask is None or np.shape(mask) != (len(results),):
            raise InputError(
                f"subsets() of {type(evaluation).__name__} should give bool[{len(results)}] for {name!r}; it "
                f"has {'nothing' if mask is None else f'shape {np.shape(mask)}'}"
            )
    estimates: Estimates = {}
    for subset, among in subsets.items():
        shown = {of: metric for of, metric in flat.items() if subset == ALL or of[1] in main}
        new = {of: metric for of, metric in shown.items() if (subset, *of) not in known}
        found = estimate_metrics(new, levels, among)
        estimates |= {(subset, *of): found[of] if of in found else known[subset, *of] for of in shown}
    return estimates


def frame_of(editors: Sequence[ScoredEditor]) -> Frame:
    """Every estimate of some editors, their controls and references, and what edits cost.

    Editors of the same cases share their references, which stand with each of them.
    """
    return concat_frames([editor.frame for editor in editors])


def frame_of_measures(
    editors: Sequence[ScoredEditor],
    measure: Callable[[ScoredEditor], Mapping[str, Mapping[str, Metric]]],
    subsets: Callable[[ScoredEditor], Mapping[str, np.ndarray]],
) -> Frame:
    """Estimates of what an evaluation measures besides its metrics.

    Args:
        measure: by reader and name, case by case.
        subsets: bool[E] each.
    """
    rows: list[tuple[Keys, Cell]] = []
    for e in editors:
        values, masks, levels = measure(e), subsets(e), cluster_levels(e.edits.results)
        estimates = {
            (subset, reader, name): estimate
            for subset, among in masks.items()
            for reader, metrics in values.items()
            for name, estimate in estimate_metrics(metrics, levels, among).items()
        }
        rows += _rows_of(e.name, (), masks, estimates)
    return make_frame(rows, ())


def _rows_of(
    editor: str, controls: Iterable[str], subsets: Mapping[str, np.ndarray], estimates: Estimates
) -> Iterator[tuple[Keys, Cell]]:
    """The rows of a frame: estimates, and before those of each reader and subset how many edits it has."""
    kinds = {editor: EDITOR, BEFORE_EDIT: BEFORE}
    kinds |= {control_reader(editor, control): CONTROL for control in controls}
    sizes = {name: int(mask.sum()) for name, mask in subsets.items()}
    counted = set[tuple[str, str]]()
    for (subset, reader, metric), estimate in estimates.items():
        of = (editor, reader, kinds.get(reader, REFERENCE), subset)
        if (subset, reader) not in counted:
            counted.add((subset, reader))
            yield (*of, EDITS, None), sizes[subset]
        yield (*of, metric, None), estimate


def _rows_of_costs(edits: EditorResults) -> Iterator[tuple[Keys, Cell]]:
    numbers: dict[str, float | None] = {LOST: edits.results.lost_edits, **edits.cost}
    if {"seconds", "prepare_seconds"} <= edits.cost.keys():
        numbers["first_seconds"] = edits.cost["seconds"] + edits.cost["prepare_seconds"]
    yield from (((edits.name, edits.name, EDITOR, ALL, name, None), cell) for name, cell in numbers.items())


AT_ONCE, KEPT = "at once", "kept"
"""When the first edits of sequences are scored: each immediately, or all of them after the last."""


def subset_of_first(count: int, when: str) -> str:
    """The subset of the first edits of every sequence, scored AT_ONCE or KEPT."""
    return f"first {count} edits, {when}"


def followed_metrics(evaluation: EvaluationMetrics) -> list[str]:
    """The metrics that are followed along sequences."""
    return [m.id for m in evaluation.metrics if m.follows_sequences]


def count_failures(
    measured: Mapping[str, Metric],
    floor: Mapping[str, Metric],
    definitions: Sequence[MetricDefinition],
    lost: np.ndarray,
) -> dict[str, Metric]:
    """Metrics of an edited model in which a lost edit is a failure, and never better than no edit.

    A failure is 0 where high values or those near 1 are better, and 1 where low ones are: shares, distances
    and violations of laws lie between these. Where whoever answers nothing has a worse value than that, or
    the unedited model has, it is the worst of them.

    Args:
        measured: of the edited model, which answers nothing after a lost edit.
        floor: of the unedited model; those that it lacks are not held against it.
        lost: bool[E].
    """
    better = {m.id: m.better for m in definitions}
    return {
        name: _fail_cases(metric, floor.get(name, metric), better[name], lost)
        for name, metric in measured.items()
    }


def _fail_cases(metric: Metric, floor: Metric, better: str, lost: np.ndarray) -> Metric:
    bottom = np.where(metric.denominator > 0, metric.denominator, floor.denominator)
    fails = lost & (bottom > 0)
    values = np.stack([metric.by_case, floor.by_case, np.full(len(lost), float(better == "low"))])[:, fails]
    badness = {"high": -values, "low": values, "one": np.abs(values - 1)}[better]
    worst = np.where(np.isnan(badness), -np.inf, badness).argmax(0)
    top, bottom_of_all = metric.numerator.astype(float), metric.denominator.astype(float)
    top[fails] = np.take_along_axis(values, worst[None], 0)[0] * bottom[fails]
    bottom_of_all[fails] = bottom[fails]
    return metric._replace(numerator=top, denominator=bottom_of_all)
