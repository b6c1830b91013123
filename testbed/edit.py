"""python -m testbed.edit [tiny|laptop|small|paper] EDITOR...: edit facts in the model, score every edit."""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.presets import EDIT


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("edit", __doc__ or "", EDIT, "testbed.commands.edit:edit", args)


if __name__ == "__main__":
    launch_command(main)
