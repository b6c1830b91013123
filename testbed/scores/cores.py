"""Work on all cores of this machine."""

import os
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar, overload

from corpus.compiled import map_in_order

Owner = TypeVar("Owner")
Task = TypeVar("Task")
Result = TypeVar("Result")


def map_on_cores(function: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """`map` over threads, for functions that spend their time in NumPy; one task needs no thread."""
    if len(tasks) == 1:
        return [function(tasks[0])]
    return [*map_in_order(function, tasks, os.cpu_count() or 1)]


class lazy_property(Generic[Owner, Result]):  # noqa: N801, used as functools.cached_property is
    """A property that is computed once for each object, at its first use.

    As `functools.cached_property`, but without the lock that this has in Python 3.11: all objects of a class
    share it, so that threads wait for each other. Threads that share an object may compute a property twice.
    """

    def __init__(self, compute: Callable[[Owner], Result]) -> None:
        self._compute, self._name, self.__doc__ = compute, compute.__name__, compute.__doc__

    @overload
    def __get__(self, one: None, owner: type) -> Self: ...
    @overload
    def __get__(self, one: Owner, owner: type) -> Result: ...
    def __get__(self, one: Any, owner: type) -> Any:
        """Its value, which then hides this property; the property itself where a class is asked."""
        if one is None:
            return self
        return one.__dict__.setdefault(self._name, self._compute(one))
