"""Editors by name: the built-in ones, and a user's own as my_module:MyEditor."""

import hashlib
import importlib
import inspect
import sys
from pathlib import Path

from corpus.errors import InputError
from lm.editors.interface import Editor
from lm.editors.lora_down import LoraDown
from testbed.presets import EditSettings


def editor_named(settings: EditSettings) -> Editor:
    """The editor that the settings ask for.

    A name with a colon is imported from the user's own module, found from the working folder too. Only
    names given on the command line are ever imported, never one found in data.

    Raises:
        InputError: no such editor, module or class.
    """
    if settings.editor == "lora-down":
        return LoraDown(settings.lora_down)
    module, _, name = settings.editor.partition(":")
    if not (name.isidentifier() and all(part.isidentifier() for part in module.split("."))):
        raise InputError(f"unknown editor {settings.editor!r}; use lora-down or my_module:MyEditor")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        raise InputError(f"editor {settings.editor!r}: {error}") from None
    if not (callable(found) and hasattr(found, "prepare") and hasattr(found, "edit")):
        raise InputError(f"editor {settings.editor!r}: {module} has no class {name} with prepare and edit")
    try:
        editor: Editor = found()
        hash(editor)
    except TypeError as error:
        raise InputError(
            f"editor {settings.editor!r} ({error}): it should be a frozen dataclass with defaults"
        ) from None
    return editor


def identity(editor: Editor) -> dict[str, str]:
    """What an editor's results depend on: its hyper-parameters and the text of its module."""
    source = inspect.getsource(sys.modules[type(editor).__module__])
    return {"editor": repr(editor), "source": hashlib.sha256(source.encode()).hexdigest()[:12]}
