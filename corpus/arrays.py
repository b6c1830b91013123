"""What many parts do with arrays: keep a dataclass of them on disk, count through ragged ranges."""

from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Holder = TypeVar("Holder")


def save_arrays(holder: Any, path: Path) -> None:
    """Write a dataclass of arrays as one .npz file."""
    np.savez(path, **{f.name: getattr(holder, f.name) for f in fields(holder)})


def load_arrays(kind: type[Holder], path: Path) -> Holder:
    """Read a dataclass of arrays that `save_arrays` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        return kind(**dict(arrays))


def ranges(starts: np.ndarray | int, sizes: np.ndarray) -> np.ndarray:
    """The integers of [start, start + size) for each pair, end to end."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)
