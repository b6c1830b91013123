"""python -m testbed.export [tiny|laptop|small|paper]: the trained model as Hugging Face's libraries open it.

With --edit "S R = O" EDITOR, the model after that edit. With --cases, what is asked of its edits too, for
editors of any framework. With --gold, the agent's beliefs.
"""

from testbed.launch import Command, launch_command
from testbed.presets import EXPORT

main = Command("export", __doc__, EXPORT, "testbed.commands.export:export")

if __name__ == "__main__":
    launch_command(main)
