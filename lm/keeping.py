"""Arrays that took a while to work out, kept in the user's cache folder for whoever needs them again.

They are found by a hash of all that they depend on (`hash_causes`). What is damaged is worked out again, and
a folder that cannot be written only costs time.
"""

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors.numpy import load, save

import lm
from corpus.files import staged_file

Arrays = tuple[np.ndarray, ...]
Keep = Callable[[str, Callable[[], Arrays]], Arrays]
"""Given the name of some arrays and what works them out: the arrays, perhaps as they were kept."""


def keep_in(folder: Path, least: float = 1.0) -> Keep:
    """Keeps in a folder what takes at least so many seconds."""

    def keep(name: str, work_out: Callable[[], Arrays]) -> Arrays:
        path = folder / f"{name}.safetensors"
        kept = path.read_bytes() if path.exists() else b""
        digest, content = kept[:32], kept[32:]
        if kept and hashlib.sha256(content).digest() == digest:
            named = load(content)
            return tuple(named[str(i)] for i in range(len(named)))
        began = time.perf_counter()
        arrays = work_out()
        if time.perf_counter() - began >= least:
            content = save({str(i): np.ascontiguousarray(x) for i, x in enumerate(arrays)})
            with suppress(OSError), staged_file(path) as aside:
                aside.write_bytes(hashlib.sha256(content).digest() + content)
        return arrays

    return keep


def cache_folder(name: str) -> Path:
    """Where arrays of a kind are kept."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "credence-testbed" / name


def hash_causes(arrays: Any, *settings: Any) -> str:
    """A hash of arrays, settings, the code of this package, versions and device."""
    seen = hashlib.sha256()
    for path, leaf in jax.tree_util.tree_leaves_with_path(arrays):
        array = np.ascontiguousarray(leaf)
        seen.update(f"{jax.tree_util.keystr(path)} {array.dtype} {array.shape}".encode())
        seen.update(array.reshape(-1).view(np.uint8).data)
    device = jax.devices()[0].device_kind
    seen.update(repr((settings, _hash_code(), jax.__version__, np.__version__, device)).encode())
    return seen.hexdigest()[:32]


@cache
def _hash_code() -> str:
    sources = sorted(Path(lm.__path__[0]).rglob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
