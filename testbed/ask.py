"""python -m testbed.ask "Ada Marlow educated at": what model and agent answer, also after an --edit."""

from testbed.launch import Command, launch_command
from testbed.settings import AskSettings

main = Command("ask", __doc__, AskSettings, "testbed.commands.ask:ask")

if __name__ == "__main__":
    launch_command(main)
