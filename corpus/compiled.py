"""Kernels compiled by Numba on demand, so that a small world waits neither for a compiler nor for its import.

A kernel is a plain function of preallocated arrays and `numpy.random.Generator`s. Small inputs run it as
it stands; large ones run the same source compiled. Both draw the same numbers, so results are identical.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numpy as np

# Sentences (or mentions of them) from which compiling (seconds once a machine, half a second a process) pays.
LEAST_WORK = 250_000

Task = TypeVar("Task")
Result = TypeVar("Result")


@cache
def compile_kernel(kernel: Callable) -> Callable:
    """The machine code of a kernel, kept on disk between processes; runs without the interpreter's lock."""
    import numba

    try:
        return numba.njit(kernel, cache=True, nogil=True)
    except RuntimeError:
        # Nowhere to keep it: compiled again by every process.
        return numba.njit(kernel, nogil=True)


def choose_kernels(kernel: Callable, work: int) -> Callable:
    """The kernel as it stands for little work, compiled for more."""
    return compile_kernel(kernel) if work >= LEAST_WORK else kernel


def run_blocks(work: Callable[[int, int], None], count: int, size: int, threads: int) -> None:
    """Call `work(low, high)` for every block of at most `size` of `count` items, side by side."""
    lows = range(0, count, size)
    if len(lows) == 1:
        # One block needs no thread, which would cost a small world more than the block itself.
        work(0, count)
        return
    for _ in map_in_order(lambda low: work(low, min(low + size, count)), lows, threads):
        pass


def spawn_streams(rng: np.random.Generator, count: int, size: int) -> list[np.random.Generator]:
    """A random stream for each block of `size` of `count` items; block i begins at item i * size."""
    return rng.spawn(-(-count // size))


def map_in_order(function: Callable[[Task], Result], tasks: Iterable[Task], threads: int) -> Iterator[Result]:
    """`map` over threads that yields results in the order of tasks and runs only a little ahead."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: list[Future[Result]] = []
        try:
            for task in tasks:
                waiting.append(pool.submit(function, task))
                if len(waiting) > 2 * threads:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()
