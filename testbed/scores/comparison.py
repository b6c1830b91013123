"""Editors beside each other: paired differences on the cases that both have, adjusted for their number."""

import hashlib
import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from corpus.errors import InputError
from corpus.seeds import generator
from testbed.engine.results import cluster_levels
from testbed.scores.gather import EditorResults, match_cases
from testbed.scores.jackknife import Clusters
from testbed.scores.measures import EvaluationMetrics
from testbed.scores.metric import Metric, metrics_shown_in
from testbed.scores.readers import BEFORE_EDIT, NO_EDIT
from testbed.scores.statistics import Comparison, adjust_holm, compare_metrics
from testbed.scores.summary import MetricsByReader, Summary, control_reader, estimate_subsets, measure_readers

Of = TypeVar("Of")


class ScoredEditor(NamedTuple):
    """An editor with its metrics: case by case, and estimated."""

    edited: EditorResults
    values: MetricsByReader
    summary: Summary

    @property
    def name(self) -> str:
        """The editor's name, and that of its reader."""
        return self.edited.name

    @property
    def evaluation(self) -> EvaluationMetrics:
        """The examination that it sat."""
        return self.edited.evaluation

    @property
    def reference_names(self) -> list[str]:
        """The references that the editor is held against after the edit."""
        own = {self.name, BEFORE_EDIT, *self.control_readers}
        return [reader for reader in self.values if reader not in own]

    @property
    def control_readers(self) -> list[str]:
        """The readers that were told something else than the request."""
        return [control_reader(self.name, control) for control in self.edited.controls]

    def compared_metrics(self) -> list[str]:
        """The metrics of first tables and of comparisons, those that this editor has."""
        names = metrics_shown_in(self.evaluation.metrics, "compared")
        return [name for name in names if name in self.values[self.name]]


class Differences(NamedTuple):
    """Every editor against one reference; p-values are Holm's, over the editors of one metric.

    Attributes:
        reference: an editor, or one of its floors.
        comparisons: editor -> metric -> editor minus reference, for editors of the reference's standard.
    """

    reference: str
    comparisons: dict[str, dict[str, Comparison]]

    def detectable_difference(self, metric: str) -> float:
        """A difference that every one of these comparisons would detect, at its number of cases."""
        known = [row[metric].detectable for row in self.comparisons.values() if metric in row]
        return max((d for d in known if not math.isnan(d)), default=math.nan)


def score_editors(editors: Sequence[EditorResults]) -> list[ScoredEditor]:
    """Measure every editor's cases and estimate all that is reported of them.

    The references that editors are held against are measured once for editors of the same cases.
    """
    scored_by_digest: dict[str, ScoredEditor] = {}
    scores = []
    for edited in editors:
        results, evaluation = edited.results, edited.evaluation
        key = _case_digest(edited)
        twin = scored_by_digest.get(key)
        if twin is None or edited.controls:
            values = measure_readers(evaluation, results, edited.name, edited.controls)
            scored = ScoredEditor(edited, values, estimate_subsets(evaluation, results, values))
            if not edited.controls:
                scored_by_digest[key] = scored
        else:
            reader = evaluation.readers(results, edited.name)[edited.name]
            editor_values = {edited.name: evaluation.measure(results, reader)}
            summary = estimate_subsets(evaluation, results, editor_values)
            scored = ScoredEditor(
                edited,
                _replace_row(twin.values, twin.name, editor_values),
                {
                    subset: _replace_row(twin.summary[subset], twin.name, rows)
                    for subset, rows in summary.items()
                },
            )
        scores.append(scored)
    return scores


def reference_named(editors: Sequence[ScoredEditor], against: str) -> str:
    """Whom editors are compared with: the one asked for, else the first, else (one alone) no edit.

    Raises:
        InputError: nothing of that name.
    """
    names = [e.name for e in editors]
    if not against:
        return names[0] if len(names) > 1 else NO_EDIT
    called = [e.name for e in editors if against in (e.name, e.edited.editor)]
    floors = editors[0].reference_names
    if called or against in floors:
        return (called or [against])[0]
    raise InputError(
        f"there is nothing called {against!r} to compare with; there are {', '.join([*names, *floors])}"
    )


def compare_editors(editors: Sequence[ScoredEditor], reference: str, subset: str = "all") -> Differences:
    """Paired differences of every editor from the reference, over one subset of the cases both have."""
    rng = generator(editors[0].edited.seed, "comparisons")
    reference_editor = next((e for e in editors if e.name == reference), None)
    comparisons = {}
    for editor in editors:
        pair = (
            _pair_with_reference(editor, reference)
            if reference_editor is None
            else _pair_with_editor(editor, reference_editor)
        )
        if pair is not None:
            among = editor.evaluation.subsets(editor.edited.results)[subset][pair.cases]
            comparisons[editor.name] = {
                name: compare_metrics(*both, pair.clusters, among, rng) for name, both in pair.metrics.items()
            }
    return Differences(reference, _adjust_p_values(comparisons))


def _case_digest(edited: EditorResults) -> str:
    """The same for editors of the same cases, agent and unedited model, whose reference rows are equal."""
    cases, choices, claims = edited.results.cases, edited.results.choices, edited.results.claims
    seen = hashlib.sha256(repr(edited.evaluation).encode())
    parts = [cases[name] for name in ("run", "cluster", "position")]
    for array in (*parts, choices.case, choices.options, choices.agent, choices.lm[:, 0], claims.lm[:, 0]):
        seen.update(np.ascontiguousarray(array).tobytes())
    return seen.hexdigest()


def _replace_row(rows: dict[str, Of], old: str, new: dict[str, Of]) -> dict[str, Of]:
    """Rows by reader in their order, with those of one editor replaced by another's."""
    return dict(
        item for name, row in rows.items() for item in (new.items() if name == old else [(name, row)])
    )


class _Pair(NamedTuple):
    """What is compared: an editor's cases, their clusters, and each metric of editor and reference there."""

    cases: np.ndarray
    clusters: Clusters
    metrics: dict[str, tuple[Metric, Metric]]


def _pair_with_reference(editor: ScoredEditor, floor: str) -> _Pair:
    results = editor.edited.results
    own, other = editor.values[editor.name], editor.values[floor]
    both = [name for name in editor.compared_metrics() if name in other]
    return _Pair(np.arange(len(results)), cluster_levels(results), {n: (own[n], other[n]) for n in both})


def _pair_with_editor(editor: ScoredEditor, other: ScoredEditor) -> _Pair | None:
    """None for an editor itself, and where two have other standards or no case in common."""
    if other.name == editor.name or other.edited.standard != editor.edited.standard:
        return None
    mine, theirs = match_cases(editor.edited.results, other.edited.results)
    if not len(mine):
        return None
    # Subjects lie within sequences, so where one of them edited in sequence its clusters hold for both.
    where = ((editor, mine), (other, theirs))
    levels = [{k: x[cases] for k, x in cluster_levels(e.edited.results).items()} for e, cases in where]
    coarser = min(levels, key=lambda level: len(np.unique(next(iter(level.values())))))
    own, reference = editor.values[editor.name], other.values[other.name]
    both = [name for name in editor.compared_metrics() if name in reference]
    pairs = {name: (_at_cases(own[name], mine), _at_cases(reference[name], theirs)) for name in both}
    return _Pair(mine, coarser, pairs)


def _at_cases(metric: Metric, cases: np.ndarray) -> Metric:
    return metric._replace(numerator=metric.numerator[cases], denominator=metric.denominator[cases])


def _adjust_p_values(comparisons: dict[str, dict[str, Comparison]]) -> dict[str, dict[str, Comparison]]:
    adjusted: dict[str, dict[str, Comparison]] = {name: {} for name in comparisons}
    for metric in dict.fromkeys(metric for row in comparisons.values() for metric in row):
        p = {name: row[metric].p for name, row in comparisons.items() if metric in row}
        for name, value in adjust_holm(p).items():
            adjusted[name][metric] = comparisons[name][metric]._replace(p=value)
    return adjusted
