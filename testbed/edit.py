"""python -m testbed.edit [tiny|laptop|small|paper] EDITOR...: edit facts in the model, score every edit."""

from testbed.launch import Command, launch_command
from testbed.presets import EDIT

main = Command("edit", __doc__, EDIT, "testbed.commands.edit:edit")

if __name__ == "__main__":
    launch_command(main)
