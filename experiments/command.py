"""The command line of every module here that measures something: its docstring, `Settings` and `run_study`.

Such a module ends in

    if __name__ == "__main__":
        launch_module()
"""

import sys
from collections.abc import Sequence
from functools import partial
from types import ModuleType

from testbed.console import run_command
from testbed.launch import launch_command


def run_module(module: ModuleType, args: Sequence[str] | None = None) -> int:
    """Run a module on a command line, that of this process unless `args` are given; returns the exit code."""
    assert module.__spec__ is not None, "it was started by its name"
    name = "experiments." + module.__spec__.name.rpartition(".")[2]
    return run_command(name, module.__doc__ or "", module.Settings, module.run_study, args)


def launch_module() -> None:
    """Run the module that this process was started with, `python -m experiments.NAME`."""
    launch_command(partial(run_module, sys.modules["__main__"]))
