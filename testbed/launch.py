"""Start a command with an allocator setting that must be there before the process begins."""

import os
import sys
from collections.abc import Callable

# XLA on a CPU allocates and frees large buffers all the time; returning them to the system at once
# costs a third of the training speed.
TUNABLES = (
    "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296"
)


def launch(main: Callable[[], int]) -> None:
    """Run `main` as a command: once more from the start under the setting above where that applies."""
    asks_for_help = not {"-h", "--help"}.isdisjoint(sys.argv)
    if sys.platform == "linux" and "GLIBC_TUNABLES" not in os.environ and not asks_for_help:
        os.environ["GLIBC_TUNABLES"] = TUNABLES
        os.execv(sys.executable, sys.orig_argv)
    sys.exit(main())
