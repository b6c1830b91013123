"""python -m testbed.tune [tiny|laptop|small|paper] EDITOR...: choose hyper-parameters in their own world."""

from testbed.launch import Command, launch_command
from testbed.presets import TUNE

main = Command("tune", __doc__, TUNE, "testbed.commands.tune:tune")

if __name__ == "__main__":
    launch_command(main)
