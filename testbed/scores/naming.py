"""What editors are called beside each other: their names, and settings in which those of one name differ."""

from collections.abc import Sequence
from typing import Any

from testbed.own import plain_name

SETTINGS_IN_A_NAME = 3
"""Settings that a name may have; with more, a hash tells it apart."""


def settings_but_seed(settings: dict) -> dict:
    """Settings that are the same for every seed."""
    return {name: value for name, value in settings.items() if name != "seed"}


def name_editors(configs: Sequence[dict], hashes: Sequence[str]) -> list[str]:
    """Names that tell editors apart: by a few settings in which those of one name differ, else by hash."""
    editors = [plain_name(c["editor"]) for c in configs]
    leaves = [
        flatten_settings(settings_but_seed(c["settings"]) | {"own": c["method"]["settings"]}) for c in configs
    ]
    names = []
    for editor, settings, short in zip(editors, leaves, hashes, strict=True):
        family = [other for name, other in zip(editors, leaves, strict=True) if name == editor]
        shared = [key for key in settings if all(key in other for other in family)]
        differ = [key for key in shared if any(other[key] != settings[key] for other in family)]
        setting_texts = [f"{key.rpartition('.')[2].replace('_', ' ')} {settings[key]}" for key in differ]
        if len(family) == 1:
            names.append(editor)
        else:
            names.append(
                f"{editor}, {', '.join(setting_texts)}"
                if 0 < len(setting_texts) <= SETTINGS_IN_A_NAME
                else f"{editor} {short}"
            )
    doubled = {name for name in names if names.count(name) > 1}
    return [f"{name} {short}" if name in doubled else name for name, short in zip(names, hashes, strict=True)]


def flatten_settings(settings: dict, prefix: str = "") -> dict[str, Any]:
    """The leaves of nested settings by their dotted names."""
    leaves: dict[str, Any] = {}
    for key, value in settings.items():
        leaves |= (
            flatten_settings(value, f"{prefix}{key}.")
            if isinstance(value, dict)
            else {f"{prefix}{key}": value}
        )
    return leaves
