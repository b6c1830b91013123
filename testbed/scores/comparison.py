"""Editors beside each other: paired differences on the cases that both have, adjusted for their number."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from corpus.errors import InputError
from corpus.seeds import generator
from testbed.engine.results import cluster_levels
from testbed.scores.frame import ALL
from testbed.scores.gather import match_cases
from testbed.scores.jackknife import Clusters
from testbed.scores.metric import Metric
from testbed.scores.readers import NO_EDIT
from testbed.scores.statistics import Comparison, adjust_holm, compare_metrics
from testbed.scores.summary import ScoredEditor


class Differences(NamedTuple):
    """Every editor against one reference; p-values are Holm's, over the editors of one metric.

    Attributes:
        reference: an editor, or one of its floors.
        comparisons: editor -> metric -> editor minus reference, for editors of the reference's standard and
            protocol.
    """

    reference: str
    comparisons: dict[str, dict[str, Comparison]]

    def detectable_difference(self, metric: str) -> float:
        """A difference that every one of these comparisons would detect, at its number of cases."""
        differences = [row[metric].detectable for row in self.comparisons.values() if metric in row]
        return max((d for d in differences if not math.isnan(d)), default=math.nan)


def reference_named(editors: Sequence[ScoredEditor], against: str) -> str:
    """Whom editors are compared with: the one asked for, else the first, else (one alone) no edit.

    Raises:
        InputError: nothing of that name.
    """
    names = [e.name for e in editors]
    if not against:
        return names[0] if len(names) > 1 else NO_EDIT
    called = [e.name for e in editors if against in (e.name, e.edits.editor)]
    floors = editors[0].reference_names
    if called or against in floors:
        return (called or [against])[0]
    raise InputError(
        f"there is nothing called {against!r} to compare with; there are {', '.join([*names, *floors])}"
    )


def describe_incomparable(editors: Sequence[ScoredEditor], reference: str) -> Iterator[str]:
    """Which editors are not compared with the reference since their edits follow each other otherwise."""
    for theirs in [e.edits.protocol for e in editors if e.name == reference]:
        for editor in editors:
            if editor.edits.protocol != theirs:
                yield (
                    f"{editor.name} is not compared with {reference}: its edits were made "
                    f"{editor.edits.protocol}, those of {reference} {theirs}"
                )


def compare_editors(editors: Sequence[ScoredEditor], reference: str, subset: str = ALL) -> Differences:
    """Paired differences of every editor from the reference, over one subset of the cases both have."""
    rng = generator(editors[0].edits.seed, "comparisons")
    reference_editor = next((e for e in editors if e.name == reference), None)
    comparisons = {}
    for editor in editors:
        pair = (
            _pair_with_reference(editor, reference)
            if reference_editor is None
            else _pair_with_editor(editor, reference_editor)
        )
        if pair is not None:
            among = editor.evaluation.subsets(editor.edits.results)[subset][pair.cases]
            comparisons[editor.name] = {
                name: compare_metrics(*both, pair.clusters, among, rng) for name, both in pair.metrics.items()
            }
    return Differences(reference, _adjust_p_values(comparisons))


class _Pair(NamedTuple):
    """What is compared: an editor's cases, their clusters, and each metric of editor and reference there."""

    cases: np.ndarray
    clusters: Clusters
    metrics: dict[str, tuple[Metric, Metric]]


def _pair_with_reference(editor: ScoredEditor, floor: str) -> _Pair:
    results = editor.edits.results
    own, other = editor.values[editor.name], editor.values[floor]
    both = [name for name in editor.compared_metrics() if name in other]
    return _Pair(np.arange(len(results)), cluster_levels(results), {n: (own[n], other[n]) for n in both})


def _pair_with_editor(editor: ScoredEditor, other: ScoredEditor) -> _Pair | None:
    """None for an editor itself, and where two have other standards, other protocols or no case in common."""
    judged, judged_other = ((one.edits.standard, one.edits.protocol) for one in (editor, other))
    if other.name == editor.name or judged != judged_other:
        return None
    cases, theirs = match_cases(editor.edits.results, other.edits.results)
    if not len(cases):
        return None
    clusters = {name: of[cases] for name, of in cluster_levels(editor.edits.results).items()}
    own, reference = editor.values[editor.name], other.values[other.name]
    both = [name for name in editor.compared_metrics() if name in reference]
    pairs = {name: (own[name].take(cases), reference[name].take(theirs)) for name in both}
    return _Pair(cases, clusters, pairs)


def _adjust_p_values(comparisons: dict[str, dict[str, Comparison]]) -> dict[str, dict[str, Comparison]]:
    adjusted: dict[str, dict[str, Comparison]] = {name: {} for name in comparisons}
    for metric in dict.fromkeys(metric for row in comparisons.values() for metric in row):
        p = {name: row[metric].p for name, row in comparisons.items() if metric in row}
        for name, value in adjust_holm(p).items():
            adjusted[name][metric] = comparisons[name][metric]._replace(p=value)
    return adjusted
