"""Run a command that kills itself when a file or folder gets its name, so always at the same moment.

    python -m tests.dying MOMENT NAME MODULE [ARGUMENT ...]

MOMENT    "before" it is renamed, while its content stands whole under another name, or "after"
NAME      of the file or folder
MODULE    of the command, with its arguments
"""

import os
import runpy
import signal
import sys
from pathlib import Path


def main(moment, name, *command):
    replace = os.replace

    def dying(source, target):
        last = Path(target).name == name
        if not last or moment == "after":
            replace(source, target)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)

    os.replace = dying
    sys.argv = list(command)
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
