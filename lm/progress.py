"""How far long work has come, told line by line to whoever listens to this package's log."""

import logging
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

Part = TypeVar("Part")
SECONDS_BETWEEN_LINES = 5.0


def tell_progress(what: str, parts: Sequence[Part]) -> Iterator[Part]:
    """The parts of some work, in turn; now and then a line says how many are done, and the time left."""
    log, began = logging.getLogger(__name__), time.perf_counter()
    last = began
    for done, part in enumerate(parts):
        now = time.perf_counter()
        if done and now - last >= SECONDS_BETWEEN_LINES:
            last, left = now, (now - began) / done * (len(parts) - done)
            log.info("%s: %s of %s, about %.0f s left", what, f"{done:,}", f"{len(parts):,}", left)
        yield part
