"""Every editor by name: the built-in ones, found where they stand, and a user's own as my_module:MyEditor.

Importing this loads no JAX, since all command lines are made from it. Only names given on a command line
are ever imported, never one found in data.
"""

import difflib
import importlib
import pkgutil
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from inspect import isfunction, signature
from itertools import pairwise
from typing import Any

from corpus.errors import InputError
from lm.editors.entry import Entry
from testbed.engine.methods import Control
from testbed.own import ISOLATED, OWN, find_own, import_own, option_prefix

FAMILIES = ("lm.editors", "testbed.engine")
"""Packages whose folders may hold editors."""
FORMS = (
    "an editor in PyTorch is a function edit(model, tokenizer, request), or a class with that method; one in "
    "JAX is a class with prepare(model, corpus_sample) and edit(model, state, request, key)"
)
TAKES_EDITORS = ("--editor", "--editors")


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


def own_configurations(arguments: Sequence[str]) -> dict[str, Any]:
    """Hyper-parameters of the user's own editors that a command line names, by the prefix of their options.

    Raises:
        InputError: an editor is named where only one can be, and is not there; or two have one prefix.
    """
    editors: dict[str, Entry] = {}
    words = _split_words(arguments)
    for before, word in zip(["", *words], words, strict=False):
        if not OWN.fullmatch(word):
            continue
        try:
            entry = entry_named(word)
        except InputError:
            if before in TAKES_EDITORS or not before.startswith("--"):
                raise
            continue
        other = editors.setdefault(entry.options, entry)
        if other.name != entry.name:
            raise InputError(f"{other.name} and {entry.name} both have options --{entry.options}; rename one")
    configs = {options: entry.config for options, entry in editors.items()}
    return {options: config for options, config in configs.items() if is_dataclass(config) and fields(config)}


def configs_of_one(configs: dict[str, Any], arguments: Sequence[str], editor: str) -> dict[str, Any]:
    """The hyper-parameters of the one editor that a command line names by --editor; `editor` without."""
    words = _split_words(arguments)
    editors = [word for before, word in pairwise(words) if before == "--editor"]
    try:
        options = whose_options([editor, *editors][-1]).options
    except InputError:
        # Whoever makes the editor says so.
        return configs
    return {key: config for key, config in configs.items() if key == options}


def configs_of_named(
    configs: dict[str, Any], arguments: Sequence[str], editors: Sequence[str]
) -> dict[str, Any]:
    """The hyper-parameters of the editors that stand on a command line; of `editors` where none does."""
    names = [word for word in arguments if word in editor_entries() or OWN.fullmatch(word)]
    options_shown = {whose_options(name).options for name in names or editors}
    return {key: config for key, config in configs.items() if key in options_shown}


def edits_torch_models(thing: Any) -> bool:
    """Whether it is edit(model, tokenizer, request), or a class with such a method."""
    edit = getattr(thing, "edit", None) if isinstance(thing, type) else thing
    if not isfunction(edit):
        return False
    names = [name for name in signature(edit).parameters if name != "self"]
    return names == ["model", "tokenizer", "request"]


def _split_words(arguments: Sequence[str]) -> list[str]:
    return [part for word in arguments for part in word.split("=", 1)]


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
