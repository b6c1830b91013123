"""python -m testbed.report: editors beside each other, in pictures, tables and one HTML page."""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.settings import ReportSettings


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("report", __doc__ or "", ReportSettings, "testbed.commands.report:report", args)


if __name__ == "__main__":
    launch_command(main)
