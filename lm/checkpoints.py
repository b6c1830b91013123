"""Checkpoints: Orbax writes the arrays aside, the folder is checksummed and then renamed into place."""

import shutil
from pathlib import Path

import jax
from orbax.checkpoint import v1 as ocp

from corpus.errors import InputError
from corpus.files import staged_folder, verify_folder
from lm.training import TrainState

KEPT = 2


def save_checkpoint(folder: Path, state: TrainState) -> Path:
    """Write the state as `folder/<step>`, then delete all but the newest checkpoints; returns its path.

    Raises:
        OSError: the files cannot be written; earlier checkpoints are as they were.
    """
    path = folder / f"{int(state.step):08d}"
    with staged_folder(path) as aside:
        try:
            ocp.save_checkpointables((aside / "state").absolute(), state._asdict())
        except (ValueError, RuntimeError, MemoryError) as error:
            # TensorStore reports what the system said as one of these, the reason last.
            raise OSError(f"checkpoint {path} could not be written: {str(error).splitlines()[-1]}") from None
    for old in _all(folder)[:-KEPT]:
        shutil.rmtree(old)
    return path


def latest_checkpoint(folder: Path) -> Path | None:
    """The newest whole checkpoint in a folder, or None."""
    found = _all(folder)
    return found[-1] if found else None


def load_checkpoint(path: Path, like: TrainState) -> TrainState:
    """Read a checkpoint after verifying its checksums.

    Args:
        like: a state of the same model and recipe (arrays or `jax.ShapeDtypeStruct`s).

    Raises:
        InputError: a corrupted file, or a checkpoint of another architecture.
    """
    verify_folder(path)
    place = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    abstract = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=place), like._asdict())
    stored = ocp.checkpointables_metadata((path / "state").absolute()).metadata
    _require_same_shapes(path, stored, abstract)
    return TrainState(**ocp.load_checkpointables((path / "state").absolute(), abstract))


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
