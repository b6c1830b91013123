"""python -m testbed.editors: every editor, whose it is, what it costs and what it changes."""

from testbed.launch import Command, launch_command
from testbed.run.settings import RunSettings

main = Command("editors", __doc__, RunSettings, "testbed.commands.editors:list_editors")

if __name__ == "__main__":
    launch_command(main)
