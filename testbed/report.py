"""python -m testbed.report: editors beside each other, in pictures, tables and one HTML page."""

from testbed.launch import Command, launch_command
from testbed.settings import ReportSettings

main = Command("report", __doc__, ReportSettings, "testbed.commands.report:report")

if __name__ == "__main__":
    launch_command(main)
