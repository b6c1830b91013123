"""What a user's code touches while it works: files that it opens or removes, variables that it looks up.

Whose code it is, the stack says: the nearest frame that is neither Python's own nor of an installed package.
Variables that a package looks up, and files that it opens while it is imported, are nobody's. What C code
opens by itself is not seen.
"""

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.util import source_from_cache
from pathlib import Path
from types import FrameType
from typing import Any

HOME = Path(__file__).parents[2]
PACKAGES = ("corpus", "bayes", "lm", "testbed")
NO_DATA = {".so", ".pyi"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.truncate", "os.link", "os.symlink")
_watches: list["Touched"] = []
AT_IMPORT: dict[str, set[str]] = {}
"""By module of a user's: what was read while it was imported."""


@dataclass(eq=False)
class Touched:
    """What a user's code has read, paths and variables as $NAME, and the paths that it has changed."""

    read: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)


@contextmanager
def watch_files() -> Iterator[Touched]:
    """Yield what a user's code touches within."""
    listen()
    touched = Touched()
    _watches.append(touched)
    try:
        yield touched
    finally:
        _watches.remove(touched)


@cache
def listen() -> None:
    """Begin to hear of files and variables, once for a process."""
    sys.addaudithook(_hear)
    kind: Any = type(os.environ)
    look_up = kind.__getitem__

    def look_up_heard(environment: Any, name: str) -> str:
        if _watches and environment is os.environ and _is_users(sys._getframe(1), through_packages=False):
            _keep("read", f"${name}")
        return look_up(environment, name)

    kind.__getitem__ = look_up_heard


def _hear(event: str, arguments: tuple) -> None:
    if not _watches or not (event == "open" or event in CHANGES):
        return
    if not isinstance(arguments[0], str | bytes | os.PathLike):
        return
    is_change = event != "open" or bool(arguments[2] & WRITES)
    path = Path(os.fsdecode(arguments[0])).absolute()
    if path.parts[1:2] in (("proc",), ("sys",), ("dev",)):
        return
    if path.suffix == ".pyc" and path.name.count(".") in (2, 3):
        path = Path(source_from_cache(str(path)))
    if path.suffix in NO_DATA or (path.suffix == ".py" and _origin(str(path)) != "user"):
        return
    if _is_users(sys._getframe(1)):
        _keep("changed" if is_change else "read", str(path))


def report_touched(read: Iterable[str], changed: Iterable[str]) -> None:
    """Take what a user's code has touched in another process for what it touched here."""
    for what, names in (("read", read), ("changed", changed)):
        for name in names:
            _keep(what, name)


def _keep(what: str, name: str) -> None:
    for touched in _watches:
        getattr(touched, what).add(name)


def _is_users(frame: FrameType | None, through_packages: bool = True) -> bool:
    while frame:
        origin = _origin(frame.f_code.co_filename)
        if origin in ("user", "project", "jax"):
            return origin == "user"
        if origin == "package" and not through_packages:
            return False
        if frame.f_code.co_name == "<module>" and not frame.f_code.co_filename.startswith("<"):
            # A package that is being imported: what it looks up meanwhile is its own affair.
            return False
        frame = frame.f_back
    return False


@cache
def _origin(file: str) -> str:
    """Whose a file is: user, project, jax, package (another one), or Python's, which is nobody to ask."""
    if file.startswith("<"):
        return ""
    path = Path(file).resolve()
    if any(path.is_relative_to(HOME / package) for package in PACKAGES):
        return "project"
    if not {"site-packages", "dist-packages"}.isdisjoint(path.parts):
        is_jax = not {"jax", "jaxlib", "flax", "orbax"}.isdisjoint(path.parts)
        return "jax" if is_jax else "package"
    return "" if path.is_relative_to(Path(sysconfig.get_path("stdlib")).resolve()) else "user"
