"""python -m testbed.demo [tiny|laptop|small|paper]: everything, from nothing to a report."""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.settings import DemoSettings


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("demo", __doc__ or "", DemoSettings, "testbed.commands.demo:demo", args)


if __name__ == "__main__":
    launch_command(main)
