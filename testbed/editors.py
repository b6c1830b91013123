"""Editors by name: the built-in ones, and a user's own as my_module:MyEditor."""

import importlib
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
    module, colon, name = settings.editor.partition(":")
    if not colon:
        raise InputError(f"unknown editor {settings.editor!r}; use lora-down or my_module:MyEditor")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module), name)()
    except ModuleNotFoundError as error:
        raise InputError(f"editor {settings.editor!r}: {error}") from None
    except AttributeError:
        raise InputError(f"editor {settings.editor!r}: the module {module} has no {name}") from None
