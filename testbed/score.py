"""python -m testbed.score ANSWERS --name NAME: score edits that were made elsewhere, by door.py."""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.presets import SCORE


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("score", __doc__ or "", SCORE, "testbed.commands.score:score", args)


if __name__ == "__main__":
    launch_command(main)
