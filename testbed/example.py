"""python -m testbed.example [my_editor|my_evaluation]: copy an example of your own editor or evaluation."""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.settings import ExampleSettings


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command(
        "example", __doc__ or "", ExampleSettings, "testbed.commands.example:copy_example", args
    )


if __name__ == "__main__":
    launch_command(main)
