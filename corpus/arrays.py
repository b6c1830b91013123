"""What many parts do with arrays: keep a dataclass of them on disk, count through ragged ranges."""

from dataclasses import fields
from pathlib import Path
from typing import IO, Any, TypeVar
from zipfile import BadZipFile

import numpy as np

from corpus.errors import InputError
from corpus.files import advise_remake

Holder = TypeVar("Holder")


def save_arrays(holder: Any, path: Path | IO[bytes]) -> None:
    """Write a dataclass of arrays as one .npz file, or into an open one."""
    np.savez(path, **{f.name: getattr(holder, f.name) for f in fields(holder)})


def load_arrays(kind: type[Holder], path: Path) -> Holder:
    """Read a dataclass of arrays that `save_arrays` wrote.

    Raises:
        InputError: the file holds something else.
    """
    arrays = read_arrays(path)
    if arrays.keys() != {f.name for f in fields(kind)}:  # type: ignore[arg-type]
        raise InputError(
            f"{path} holds {', '.join(arrays)}, of another version; {advise_remake(path.parent)}"
        )
    return kind(**arrays)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name; nothing in it is run.

    Raises:
        InputError: it holds something else, or says sizes that it has not.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except MemoryError as error:
        raise InputError(
            f"{path} needs more memory than there is ({error!s:.200}); if that cannot be, it is damaged: "
            f"{advise_remake(path.parent)}"
        ) from None
    except (ValueError, TypeError, KeyError, EOFError, OverflowError, BadZipFile) as error:
        raise InputError(
            f"{path} is not a file of arrays ({error!s:.200}); {advise_remake(path.parent)}"
        ) from None


def concatenate_ranges(starts: np.ndarray | int, sizes: np.ndarray) -> np.ndarray:
    """The integers of [start, start + size) for each pair, end to end."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)


def rank_values(values: np.ndarray) -> np.ndarray:
    """int32[n]: the place of each value among the different ones, ascending."""
    new = values[1:] != values[:-1]
    if (values[1:] >= values[:-1]).all():
        return np.append(np.int32(0), np.cumsum(new, dtype=np.int32))[: len(values)]
    return np.unique(values, return_inverse=True)[1].astype(np.int32)


def find_modes(group: np.ndarray, value: np.ndarray, groups: int) -> np.ndarray:
    """int64[groups]: the value that each group has most often (the lower of equals), -1 where it has none.

    Args:
        group, value: int[n], values not negative.
    """
    cells, count = np.unique(np.column_stack([group, value]), axis=0, return_counts=True)
    order = np.lexsort((cells[:, 1], -count, cells[:, 0]))
    first = order[np.unique(cells[order, 0], return_index=True)[1]]
    modes = np.full(groups, -1)
    modes[cells[first, 0]] = cells[first, 1]
    return modes
