"""python -m testbed.train [tiny|laptop|small|paper|paper-laptop|...]: train the model on a run's corpus."""

from testbed.launch import Command, launch_command
from testbed.presets import TRAIN

main = Command("train", __doc__, TRAIN, "testbed.commands.train:train")

if __name__ == "__main__":
    launch_command(main)
