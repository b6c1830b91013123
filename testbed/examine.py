"""python -m testbed.examine EDITOR...: a scorecard on the frozen suite v1, beside that of known editors.

EDITOR is a name, my_module:MyEditor, or a folder of answers (docs/examine.md). The suite's worlds and models
are made where they are missing. A killed command goes on where it was when it is typed again.
"""

from testbed.launch import Command, launch_command
from testbed.settings import ExamineSettings

main = Command("examine", __doc__, ExamineSettings, "testbed.commands.examine:examine")

if __name__ == "__main__":
    launch_command(main)
