"""A user's editor in a process of its own, named isolated:my_module:MyEditor.

The command never imports its module. It asks the process what fields the editor has, sends it the model, the
sample of the corpus and requests, and gets deltas back. The process is not told where the run lies, what the
agent believes, or what will be asked. It has the user's rights, so it can still open any file. An editor in
PyTorch that is named always works so, with "isolated:" or without.
"""

import atexit
from dataclasses import field, make_dataclass
from functools import cache
from typing import Any, Literal

from testbed.engine.isolation.process import EditorProcess
from testbed.own import look_in_working_folder

BUILD = "testbed.engine.isolation.editor:build_method"
PLAIN = {kind.__name__: kind for kind in (bool, int, float, str)}


@cache
def process_of(name: str) -> EditorProcess:
    """The process of my_module:MyEditor, the same for all its settings; it ends with this one."""
    process = EditorProcess(name)
    atexit.register(process.end)
    return process


@cache
def describe_isolated(name: str) -> tuple[Any, dict[str, Any]]:
    """The settings of my_module:MyEditor without any code of it, and what its process says of it.

    A function in PyTorch has none.

    Raises:
        InputError: no such editor, or one with a field that cannot be told to another process.
    """
    # Its source is hashed, though never imported.
    look_in_working_folder()
    said = process_of(name).ask("describe")
    module, _, class_name = said["path"].partition(":")
    namespace = {"address": name, "reads": tuple(said["reads"]), "is_torch": said["is_torch"]}
    return _build_class(class_name, said["about"], said["fields"], module, namespace)(), said


def _build_class(
    name: str, about: str, described: list[dict[str, Any]], module: str, namespace: dict[str, Any]
) -> type:
    """A frozen dataclass with the fields that a process described."""
    columns = []
    for one in described:
        if "fields" in one:
            kind = _build_class(one["class"], one["about"], one["fields"], module, {})
            columns.append((one["name"], kind, field(default_factory=kind)))
        else:
            default, metadata = _as_tuples(one["default"]), {"result": one["result"]}
            columns.append((one["name"], _read_type(one["type"]), field(default=default, metadata=metadata)))
    made = make_dataclass(name, columns, frozen=True, namespace=namespace)
    abouts = (f"    {one['name']}: {one['about']}" for one in described)
    made.__module__, made.__doc__ = module, "\n".join([f"{about}\n\nArgs:", *abouts])
    return made


def _read_type(described: Any) -> Any:
    """A type as `testbed.engine.isolation.worker` writes it."""
    if isinstance(described, str):
        return PLAIN[described]
    kind, inside = described
    if kind == "choice":
        return Literal[tuple(inside)]
    one: Any = _read_type(inside)
    return tuple[one, ...] if kind == "several" else one | None


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value
