"""A user's own classes, named on a command line as my_module:MyClass. Nothing that data names is imported."""

import difflib
import importlib
import re
import sys
import traceback
from collections.abc import Sequence
from dataclasses import is_dataclass
from inspect import isclass, isfunction, signature
from pathlib import Path
from typing import Any

from corpus.errors import InputError
from testbed.run.watch import AT_IMPORT, watch_files

ISOLATED = "isolated:"
"""Before an editor that is to work in a process of its own."""
OWN = re.compile(rf"(?:{ISOLATED})?(?:[^\W\d]\w*\.)*[^\W\d]\w*:[^\W\d]\w*")
OURS = ("corpus", "bayes", "lm", "testbed")
"""Packages of this project; whatever else is named is a user's own."""
_WORDS = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def plain_name(name: str) -> str:
    """A name as part of a path; my_module:MyEditor has a colon."""
    return name.replace(":", ".")


def look_in_working_folder() -> None:
    """Let modules of the user's be found where the command was typed."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def find_own(name: str, what: str) -> Any:
    """Whatever has that name, found from the working folder too; None where its module has no such name.

    Args:
        what: it should be, in words.

    Raises:
        InputError: no such module, or none that can be imported.
    """
    if not OWN.fullmatch(name):
        raise InputError(f"unknown {what} {name!r}; your own is named my_module:MyClass")
    module, _, attribute = name.partition(":")
    look_in_working_folder()
    try:
        with watch_files() as touched:
            found = getattr(importlib.import_module(module), attribute, None)
        AT_IMPORT.setdefault(module, touched.read)
        return found
    except ModuleNotFoundError as error:
        raise InputError(f"{what} {name!r}: {error}") from None
    except SyntaxError as error:
        raise InputError(f"{what} {name!r}: {error.msg} ({error.filename}, line {error.lineno})") from None
    except (Exception, SystemExit) as error:
        # Whatever its code does wrong, the place in it is what its author needs.
        steps = traceback.extract_tb(error.__traceback__)
        its = [step for step in steps if Path(step.filename).stem == module.rpartition(".")[2]]
        where = f"{[*steps, *its][-1].filename}, line {[*steps, *its][-1].lineno}"
        raise InputError(f"{what} {name!r}: {type(error).__name__}: {error} ({where})") from error


def import_own(name: str, what: str, needs: Sequence[str], forms: str = "") -> tuple[type, Any]:
    """The class of that name, found from the working folder too, and one of it with its defaults.

    Args:
        what: it should be, in words.
        needs: methods it must have; forms: how it is written, in words.

    Raises:
        InputError: no such module or class, or none that can be made without arguments and hashed.
    """
    own_class = find_own(name, what)
    module, _, attribute = name.partition(":")
    if not (isinstance(own_class, type) and all(hasattr(own_class, need) for need in needs)):
        forms = forms or f"it should be a class with {' and '.join(needs)}"
        raise InputError(f"{what} {name!r}: {_describe_found(module, attribute, own_class)}; {forms}")
    needed = "it should be a frozen dataclass with defaults"
    # What is not a dataclass has no settings to be filed under, and what is not frozen may change them.
    if not (is_dataclass(own_class) and own_class.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        raise InputError(f"{what} {name!r}: {needed}; write @dataclass(frozen=True) before class {attribute}")
    try:
        one = own_class()
        hash(one)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} {name!r} ({error}): {needed}") from None
    return own_class, one


def _describe_found(module: str, attribute: str, found: Any) -> str:
    """What a module has under a name, with its signature; or what else it has, where that is nothing."""
    if isinstance(found, type):
        methods = [f"{key}{signature(value)}" for key, value in vars(found).items() if isfunction(value)]
        return f"class {attribute} has {', '.join(methods) or 'no method'}"
    if isfunction(found):
        return f"there is {attribute}{signature(found)}"
    own = [
        f"{'class' if isclass(value) else 'function'} {key}"
        for key, value in vars(sys.modules[module]).items()
        if (isclass(value) or isfunction(value)) and value.__module__ == module
    ]
    near = difflib.get_close_matches(attribute, [one.partition(" ")[2] for one in own], 1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    return f"{module} has no class {attribute}{meant}; it has {', '.join(own) or 'no class and no function'}"


def option_prefix(name: str) -> str:
    """What options of my_module:MyClass begin with: my-class."""
    return _WORDS.sub("-", name.partition(":")[2]).strip("-").lower()
