"""python -m testbed.corpus [tiny|laptop|small|taxi|seesaw|leme|types|...]: a world and its corpus."""

from testbed.launch import Command, launch_command
from testbed.presets import CORPUS

main = Command("corpus", __doc__, CORPUS, "testbed.commands.corpus:build_corpus")

if __name__ == "__main__":
    launch_command(main)
