"""python -m testbed.train [tiny|laptop|small|paper|paper-laptop|...]: train the model on a run's corpus."""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.presets import TRAIN


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("train", __doc__ or "", TRAIN, "testbed.commands.train:train", args)


if __name__ == "__main__":
    launch_command(main)
