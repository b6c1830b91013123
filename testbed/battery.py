"""python -m testbed.battery [my_world:MyWorld my_world:MyAgent]: is an agent rational in its world?"""

from testbed.launch import Command, launch_command
from testbed.settings import BatterySettings

main = Command("battery", __doc__, BatterySettings, "testbed.commands.battery:try_agent")

if __name__ == "__main__":
    launch_command(main)
