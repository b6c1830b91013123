"""What measures the published numbers; `experiments.NAME` finds NAME in whichever room it is.

examples is what users copy, studies has a module for each record, benchmarks has speed, memory and growth;
records holds their dated results.
"""

from pathlib import Path

__path__ += [str(Path(__file__).parent / room) for room in ("examples", "studies", "benchmarks")]
