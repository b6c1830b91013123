"""python -m testbed.verify --run NAME: is every file of a run as it was written, and if not, what to do."""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.settings import VerifySettings


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("verify", __doc__ or "", VerifySettings, "testbed.commands.verify:verify", args)


if __name__ == "__main__":
    launch_command(main)
