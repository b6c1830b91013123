"""What the explorer shows of an evaluation: columns of its rows, presets, and names of its questions."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from testbed.scores.metric import metrics_shown_in
from testbed.scores.summary import ScoredEditor

SHARES = (0, 0.0001, 0.1, 0.5, 0.9, 0.9999)
"""Where the groups of a filter over shares and distances begin; what is below is one more."""
COUNTS = (0, 1, 2, 5, 20)
YES, NO, NONE = "yes", "no", "\u2013"
"""How words say that something is so, is not, or cannot be."""


class Column(NamedTuple):
    """A column of the rows of one editor.

    Attributes:
        key: as in addresses.
        title: as people read it.
        says: what exactly it is.
        values: [E], str or numbers; NaN where a case has none.
        edges: where the groups of its filter begin, for numbers.
        metric: the metric of the report that it shows case by case, if it is one.
    """

    key: str
    title: str
    says: str
    values: np.ndarray
    edges: Sequence[float] = SHARES
    metric: str = ""


class Preset(NamedTuple):
    """A view under a name.

    Attributes:
        filters: by the key of a column, the words or groups that are shown.
        sort: the key of a column, with "-" before it for the largest first.
        spread: a column of numbers; rows are sorted by how far editors differ in it, a case at a time.
    """

    title: str
    says: str
    filters: Mapping[str, Sequence[str]] = {}
    sort: str = ""
    spread: str = ""


class View(NamedTuple):
    """What is shown of one editor's cases; columns and presets are the same for all editors.

    Attributes:
        roles: what questions of a role are about, for people.
        subsets: by subset of the cases, the filters that leave them.
    """

    columns: Sequence[Column]
    presets: Sequence[Preset]
    roles: Mapping[str, str] = {}
    subsets: Mapping[str, Mapping[str, Sequence[str]]] = {}


def usual_view(editor: ScoredEditor) -> View:
    """The columns that the evaluation declares for cases, and its first metrics case by case."""
    cases, columns = editor.edits.results.cases, list[Column]()
    for name, kind in editor.evaluation.facets.items():
        values = say_whether(cases[name]) if kind is bool else cases[name]
        title = name.replace("_", " ")
        says = f"As the evaluation declares it for its cases: {title}."
        columns.append(Column(name, title, says, values, COUNTS))
    columns += (show_metric(editor, name) for name in editor.compared_metrics())
    shown = set(metrics_shown_in(editor.evaluation.metrics, "compared"))
    metrics = [m for m in editor.evaluation.metrics if m.id in shown]
    presets = [
        Preset(f"worst {m.title}", m.description, sort=m.id if m.better == "high" else f"-{m.id}")
        for m in metrics[:3]
        if m.better != "one"
    ]
    if metrics:
        says = f"Cases in which {metrics[0].title} of the editors shown differs most."
        presets.append(Preset("editors disagree most", says, spread=metrics[0].id))
    return View(columns, presets)


def show_metric(editor: ScoredEditor, name: str) -> Column:
    """A metric of an editor, case by case."""
    definition = next(m for m in editor.evaluation.metrics if m.id == name)
    values = editor.values[editor.name][name].by_case
    return Column(name, definition.title, definition.description, values, metric=name)


def say_whether(values: np.ndarray) -> np.ndarray:
    """str[E] of values that are true, false or, as NaN, neither."""
    values = np.asarray(values, float)
    return np.where(np.isnan(values), NONE, np.where(values > 0, YES, NO))


def view_of(editor: ScoredEditor) -> View:
    """The columns and presets of an editor's edits.

    Apart from `Evaluation`, on whose code the identity of cases depends.
    """
    own = _find_explorer(editor.evaluation)
    view: View = own.make_view(editor) if own else usual_view(editor)
    return view


def roles_of(evaluation: Any) -> dict[str, str]:
    """What questions of a role are about, for people, where the role does not say it."""
    return getattr(_find_explorer(evaluation), "ROLE_NAMES", {})


def _find_explorer(evaluation: Any) -> ModuleType | None:
    package = getattr(evaluation, "package", "")
    has_own = package and find_spec(f"{package}.explorer")
    return import_module(f"{package}.explorer") if has_own else None
