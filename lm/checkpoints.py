"""Checkpoints: Orbax writes the arrays aside, the folder is checksummed and then renamed into place."""

import shutil
from contextlib import nullcontext
from pathlib import Path

import jax
from orbax.checkpoint import v1 as ocp

from corpus.errors import InputError
from corpus.files import partial_folder, read_json, staged_folder, verify_folder, write_json
from lm.mesh import meet
from lm.training import TrainState

KEPT = 2


def save_checkpoint(folder: Path, state: TrainState, accuracy: float) -> Path:
    """Write the state as `folder/<step>`; then delete all but the newest checkpoints and the best.

    All processes of a cluster call it together, on one file system.

    Args:
        accuracy: generative accuracy at this step.

    Returns:
        The checkpoint's path.

    Raises:
        OSError: the files cannot be written; earlier checkpoints are as they were.
    """
    path, first = folder / f"{int(state.step):08d}", jax.process_index() == 0
    with staged_folder(path) if first else nullcontext(partial_folder(path)) as aside:
        meet(f"opened {path}")
        try:
            ocp.save_checkpointables((aside / "state").absolute(), state._asdict())
        except (ValueError, RuntimeError, MemoryError) as error:
            # TensorStore reports what the system said as one of these, the reason last.
            raise OSError(f"checkpoint {path} could not be written: {str(error).splitlines()[-1]}") from None
        meet(f"wrote {path}")
        if first:
            write_json(aside / "accuracy.json", {"accuracy": accuracy})
    if first:
        for old in set(_all(folder)[:-KEPT]) - {best_checkpoint(folder)}:
            shutil.rmtree(old)
    meet(f"finished {path}")
    return path


def latest_checkpoint(folder: Path) -> Path | None:
    """The newest whole checkpoint in a folder, or None."""
    found = _all(folder)
    return found[-1] if found else None


def best_checkpoint(folder: Path) -> Path | None:
    """The checkpoint with the highest accuracy, the newest of equals, or None."""
    return max(_all(folder), key=lambda path: (accuracy_of(path), path.name), default=None)


def accuracy_of(path: Path) -> float:
    """Generative accuracy of a checkpoint when it was written."""
    return read_json(path / "accuracy.json")["accuracy"]


def load_checkpoint(path: Path, like: TrainState) -> TrainState:
    """Read a checkpoint after verifying its checksums, onto whatever devices `like` lies.

    Args:
        like: shapes and shardings of a state of the same model and recipe; see `lm.training.abstract`.

    Raises:
        InputError: a corrupted file, or a checkpoint of another architecture.
    """
    verify_folder(path)
    stored = ocp.checkpointables_metadata((path / "state").absolute()).metadata
    _require_same_shapes(path, stored, like._asdict())
    return TrainState(**ocp.load_checkpointables((path / "state").absolute(), like._asdict()))


def _require_same_shapes(path: Path, stored: dict, wanted: dict) -> None:
    def shapes(tree: dict) -> dict[str, tuple[int, ...]]:
        leaves = jax.tree_util.tree_leaves_with_path(tree, is_leaf=lambda x: hasattr(x, "shape"))
        return {jax.tree_util.keystr(key): tuple(leaf.shape) for key, leaf in leaves}

    have, want = shapes(stored["params"]), shapes(wanted["params"])
    for key in sorted(have.keys() | want.keys()):
        if have.get(key) != want.get(key):
            raise InputError(
                f"{path} is a checkpoint of another configuration: parameter {key} has shape "
                f"{have.get(key)} there and {want.get(key)} here"
            )


def _all(folder: Path) -> list[Path]:
    return sorted(p for p in folder.glob("*") if p.name.isdigit()) if folder.is_dir() else []
