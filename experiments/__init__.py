"""What measures the published numbers; `experiments.NAME` finds NAME in whichever room it is.

examples is what users copy; studies are models and edits as data, a record each; analyses measure without
edits by the testbed; measures is what they compute; benchmarks has speed, memory and growth; records holds
their dated results.
"""

import sys
from importlib import import_module
from pathlib import Path

ROOMS = ("examples", "studies", "analyses", "measures", "benchmarks")
__path__ += [str(Path(__file__).parent / room) for room in ROOMS]

words = iter(sys.orig_argv)
if "-m" in words and (name := next(words, "")).startswith(f"{__name__}."):
    import_module("experiments.command").begin_command(name)
