"""Every editor by name: the built-in ones, found where they stand, and a user's own as my_module:MyEditor.

Importing this loads no JAX, since all command lines are made from it. Only names given on a command line
are ever imported, never one found in data.
"""

import importlib
import pkgutil
import re
import sys
from collections.abc import Sequence
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus.errors import InputError
from lm.editors.entry import Entry
from testbed.engine.methods import Control, Method, the_request

if TYPE_CHECKING:
    from testbed.run.world import World
    from testbed.settings import EditSettings

FAMILIES = ("lm.editors", "testbed.engine")
"""Packages whose folders may hold editors."""
OWN = re.compile(r"(?:[^\W\d]\w*\.)*[^\W\d]\w*:[^\W\d]\w*")
TAKES_EDITORS = ("--editor", "--editors")
_WORDS = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@cache
def entries() -> dict[str, Entry]:
    """Every editor of this project by name, the controls last."""
    found: dict[str, Entry] = {}
    for package in FAMILIES:
        for folder in pkgutil.iter_modules(importlib.import_module(package).__path__):
            if not folder.ispkg:
                continue
            for entry in getattr(importlib.import_module(f"{package}.{folder.name}"), "EDITORS", ()):
                if entry.name in found:
                    raise ValueError(f"two editors are called {entry.name}")
                found[entry.name] = entry
    return found


def configurations(small: bool = False) -> dict[str, Any]:
    """Hyper-parameters of every editor that has some, by the prefix of their options.

    Args:
        small: what they are for models of two layers.
    """
    own = [e for e in entries().values() if e.config is not None and e.options == e.name]
    return {e.name: e.small if small and e.small is not None else e.config for e in own}


def entry_named(name: str) -> Entry:
    """The editor of that name.

    Raises:
        InputError: no such editor, module or class.
    """
    known = entries()
    if name not in known and ":" not in name:
        raise InputError(f"unknown editor {name!r}; use {', '.join(known)}, or my_module:MyEditor")
    return known.get(name) or _own(name)


def whose_options(name: str) -> Entry:
    """The editor whose hyper-parameters an editor takes: its own, or those of another."""
    entry = entry_named(name)
    return entries().get(entry.options, entry)


def method_named(name: str, settings: "EditSettings", world: "World") -> Method:
    """The method of that name, with its hyper-parameters of `settings.configs`.

    Raises:
        InputError: no such editor, module or class; or an editor that cannot do what is asked.
    """
    entry = entry_named(name)
    config = settings.configs.get(entry.options, entry.config)
    if isinstance(entry, Control):
        return _called(entry.build)(config, settings, world)
    if not entry.build:
        return Method(config, the_request)
    build = _called(entry.build)
    return Method(build() if config is None else build(config), the_request)


def own_configurations(arguments: Sequence[str]) -> dict[str, Any]:
    """Hyper-parameters of the user's own editors that a command line names, by the prefix of their options.

    Raises:
        InputError: an editor is named where only one can be, and is not there; or two have one prefix.
    """
    found: dict[str, Entry] = {}
    words = [part for word in arguments for part in word.split("=", 1)]
    for before, word in zip(["", *words], words, strict=False):
        if not OWN.fullmatch(word):
            continue
        try:
            entry = entry_named(word)
        except InputError:
            if before in TAKES_EDITORS or not before.startswith("--"):
                raise
            continue
        other = found.setdefault(entry.options, entry)
        if other.name != entry.name:
            raise InputError(f"{other.name} and {entry.name} both have options --{entry.options}; rename one")
    return {prefix: entry.config for prefix, entry in found.items() if is_dataclass(entry.config)}


def _called(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _own(name: str) -> Entry:
    """A user's own editor, found from the working folder too: its fields are its hyper-parameters."""
    module, _, attribute = name.partition(":")
    if not OWN.fullmatch(name):
        raise InputError(f"unknown editor {name!r}; your own is named my_module:MyEditor")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        made = getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        raise InputError(f"editor {name!r}: {error}") from None
    except SyntaxError as error:
        raise InputError(f"editor {name!r}: {error.msg} ({error.filename}, line {error.lineno})") from None
    if not (callable(made) and hasattr(made, "prepare") and hasattr(made, "edit")):
        raise InputError(f"editor {name!r}: {module} has no class {attribute} with prepare and edit")
    try:
        editor = made()
        hash(editor)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"editor {name!r} ({error}): it should be a frozen dataclass with defaults"
        ) from None
    prefix = _WORDS.sub("-", attribute).strip("-").lower()
    if prefix in entries():
        prefix = f"{module.replace('.', '-').replace('_', '-')}-{prefix}"
    about = (made.__doc__ or "").strip().partition("\n")[0]
    try:
        return Entry(name, about, "", editor, search=getattr(made, "SEARCH", {}), options=prefix)
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"editor {name!r}: its SEARCH does not fit its fields ({error})") from None
