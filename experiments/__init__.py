"""What measures the published numbers; `experiments.NAME` finds NAME in whichever room it is.

examples is what users copy; studies are models and edits as data, a record each; analyses measure without
edits by the testbed; measures is what they compute; benchmarks has speed, memory and growth; records holds
their dated results.
"""

from pathlib import Path

ROOMS = ("examples", "studies", "analyses", "measures", "benchmarks")
__path__ += [str(Path(__file__).parent / room) for room in ROOMS]
