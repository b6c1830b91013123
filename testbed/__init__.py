"""The commands, the test cases, the metrics and the reports.

From Python: `testbed.open(FOLDER)` is a run, `testbed.runs()` lists runs, `testbed.editors()` editors. (The
command of that last name is a module, which takes its place once somebody imports it.)
"""

import signal
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from testbed.grid import Grid
    from testbed.open_run import OpenRun

words = iter(sys.orig_argv)
if "-m" in words and next(words, "").partition(".")[0] == __name__:
    # As a command: an interrupt ends it without a traceback even while its modules are still being loaded.
    # The console takes interrupts over as soon as there is work that they could hurt.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if find_spec("tyro") is None:
        sys.exit(
            f"error: {sys.executable} has none of the packages that this project needs; run make "
            f".venv/.ready, which installs them, and then .venv/bin/python in place of {sys.executable}"
        )


def open(
    folder: str | Path = "runs/demo", agent: str | None = None, checkpoint: Literal["last", "best"] = "last"
) -> "OpenRun":
    """The run in a folder, to be asked, edited and measured (`testbed.open_run`).

    Args:
        agent: who answers beside the model: paper, exact or my_module:MyAgent; by default that of the run's
            preset.
        checkpoint: which model: as training ended, or where it was most accurate.

    Raises:
        InputError: there is no run.
    """
    # By its name: the identity of results follows imports, and would come to hold every command.
    return import_module("testbed.open_run").open_run(folder, agent, checkpoint)


def runs(folder: str | Path = "runs") -> "Grid":
    """The runs of a folder, and how far each is."""
    return import_module("testbed.open_run").list_runs(Path(folder))


def editors(run: str | Path = "runs/demo") -> "Grid":
    """Every editor: whose it is, what it changes, and what an edit by it has cost in a run."""
    return import_module("testbed.open_run").list_editors(Path(run))
