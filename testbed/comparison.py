"""Editors beside each other: paired differences on the cases that both have, adjusted for their number."""

import hashlib
import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from corpus.errors import InputError
from corpus.seeds import generator
from testbed.gather import Edited, matched
from testbed.jackknife import Clusters
from testbed.metrics import Metric, measure, readers
from testbed.records import clusters
from testbed.statistics import Comparison, compare, holm
from testbed.summary import Measured, Summary, estimated, masks, measured

BEFORE, NO_EDIT = "before edit", "no edit"
FLOORS = (NO_EDIT, "frequency reader", "perfect revision", "Bayesian reader")
COMPARED = (
    "edit success",
    "answer s1r2, must change",
    "answer s1r2, must stay",
    "selective propagation",
    "propagation ratio",
    "orthogonal damage",
    "coherence skill",
    "answer s1rx",
    "answer s2",
    "Dutch book loss",
)

Of = TypeVar("Of")


class Scored(NamedTuple):
    """An editor with its metrics: case by case, and estimated."""

    edited: Edited
    values: Measured
    summary: Summary

    @property
    def name(self) -> str:
        """The editor's name, and that of its reader."""
        return self.edited.name


class Differences(NamedTuple):
    """Every editor against one reference; p-values are Holm's, over the editors of one metric.

    Attributes:
        reference: an editor, or one of FLOORS.
        found: editor -> metric -> editor minus reference, for editors of the reference's standard.
    """

    reference: str
    found: dict[str, dict[str, Comparison]]

    def detectable(self, metric: str) -> float:
        """A difference that every one of these comparisons would detect, at its number of cases."""
        known = [row[metric].detectable for row in self.found.values()]
        return max((d for d in known if not math.isnan(d)), default=math.nan)


def score(editors: Sequence[Edited]) -> list[Scored]:
    """Measure every editor's cases and estimate all that is reported of them.

    The readers that editors are held against are measured once for editors of the same cases.
    """
    known: dict[str, Scored] = {}
    found = []
    for edited in editors:
        outcomes = edited.outcomes
        same = known.get(_exam(edited))
        if same is None:
            values = measured(outcomes, edited.name)
            scored = Scored(edited, values, estimated(outcomes, values))
            known[_exam(edited)] = scored
        else:
            own = {edited.name: measure(outcomes, readers(outcomes, edited.name)[edited.name])}
            summary = estimated(outcomes, own)
            scored = Scored(
                edited,
                _in_place(same.values, same.name, own),
                {
                    subset: _in_place(same.summary[subset], same.name, rows)
                    for subset, rows in summary.items()
                },
            )
        found.append(scored)
    return found


def reference_named(editors: Sequence[Scored], against: str) -> str:
    """Whom editors are compared with: the one asked for, else the first, else (one alone) no edit.

    Raises:
        InputError: nothing of that name.
    """
    names = [e.name for e in editors]
    if not against:
        return names[0] if len(names) > 1 else NO_EDIT
    called = [e.name for e in editors if against in (e.name, e.edited.settings["editor"])]
    if called or against in FLOORS:
        return (called or [against])[0]
    raise InputError(
        f"nothing to compare with is called {against!r}; there are {', '.join([*names, *FLOORS])}"
    )


def differences(editors: Sequence[Scored], reference: str, subset: str = "all") -> Differences:
    """Paired differences of every editor from the reference, over one subset of the cases both have."""
    rng = generator(editors[0].edited.seed, "comparisons")
    other = next((e for e in editors if e.name == reference), None)
    found = {}
    for editor in editors:
        pair = _against_floor(editor, reference) if other is None else _against_editor(editor, other)
        if pair is not None:
            among = masks(editor.edited.outcomes)[subset][pair.cases]
            found[editor.name] = {
                name: compare(*both, pair.clusters, among, rng) for name, both in pair.metrics.items()
            }
    return Differences(reference, _adjusted(found))


def _exam(edited: Edited) -> str:
    """The same for editors of the same cases, agent and unedited model, whose reference rows are equal."""
    o, seen = edited.outcomes, hashlib.sha256()
    parts = [o.scalars[name] for name in ("run", "cluster", "position")]
    for array in (*parts, o.objects, o.agent, o.lm[:, :, 0]):
        seen.update(np.ascontiguousarray(array).tobytes())
    return seen.hexdigest()


def _in_place(rows: dict[str, Of], old: str, new: dict[str, Of]) -> dict[str, Of]:
    """Rows by reader in their order, with those of one editor replaced by another's."""
    return dict(
        item for name, row in rows.items() for item in (new.items() if name == old else [(name, row)])
    )


class _Pair(NamedTuple):
    """What is compared: an editor's cases, their clusters, and each metric of editor and reference there."""

    cases: np.ndarray
    clusters: Clusters
    metrics: dict[str, tuple[Metric, Metric]]


def _against_floor(editor: Scored, floor: str) -> _Pair:
    every = np.arange(len(editor.edited.outcomes.objects))
    own, other = editor.values[editor.name], editor.values[floor]
    pairs = {name: (own[name], other[name]) for name in COMPARED}
    return _Pair(every, clusters(editor.edited.outcomes), pairs)


def _against_editor(editor: Scored, other: Scored) -> _Pair | None:
    """None for an editor itself, and where two have other standards or no case in common."""
    if other.name == editor.name or other.edited.standard != editor.edited.standard:
        return None
    mine, theirs = matched(editor.edited.outcomes, other.edited.outcomes)
    if not len(mine):
        return None
    # Subjects lie within sequences, so where one of them edited in sequence its clusters hold for both.
    where = ((editor, mine), (other, theirs))
    levels = [{k: x[cases] for k, x in clusters(e.edited.outcomes).items()} for e, cases in where]
    coarser = min(levels, key=lambda level: len(np.unique(next(iter(level.values())))))
    own, reference = editor.values[editor.name], other.values[other.name]
    pairs = {name: (_at(own[name], mine), _at(reference[name], theirs)) for name in COMPARED}
    return _Pair(mine, coarser, pairs)


def _at(metric: Metric, cases: np.ndarray) -> Metric:
    return metric._replace(numerator=metric.numerator[cases], denominator=metric.denominator[cases])


def _adjusted(found: dict[str, dict[str, Comparison]]) -> dict[str, dict[str, Comparison]]:
    adjusted: dict[str, dict[str, Comparison]] = {name: {} for name in found}
    for metric in COMPARED:
        p = {name: row[metric].p for name, row in found.items()}
        for name, value in holm(p).items():
            adjusted[name][metric] = found[name][metric]._replace(p=value)
    return adjusted
