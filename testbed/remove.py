"""python -m testbed.remove [EDITOR...]: remove a run, or edits of it, after a question."""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.settings import RemoveSettings


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("remove", __doc__ or "", RemoveSettings, "testbed.commands.remove:remove", args)


if __name__ == "__main__":
    launch_command(main)
