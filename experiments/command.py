"""The command line of every module here that measures something: its docstring and what it can be asked.

That is its `STUDY` (`experiments.study`), or its `Settings`, with which `run_study` is called. It ends in

    if __name__ == "__main__":
        launch_module()
"""

import sys
from collections.abc import Sequence
from functools import partial
from types import ModuleType
from typing import Any

from experiments.study import RESUMES, Study, name_of_module, run_study
from testbed.launch import launch_command, run_command


def run_module(module: ModuleType, args: Sequence[str] | None = None) -> int:
    """Run a module on a command line, that of this process unless `args` are given; returns the exit code."""
    name = f"experiments.{name_of_module(module)}"
    about = module.__doc__ or ""
    if "STUDY" not in vars(module):
        about += getattr(module.Settings, "RESUMES", "")
        return run_command(name, about, module.Settings, module.run_study, args)
    study: Study = module.STUDY
    body = partial(run_study, name_of_module(module), study)
    default: Any = lambda: study.options  # noqa: E731
    return run_command(name, about + RESUMES, default, body, args)


def launch_module() -> None:
    """Run the module that this process was started with, `python -m experiments.NAME`."""
    launch_command(partial(run_module, sys.modules["__main__"]))
