"""What a command does while it says nothing, told on standard error once that has taken some seconds.

Only commands that were begun as such tell it (`testbed.launch`). Where a bar moves it stands beside that.
"""

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

AT_FIRST, PATIENCE = 0.5, 5.0
"""Seconds of silence before the first line, and before others; twice as many whenever one comes again."""
_LOOKS = 0.1


@dataclass
class Work:
    """What is done, as a part of what, and since when; since when nothing was said; and what shows it."""

    what: str = ""
    within: str = ""
    since: float = 0.0
    heard: float = 0.0
    show: Callable[[str], None] | None = None


work = Work()


def doing(what: str) -> None:
    """From now on a command does this; with no words, something that tells of itself."""
    work.what, work.since = what, time.monotonic()
    if work.show:
        work.show(what)


def was_heard() -> None:
    """Something was said just now."""
    work.heard = time.monotonic()


def tell_waits() -> threading.Event:
    """Begin to watch, in a thread that ends with the process, or once what is returned is set."""
    doing("loading libraries")
    was_heard()
    ended = threading.Event()
    threading.Thread(target=_watch, args=(ended,), daemon=True).start()
    return ended


def _watch(ended: threading.Event) -> None:
    told, again = "", AT_FIRST
    while not ended.wait(_LOOKS):
        what, now = work.what, time.monotonic()
        patience = PATIENCE if told and what != told else again
        if what and not work.show and now - work.heard > patience:
            long = f", {now - work.since:.0f} s" if what == told else ""
            told, again = what, 2 * max(patience, PATIENCE)
            was_heard()
            with suppress(OSError, ValueError):
                print(f"{work.within}{what}{long} ...", file=sys.stderr, flush=True)
