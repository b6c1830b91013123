"""`python -m testbed.examine` with hardly trained models.

Worlds, cases and the check of hashes are whole.
"""

import sys
from dataclasses import replace

from testbed import examine
from testbed.commands import examine as command
from testbed.commands.train import train
from testbed.run.settings import TrainSettings

STEPS = 20


def train_briefly(settings: TrainSettings) -> None:
    """Train, in few steps."""
    train(replace(settings, train=replace(settings.train, steps=STEPS, warmup=STEPS // 10)))


if __name__ == "__main__":
    command.train = train_briefly
    sys.exit(examine.main())
