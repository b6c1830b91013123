"""python -m testbed.score ANSWERS --name NAME: score edits that were made elsewhere, by door.py."""

from testbed.launch import Command, launch_command
from testbed.presets import SCORE

main = Command("score", __doc__, SCORE, "testbed.commands.score:score")

if __name__ == "__main__":
    launch_command(main)
