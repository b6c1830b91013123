"""python -m testbed.export [tiny|laptop|small|paper]: the trained model as Hugging Face's libraries open it.

With --cases, what is asked of its edits too, for editors of any framework. With --gold, the agent's beliefs.
"""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.presets import EXPORT


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("export", __doc__ or "", EXPORT, "testbed.commands.export:export", args)


if __name__ == "__main__":
    launch_command(main)
