"""What a user's own evaluation must be, looked at once, so that a mistake in it becomes a message."""

from collections import Counter
from collections.abc import Iterator
from typing import get_args

from corpus.errors import InputError
from testbed.evaluations.interface import Evaluation


def check_evaluation(name: str, evaluation: Evaluation) -> None:
    """Look at its metrics and columns.

    Raises:
        InputError: two metrics of one name, words that mean nothing, or a column that is there already.
    """
    wrong = next(_list_faults(evaluation), "")
    if wrong:
        raise InputError(f"evaluation {name!r}: {wrong}")


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
