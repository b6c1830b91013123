"""What a user's code reads while it works: files that it opens, and variables of the environment.

Whose code it is, the stack says: the nearest frame that is neither Python's own nor of an installed package.
What C code opens by itself is not seen.
"""

import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

HOME = Path(__file__).parents[2]
PACKAGES = ("corpus", "bayes", "lm", "testbed")
NO_DATA = {".py", ".pyc", ".so", ".pyi"}
_watches: list[set[str]] = []
AT_IMPORT: dict[str, set[str]] = {}
"""By module of a user's: what was read while it was imported."""


@contextmanager
def watch_reads() -> Iterator[set[str]]:
    """Yield the set of all that a user's code reads within: paths, and variables as $NAME."""
    _listen()
    seen: set[str] = set()
    _watches.append(seen)
    try:
        yield seen
    finally:
        _watches.remove(seen)


def is_of_user(file: str) -> bool:
    """Whether code of this file is neither this project's, nor Python's, nor an installed package's."""
    return _origin(file) == "user"


@cache
def _listen() -> None:
    sys.addaudithook(_hear)
    kind: Any = type(os.environ)
    look_up = kind.__getitem__

    def look_up_heard(environment: Any, name: str) -> str:
        if _watches and environment is os.environ and _is_users(sys._getframe(1)):
            _keep(f"${name}")
        return look_up(environment, name)

    kind.__getitem__ = look_up_heard


def _hear(event: str, arguments: tuple) -> None:
    if event != "open" or not _watches or not isinstance(arguments[0], str | bytes):
        return
    if arguments[2] & (os.O_WRONLY | os.O_RDWR):
        return
    path = Path(os.fsdecode(arguments[0])).absolute()
    is_system = path.parts[1:2] in (("proc",), ("sys",), ("dev",)) or path.suffix in NO_DATA
    if not is_system and _is_users(sys._getframe(1)):
        _keep(str(path))


def _keep(name: str) -> None:
    for seen in _watches:
        seen.add(name)


def _is_users(frame: FrameType | None) -> bool:
    while frame:
        origin = _origin(frame.f_code.co_filename)
        if origin in ("user", "project", "jax"):
            return origin == "user"
        frame = frame.f_back
    return False


@cache
def _origin(file: str) -> str:
    """Whose a file is: user, project, jax, or neither, which is nobody to ask."""
    if file.startswith("<"):
        return ""
    path = Path(file).resolve()
    if any(path.is_relative_to(HOME / package) for package in PACKAGES):
        return "project"
    if not {"site-packages", "dist-packages"}.isdisjoint(path.parts):
        is_jax = not {"jax", "jaxlib", "flax", "orbax"}.isdisjoint(path.parts)
        return "jax" if is_jax else ""
    return "" if path.is_relative_to(Path(sysconfig.get_path("stdlib")).resolve()) else "user"
