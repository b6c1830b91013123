"""python -m testbed.demo [tiny|laptop|small|paper]: everything, from nothing to a report."""

from testbed.launch import Command, launch_command
from testbed.settings import DemoSettings

main = Command("demo", __doc__, DemoSettings, "testbed.commands.demo:demo")

if __name__ == "__main__":
    launch_command(main)
