"""python -m testbed.battery [my_world:MyWorld my_world:MyAgent]: is an agent rational in its world?"""

from collections.abc import Sequence

from testbed.launch import launch_command, run_command
from testbed.settings import BatterySettings


def main(args: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_command("battery", __doc__ or "", BatterySettings, "testbed.commands.battery:try_agent", args)


if __name__ == "__main__":
    launch_command(main)
