"""The command line of every module here that measures something: its docstring and what it can be asked.

That is its `STUDY` (`experiments.study`), or its `Settings`, with which `run_study` is called. It ends in

    if __name__ == "__main__":
        launch_module()
"""

import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any

from testbed.launch import asks_for_help, launch_command, prepare_process, run_command


def begin_command(name: str) -> None:
    """What `python -m NAME` does before NAME is loaded: it begins its process, or shows help and exits."""
    prepare_process()
    if asks_for_help() and find_spec(name):
        launch_command(partial(run_module, import_options(name)))


def import_options(name: str) -> ModuleType:
    """A module of this package of which only the docstring and the options are of use.

    Whatever it imports from elsewhere, and that the command line has not loaded, is a placeholder: to load
    JAX and what goes with it takes seconds, and help shows none of it.
    """
    real = {*sys.stdlib_module_names, "experiments", *sys.modules} - {"bayes", "corpus", "lm", "testbed"}
    loader: Any = SimpleNamespace(create_module=lambda _: _Placeholder(), exec_module=lambda _: None)

    def stand_in(other: str, *_: Any) -> ModuleSpec | None:
        return None if other.partition(".")[0] in real else ModuleSpec(other, loader, is_package=True)

    finder: Any = SimpleNamespace(find_spec=stand_in)
    sys.meta_path.insert(0, finder)
    try:
        return import_module(name)
    finally:
        sys.meta_path.remove(finder)
        for other, module in [*sys.modules.items()]:
            if isinstance(module, _Placeholder):
                del sys.modules[other]


class _Placeholder:
    """A module that is not loaded, and whatever is taken from it, called, or done with it."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    __getattr__ = __getitem__ = __or__ = __ror__ = __call__
    __iter__, __mro_entries__ = lambda _: iter(()), lambda *_: ()


def run_module(module: ModuleType, args: Sequence[str] | None = None) -> int:
    """Run a module on a command line, that of this process unless `args` are given; returns the exit code."""
    name = f"experiments.{name_of_module(module)}"
    about = module.__doc__ or ""
    if "STUDY" not in vars(module):
        about += getattr(module.Settings, "RESUMES", "")
        return run_command(name, about, module.Settings, module.run_study, args)
    # Loaded by whoever has a study. With it come libraries that no other command needs.
    from experiments.study import RESUMES, run_study

    body = partial(run_study, name_of_module(module), module.STUDY)
    default: Any = lambda: module.STUDY.options  # noqa: E731
    return run_command(name, about + RESUMES, default, body, args)


def name_of_module(module: ModuleType) -> str:
    """Its own name without its room's, also of the one that this process was started with."""
    assert module.__spec__ is not None, "it was imported or started by its name"
    return module.__spec__.name.rpartition(".")[2]


def launch_module() -> None:
    """Run the module that this process was started with, `python -m experiments.NAME`."""
    launch_command(partial(run_module, sys.modules["__main__"]))
