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

from testbed.launch import launch_command, prepare_process, run_command


def begin_command(name: str) -> None:
    """Begin the process of `python -m NAME` before NAME is loaded; show help and exit, if that is wanted.

    Help needs docstring and options. So what NAME imports from outside this package, and the command line
    has not loaded, is then a placeholder: JAX and what goes with it take seconds. Without --help everything
    is loaded, and errors of importing show. Tests compare each help with that of the module loaded whole.
    """
    if not prepare_process() or not find_spec(name):
        return
    real = {*sys.stdlib_module_names, "experiments", *sys.modules} - {"bayes", "corpus", "lm", "testbed"}
    stand_in: Any = SimpleNamespace(create_module=lambda _: _Placeholder(), exec_module=lambda _: None)
    stand_in.find_spec = lambda other, *_: (
        None if other.partition(".")[0] in real else ModuleSpec(other, stand_in, is_package=True)
    )
    sys.meta_path.insert(0, stand_in)
    module = import_module(name)
    sys.meta_path.remove(stand_in)
    for other in [key for key, one in sys.modules.items() if isinstance(one, _Placeholder)]:
        del sys.modules[other]
    launch_command(partial(run_module, module))


class _Placeholder:
    """A module that is not loaded, and whatever is taken from it, called, or computed with it."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    __getattr__ = __getitem__ = __or__ = __ror__ = __add__ = __truediv__ = __neg__ = __call__
    __iter__, __mro_entries__ = lambda _: iter(()), lambda *_: ()


def run_module(module: ModuleType, args: Sequence[str] | None = None) -> int:
    """Run a module on a command line, that of this process unless `args` are given; returns the exit code."""
    name = f"experiments.{name_of_module(module)}"
    about = module.__doc__ or ""
    if "STUDY" not in vars(module):
        about += getattr(module.Settings, "RESUMES", "")
        return run_command(name, about, module.Settings, module.run_study, args)
    # With it come libraries that other commands do without; whoever has a study has loaded it.
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
