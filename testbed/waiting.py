"""What a command does while it says nothing, told on standard error once that has taken some seconds.

Only commands that were begun as such tell it (`testbed.launch`), and none where a bar moves.
"""

import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

AT_FIRST, PATIENCE = 0.5, 5.0
"""Seconds of silence: until a command tells for the first time, and later."""
_LOOKS = 0.1


@dataclass
class Work:
    """What is done, and since when nothing was said."""

    what: str = ""
    since: float = 0.0


_work = Work()


def doing(what: str) -> None:
    """From now on a command does this; with no words, something that tells of itself."""
    _work.what, _work.since = what, time.monotonic()


def was_heard() -> None:
    """Something was said just now."""
    _work.since = time.monotonic()


def tell_waits() -> threading.Event:
    """Begin to watch, in a thread that ends with the process, or once what is returned is set."""
    doing("loading libraries")
    ended = threading.Event()
    threading.Thread(target=_watch, args=(ended,), daemon=True).start()
    return ended


def _watch(ended: threading.Event) -> None:
    told = None
    while not ended.wait(_LOOKS):
        what, patience = _work.what, PATIENCE if told else AT_FIRST
        if what and what != told and time.monotonic() - _work.since > patience:
            told = what
            with suppress(OSError, ValueError):
                print(f"{what} ...", file=sys.stderr, flush=True)
