"""python -m testbed.tune [tiny|laptop|small|paper] EDITOR...: choose hyper-parameters in their own world."""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.presets import TUNE


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("tune", __doc__ or "", TUNE, "testbed.commands.tune:tune", args)


if __name__ == "__main__":
    launch_command(main)
