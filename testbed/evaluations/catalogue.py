"""Every evaluation by name: the built-in ones, found where they stand, and a user's own as my_module:MyOne.

A folder here that has EVALUATION, a frozen dataclass, is a built-in one under the name of the folder.
Importing this loads no NumPy and no JAX, since command lines are made from it.
"""

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Any, get_args

from corpus.errors import InputError
from testbed.evaluations.interface import Evaluation
from testbed.own import import_own, option_prefix

if TYPE_CHECKING:
    from testbed.scores.gather import RecordedEvaluation

PACKAGE = "testbed.evaluations"


@cache
def evaluation_classes() -> dict[str, type[Evaluation]]:
    """The class of every built-in evaluation by name."""
    classes = {}
    for folder in pkgutil.iter_modules(importlib.import_module(PACKAGE).__path__):
        if folder.ispkg:
            classes[folder.name] = importlib.import_module(f"{PACKAGE}.{folder.name}").EVALUATION
    return classes


def evaluation_named(name: str) -> type[Evaluation]:
    """The class of that name.

    Raises:
        InputError: no such evaluation, module or class.
    """
    classes = evaluation_classes()
    if name in classes:
        return classes[name]
    if ":" not in name:
        raise InputError(f"unknown evaluation {name!r}; use {', '.join(classes)}, or my_module:MyEvaluation")
    kind, one = import_own(name, "evaluation", ("make_cases", "metrics"))
    if not issubclass(kind, Evaluation):
        raise InputError(f"evaluation {name!r}: it should subclass testbed.evaluations.interface.Evaluation")
    wrong = next(_list_faults(one), "")
    if wrong:
        raise InputError(f"evaluation {name!r}: {wrong}")
    return kind


def rebuild_evaluation(name: str, settings: dict[str, Any]) -> Evaluation:
    """The evaluation of that name with settings that were recorded.

    Raises:
        InputError: they do not fit.
    """
    own = {key: tuple(v) if isinstance(v, list) else v for key, v in settings.items() if key != "name"}
    try:
        return evaluation_named(name)(**own)
    except (TypeError, ValueError) as error:
        raise InputError(f"recorded settings of the evaluation {name} do not fit it ({error})") from None


def recorded_evaluation_named(name: str) -> "RecordedEvaluation":
    """The evaluation whose results are wanted.

    Raises:
        InputError: no such evaluation.
    """
    from testbed.scores.gather import RecordedEvaluation

    return RecordedEvaluation(name, version_of_cases(name), partial(rebuild_evaluation, name))


def version_of_cases(name: str) -> int | str:
    """The version of a built-in evaluation's cases, or the hash of a user's source.

    Raises:
        InputError: no such evaluation.
    """
    from testbed.engine.versions import hash_source

    kind = evaluation_named(name)
    return kind.version if name in evaluation_classes() else hash_source(kind.__module__)


def prefix_of(name: str) -> str:
    """What an evaluation's options begin with."""
    return option_prefix(name) if ":" in name else name.replace("_", "-")


def _list_faults(evaluation: Evaluation) -> Iterator[str]:
    # Late, so that options are read without NumPy.
    from testbed.engine.records import Columns
    from testbed.scores.metric import ARROWS, Place, metrics_shown_in

    metrics = evaluation.metrics
    for name, count in (Counter(m.id for m in metrics) | Counter(m.title for m in metrics)).items():
        if count > 1:
            yield f"{count} metrics are called {name!r}; give each an id and a label of its own"
    for metric in metrics:
        if metric.better not in ARROWS:
            yield f"{metric.id!r} is better {metric.better!r}; say one of {', '.join(ARROWS)}"
        if metric.shown_in not in get_args(Place):
            yield f"{metric.id!r} is shown in {metric.shown_in!r}; say one of {', '.join(get_args(Place))}"
    if not metrics_shown_in(metrics, "headline"):
        yield 'it has no headline; give a metric "headline" as its place'
    schemas = Columns((), {}).schemas
    for table, facets in (("cases", evaluation.facets), ("choices", evaluation.choice_facets)):
        for facet in facets:
            if facet in schemas[table].names:
                yield f"{table} have a column {facet!r} already; call the facet otherwise"
