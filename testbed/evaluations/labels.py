"""Metrics of earlier records, which stand there under what people see of them."""

from functools import cache

from testbed.evaluations.catalogue import evaluation_classes


def id_of_label(label: str) -> str:
    """The id of the built-in metric with a label; what is no label, as an id is none, stays as it is."""
    return _ids_by_label().get(label, label)


@cache
def _ids_by_label() -> dict[str, str]:
    return {m.title: m.id for kind in evaluation_classes().values() for m in kind().metrics}
