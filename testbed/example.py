"""python -m testbed.example [my_editor|my_evaluation]: copy an example of your own editor or evaluation."""

from testbed.launch import Command, launch_command
from testbed.settings import ExampleSettings

main = Command("example", __doc__, ExampleSettings, "testbed.commands.example:copy_example")

if __name__ == "__main__":
    launch_command(main)
