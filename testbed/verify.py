"""python -m testbed.verify --run NAME: is every file of a run as it was written, and if not, what to do."""

from testbed.launch import Command, launch_command
from testbed.settings import VerifySettings

main = Command("verify", __doc__, VerifySettings, "testbed.commands.verify:verify")

if __name__ == "__main__":
    launch_command(main)
