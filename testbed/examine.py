"""python -m testbed.examine EDITOR...: a scorecard on the frozen suite v1, beside that of known editors.

EDITOR is a name, my_module:MyEditor, or a folder of answers (docs/examine.md). The suite's worlds and models
are made where they are missing. A killed command goes on where it was when it is typed again.
"""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.settings import ExamineSettings


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("examine", __doc__ or "", ExamineSettings, "testbed.commands.examine:examine", args)


if __name__ == "__main__":
    launch_command(main)
