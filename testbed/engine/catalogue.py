"""Every editor by name: the built-in ones, found where they stand, and a user's own as my_module:MyEditor.

Importing this loads no JAX, since all command lines are made from it. Only names given on a command line
are ever imported, never one found in data.
"""

import difflib
import importlib
import pkgutil
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from inspect import isfunction, signature
from typing import Any

from corpus.errors import InputError
from lm.editors.entry import Entry
from testbed.engine.methods import Control
from testbed.own import ISOLATED, find_own, import_own, option_prefix

FAMILIES = ("lm.editors", "testbed.engine")
"""Packages whose folders may hold editors."""
FORMS = (
    "an editor in PyTorch is a function edit(model, tokenizer, request), or a class with that method; one in "
    "JAX is a class with prepare(model, corpus_sample) and edit(model, state, request, key)"
)


@cache
def editor_entries() -> dict[str, Entry]:
    """Every editor of this project by name, the controls last."""
    editors: dict[str, Entry] = {}
    for package in FAMILIES:
        for folder in pkgutil.iter_modules(importlib.import_module(package).__path__):
            if not folder.ispkg:
                continue
            for entry in getattr(importlib.import_module(f"{package}.{folder.name}"), "EDITORS", ()):
                if entry.name in editors:
                    raise ValueError(f"two editors are called {entry.name}")
                editors[entry.name] = entry
    return editors


def find_namesake(name: str) -> str:
    """The editor of this project that people may take a name for, as Iora-d0wn for lora-down; "" for none."""
    return next((known for known in editor_entries() if _outline_name(known) == _outline_name(name)), "")


def _outline_name(name: str) -> str:
    """A name without dashes and the like, with one letter for those that look alike."""
    return name.lower().replace("rn", "m").replace("vv", "w").translate(str.maketrans("01i5", "olls", "-_.:"))


def default_configurations(small: bool = False) -> dict[str, Any]:
    """Hyper-parameters of every editor that has some, by the prefix of their options.

    Args:
        small: what they are for models of two layers.
    """
    entries = [e for e in editor_entries().values() if e.config is not None and e.options == e.name]
    return {e.name: e.small if small and e.small is not None else e.config for e in entries}


def entry_named(name: str) -> Entry:
    """The editor of that name.

    Raises:
        InputError: no such editor, module or class.
    """
    known = editor_entries()
    if name not in known and ":" not in name:
        near = difflib.get_close_matches(name, known, 1)
        meant = f"did you mean {near[0]}? " if near else ""
        how = "python -m testbed.editors lists all, yours is my_module:MyEditor"
        raise InputError(f"unknown editor {name!r}; {meant}{how}")
    return known.get(name) or _own_entry(name)


def whose_options(name: str) -> Entry:
    """The editor whose hyper-parameters an editor takes: its own, or those of another."""
    entry = entry_named(name)
    return editor_entries().get(entry.options, entry)


def edits_torch_models(thing: Any) -> bool:
    """Whether it is edit(model, tokenizer, request), or a class with such a method."""
    edit = getattr(thing, "edit", None) if isinstance(thing, type) else thing
    if not isfunction(edit):
        return False
    names = [name for name in signature(edit).parameters if name != "self"]
    return names == ["model", "tokenizer", "request"]


def _own_entry(name: str) -> Entry:
    """A user's own editor: its fields are its hyper-parameters. In PyTorch it works in another process."""
    if name.count(":") > 1 or edits_torch_models(find_own(name, "editor")):
        return _isolated_entry(name)
    kind, editor = import_own(name, "editor", ("prepare", "edit"), FORMS)
    about = (kind.__doc__ or "").strip().partition("\n")[0]
    options = _own_options(name, kind.__module__)
    with _search_attributed_to(name):
        return Entry(name, about, "", editor, search=getattr(kind, "SEARCH", {}), options=options)


def _isolated_entry(name: str) -> Entry:
    """isolated:my_module:MyEditor, which only a process of its own imports, or one in PyTorch."""
    from testbed.engine.isolation import BUILD, describe_isolated

    own_name = name.removeprefix(ISOLATED)
    settings, said = describe_isolated(own_name)
    options = _own_options(own_name, type(settings).__module__)
    search = {field: tuple(choices) for field, choices in said["search"].items()}
    with _search_attributed_to(name):
        return Control(name, said["about"], BUILD, settings, search=search, options=options)


def _own_options(name: str, module: str) -> str:
    """What the options of a user's editor begin with: no name of this project's."""
    options = option_prefix(name)
    return f"{re.sub('[._]+', '-', module)}-{options}" if options in editor_entries() else options


@contextmanager
def _search_attributed_to(name: str) -> Iterator[None]:
    try:
        yield
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"editor {name!r}: its SEARCH does not fit its fields ({error})") from None
