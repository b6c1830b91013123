"""python -m testbed.remove [EDITOR...]: remove a run, or edits of it, after a question."""

from testbed.launch import Command, launch_command
from testbed.settings import RemoveSettings

main = Command("remove", __doc__, RemoveSettings, "testbed.commands.remove:remove")

if __name__ == "__main__":
    launch_command(main)
