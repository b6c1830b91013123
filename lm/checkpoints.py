"""Checkpoints: Orbax writes the arrays aside, the folder is checksummed and then renamed into place."""

import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import jax
import numpy as np
from orbax.checkpoint import v1 as ocp

from corpus.errors import InputError
from corpus.files import advise_remake, partial_folder, staged_folder, verify_folder, write_json
from corpus.memory import is_lack_of_memory
from lm.checkpoint_files import MEASURED, all_checkpoints, best_checkpoint
from lm.cluster import meet_at
from lm.training import TrainState

KEPT = 2


def save_checkpoint(
    folder: Path, state: TrainState, lines: Sequence[dict], made: dict[str, Any] | None = None
) -> Path:
    """Write the state as `folder/<step>`; then delete all but the newest checkpoints and the best.

    All processes of a cluster call it together, on one file system.

    Args:
        lines: everything measured so far, so that a training taken up here knows its past.
        made: how the training was set up, as data; kept beside the lines.

    Returns:
        The checkpoint's path.

    Raises:
        OSError: the files cannot be written; earlier checkpoints are as they were.
    """
    path, first = folder / f"{int(state.step):08d}", jax.process_index() == 0
    with staged_folder(path) if first else nullcontext(partial_folder(path)) as aside:
        meet_at(f"opened {path}")
        try:
            ocp.save_checkpointables((aside / "state").absolute(), state._asdict())
        except (ValueError, RuntimeError, MemoryError) as error:
            # TensorStore reports what the system said as one of these, the reason last.
            raise OSError(f"checkpoint {path} could not be written: {_describe_reason(error)}") from None
        meet_at(f"wrote {path}")
        # Wherever one process reads, Orbax waits for all of them.
        # Read back what was written: Orbax may say nothing of what failed below it.
        saved = state._asdict()
        why = f"checkpoint {path} could not be written: it reads back otherwise than it was"
        try:
            there = ocp.load_checkpointables((aside / "state").absolute(), jax.tree.map(_as_numpy, saved))
        except Exception as error:
            raise OSError(f"{why} ({_describe_reason(_find_cause(error))})") from None
        if not all(jax.tree.leaves(jax.tree.map(_is_same, saved, there))):
            raise OSError(why)
        meet_at(f"read {path}")
        if first:
            write_json(aside / MEASURED, {"lines": list(lines), "made": made or {}})
    if first:
        for old in set(all_checkpoints(folder)[:-KEPT]) - {best_checkpoint(folder)}:
            shutil.rmtree(old)
    meet_at(f"finished {path}")
    return path


def _as_numpy(array: Any) -> np.ndarray:
    return np.empty(array.shape, array.dtype)


def _is_same(array: Any, there: np.ndarray) -> bool:
    return not getattr(array, "is_fully_addressable", True) or np.asarray(array).tobytes() == there.tobytes()


def load_checkpoint(path: Path, like: TrainState) -> TrainState:
    """Read a checkpoint after verifying its checksums, onto whatever devices `like` lies.

    Args:
        like: shapes and shardings of a state of the same model and recipe; see `lm.training.abstract_state`.

    Raises:
        InputError: a corrupted file, or a checkpoint of another architecture or optimiser.
        OSError: a file cannot be read.
    """
    verify_folder(path)
    state = (path / "state").absolute()
    try:
        metadata = ocp.checkpointables_metadata(state).metadata
        if unread := [name for name, one in metadata.items() if one is None]:
            # Orbax says nothing of what it could not read of files that are whole.
            raise InputError(
                f"{path}: {', '.join(unread)} could not be read. There was too little memory, or files were "
                "changed and their checksums with them; try again with more memory"
            )
        _require_same_shapes(path, metadata, like._asdict())
        return TrainState(**ocp.load_checkpointables(state, like._asdict()))
    except (InputError, OSError):
        raise
    except Exception as error:
        # Orbax says of whatever goes wrong below it that it has no handler, and tells the cause behind.
        cause = _find_cause(error)
        if isinstance(cause, OSError) or is_lack_of_memory(cause):
            raise cause from None
        if "[os_error_code" in str(cause):
            raise OSError(f"{path} could not be read: {_describe_reason(cause)}") from None
        raise InputError(
            f"{path} is no checkpoint that can be read ({_describe_reason(cause)}); {advise_remake(path)}"
        ) from None


def _find_cause(error: BaseException) -> BaseException:
    """The first of the errors that led to one."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return error


def _describe_reason(error: BaseException) -> str:
    """The last line of an error, without the settings of TensorStore that stand behind it."""
    return (str(error).splitlines() or [type(error).__name__])[-1].partition(" [tensorstore_spec")[0]


def _require_same_shapes(path: Path, metadata: dict, template: dict) -> None:
    def shapes(tree: dict) -> dict[str, tuple[int, ...]]:
        leaves = jax.tree_util.tree_leaves_with_path(tree, is_leaf=lambda x: hasattr(x, "shape"))
        # Orbax stores tuples and records as lists and dicts, whose keys only look the same in this form.
        return {jax.tree_util.keystr(key, simple=True, separator="."): tuple(x.shape) for key, x in leaves}

    have, want = shapes(metadata), shapes(template)
    # Parameters say more than the optimiser's state, and sort behind it.
    for key in sorted(have.keys() | want.keys(), reverse=True):
        if have.get(key) != want.get(key):
            raise InputError(
                f"{path} is a checkpoint of another configuration: {key} has shape {have.get(key)} there "
                f"and {want.get(key)} here; choose another --run, or move {path.parent} away"
            )
