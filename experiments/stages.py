"""Work in stages that are kept when they are done, until the time is over."""

import time
from collections.abc import Callable, Iterable

import jax

from testbed.console import say

Stage = tuple[str, Callable[[], object]]
"""What is done, and doing it, which is quick where it was done before."""


class Clock:
    """How long a command may still work.

    Args:
        minutes: from now on; without them, as long as it takes.
    """

    def __init__(self, minutes: float | None) -> None:
        self._end = None if minutes is None else time.perf_counter() + 60 * minutes

    def minutes_left(self) -> float | None:
        """Minutes that are left, for a training to stop in; at least .1, and None where nothing limits it."""
        return None if self._end is None else max((self._end - time.perf_counter()) / 60, 0.1)

    @property
    def is_over(self) -> bool:
        """The minutes have passed."""
        return self._end is not None and time.perf_counter() > self._end


def finish_stages(stages: Iterable[Stage], clock: Clock) -> bool:
    """Do one stage after another, until the time is over.

    A process may hold so many compiled programs that it gets no memory map for another, so that none outlives
    its stage; they are kept on disk.

    Args:
        stages: in their order; may be made as they are needed.

    Returns:
        Whether all were done. If not, the next one is named.
    """
    for title, work in stages:
        if clock.is_over:
            say(f"next: {title}; run the same command to go on")
            return False
        say(title)
        work()
        jax.clear_caches()
    return True
