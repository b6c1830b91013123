"""Write the hashes of the frozen suite: its worlds, corpora, cases and settings, and the weights made here.

Command:
    python -m experiments.freeze_suite

Run once for a suite. Its worlds and models are made where they are missing. Hashes that stand there already
are held against those made here, and never replaced.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus.files import read_json, write_json
from experiments.command import launch_module
from testbed.commands.examine import prepare_world
from testbed.run.runs import provenance
from testbed.run.runtime import describe_device
from testbed.suite import HASHES, SUITE, list_worlds


@dataclass(frozen=True)
class Settings:
    """Where the worlds are made."""

    runs: Path = Path("runs")
    """Folder of all runs."""


def run_study(settings: Settings) -> None:
    """Make every world, and write or check its hashes."""
    frozen: dict[str, Any] = read_json(HASHES) if HASHES.exists() else {"suite": SUITE, "worlds": {}}
    known = frozen["worlds"]
    made_with = provenance()  # before the file of hashes, which is committed, changes
    for world in (*list_worlds(settings.runs), *list_worlds(settings.runs, quick=True)):
        _, digests = prepare_world(world, known.get(world.name))
        made_here = digests | {"device": describe_device(), "made_with": made_with}
        known[world.name] = made_here | known.get(world.name, {})
        write_json(HASHES, frozen | {"worlds": known})


if __name__ == "__main__":
    launch_module()
