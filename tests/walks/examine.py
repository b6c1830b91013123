"""`python -m testbed.examine` with hardly trained models, beside the quickest references.

Worlds, cases and the check of hashes are whole.
"""

import sys
from dataclasses import replace
from typing import Any

from testbed import examine, suite
from testbed.commands import examine as command
from testbed.commands.train import train
from testbed.run.settings import TrainSettings
from testbed.suite import SuiteWorld

STEPS = 20


def train_briefly(settings: TrainSettings) -> None:
    """Train, in few steps."""
    train(replace(settings, train=replace(settings.train, steps=STEPS, warmup=STEPS // 10)))


def list_worlds(*which: Any) -> list[SuiteWorld]:
    """The worlds; of the references, those that read no beliefs of the model first."""
    worlds = suite.list_worlds(*which)
    return [one._replace(edits=replace(one.edits, editors=("none", "lora-down", "rome"))) for one in worlds]


if __name__ == "__main__":
    command.train, command.list_worlds = train_briefly, list_worlds
    sys.exit(examine.main())
