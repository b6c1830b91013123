"""Start a command with settings that must be there before the process begins: allocator and encoding."""

import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from types import FrameType
from typing import Any

from testbed.waiting import tell_waits

# XLA on a CPU allocates and frees large buffers all the time; returning them to the system at once
# costs a third of the training speed.
INTERRUPTED = 130
TUNABLES = (
    "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296"
)


def launch_command(main: Callable[[], int]) -> None:
    """Run `main` as a command: once more from the start under these settings where they are not there."""
    asks_for_help = not {"-h", "--help"}.isdisjoint(sys.argv)
    environment = {}
    if sys.platform == "linux" and "GLIBC_TUNABLES" not in os.environ and not asks_for_help:
        environment["GLIBC_TUNABLES"] = TUNABLES
    # Names of files and people are UTF-8, whatever the locale says: under an ASCII one some open no file.
    if sys.getfilesystemencoding() != "utf-8":
        environment["PYTHONUTF8"] = "1"
    if environment:
        os.environ.update(environment)
        os.execv(sys.executable, sys.orig_argv)
    signal.signal(signal.SIGINT, _handle_interrupt)
    tell_waits()
    code = main()
    if code == INTERRUPTED:
        # Threads of libraries that are still at work would have their say.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def load_function(place: str) -> Callable[[Any], None]:
    """What "module:function" names, such as the work of a command."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _handle_interrupt(_: int, frame: FrameType | None) -> None:
    """Ctrl-C. While a library is loaded nothing is at stake, and some abort when that is broken off."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt
