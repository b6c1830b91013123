"""The commands, the test cases, the metrics and the reports."""

import signal
import sys
from importlib.util import find_spec

words = iter(sys.orig_argv)
if "-m" in words and next(words, "").partition(".")[0] == __name__:
    # As a command: an interrupt ends it without a traceback even while its modules are still being loaded.
    # The console takes interrupts over as soon as there is work that they could hurt.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if find_spec("tyro") is None:
        sys.exit(
            f"error: {sys.executable} has none of the packages that this project needs; run make "
            f".venv/.ready, which installs them, and then .venv/bin/python in place of {sys.executable}"
        )
