"""Work on all cores of this machine."""

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from corpus.compiled import map_in_order

Task = TypeVar("Task")
Result = TypeVar("Result")


def map_on_cores(function: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """`map` over threads, for functions that spend their time in NumPy; one task needs no thread."""
    if len(tasks) == 1:
        return [function(tasks[0])]
    return [*map_in_order(function, tasks, os.cpu_count() or 1)]
