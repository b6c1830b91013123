"""What editors are called beside each other: their names, and settings in which those of one name differ."""

from collections.abc import Sequence
from typing import Any

from testbed.own import plain_name

TOLD = 3
"""Settings that a name may have; with more, a hash tells it apart."""


def lasting(settings: dict) -> dict:
    """Settings that are the same for every seed."""
    return {name: value for name, value in settings.items() if name != "seed"}


def names_of(configs: Sequence[dict], hashes: Sequence[str]) -> list[str]:
    """Names that tell editors apart: by a few settings in which those of one name differ, else by hash."""
    editors = [plain_name(c["editor"]) for c in configs]
    leaves = [_leaves(lasting(c["settings"]) | {"own": c["method"]["settings"]}) for c in configs]
    names = []
    for editor, own, short in zip(editors, leaves, hashes, strict=True):
        family = [other for name, other in zip(editors, leaves, strict=True) if name == editor]
        shared = [key for key in own if all(key in other for other in family)]
        differ = [key for key in shared if any(other[key] != own[key] for other in family)]
        told = [f"{key.rpartition('.')[2].replace('_', ' ')} {own[key]}" for key in differ]
        if len(family) == 1:
            names.append(editor)
        else:
            names.append(f"{editor}, {', '.join(told)}" if 0 < len(told) <= TOLD else f"{editor} {short}")
    doubled = {name for name in names if names.count(name) > 1}
    return [f"{name} {short}" if name in doubled else name for name, short in zip(names, hashes, strict=True)]


def _leaves(settings: dict, prefix: str = "") -> dict[str, Any]:
    leaves: dict[str, Any] = {}
    for key, value in settings.items():
        leaves |= _leaves(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return leaves
