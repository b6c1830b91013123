"""python -m testbed.corpus [tiny|laptop|small|taxi|seesaw|leme|types|...]: a world and its corpus."""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.presets import CORPUS


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("corpus", __doc__ or "", CORPUS, "testbed.commands.corpus:build_corpus", args)


if __name__ == "__main__":
    launch_command(main)
