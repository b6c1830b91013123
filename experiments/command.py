"""The command line of every module here that measures something: its docstring, `Settings` and `run_study`.

Such a module ends in

    if __name__ == "__main__":
        launch_module()
"""

import sys
from collections.abc import Sequence
from functools import partial
from types import ModuleType

from testbed.launch import launch_command, run_command


def run_module(module: ModuleType, args: Sequence[str] | None = None) -> int:
    """Run a module on a command line, that of this process unless `args` are given; returns the exit code."""
    name = f"experiments.{name_of_module(module)}"
    about = (module.__doc__ or "") + getattr(module.Settings, "RESUMES", "")
    return run_command(name, about, module.Settings, module.run_study, args)


def name_of_module(module: ModuleType) -> str:
    """Its own name without its room's, also of the one that this process was started with."""
    assert module.__spec__ is not None, "it was imported or started by its name"
    return module.__spec__.name.rpartition(".")[2]


def launch_module() -> None:
    """Run the module that this process was started with, `python -m experiments.NAME`."""
    launch_command(partial(run_module, sys.modules["__main__"]))
