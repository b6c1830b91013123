"""python -m testbed.editors: every editor, whose it is, what it costs and what it changes."""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.settings import EditorsSettings


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command(
        "editors", __doc__ or "", EditorsSettings, "testbed.commands.editors:list_editors", args
    )


if __name__ == "__main__":
    launch_command(main)
