"""python -m testbed.ask "Ada Marlow educated at": what model and agent answer, also after an --edit."""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.settings import AskSettings


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("ask", __doc__ or "", AskSettings, "testbed.commands.ask:ask", args)


if __name__ == "__main__":
    launch_command(main)
