"""Which checkpoints a folder holds, and what had been measured when each was written; loads no JAX."""

from pathlib import Path

from corpus.errors import InputError
from corpus.files import advise_remake, read_json

MEASURED = "measured.json"
NEEDED = {"step", "accuracy"}


def all_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a folder, the oldest first."""
    return sorted(p for p in folder.glob("*") if p.name.isdigit()) if folder.is_dir() else []


def latest_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint in a folder, or None."""
    checkpoints = all_checkpoints(folder)
    return checkpoints[-1] if checkpoints else None


def best_checkpoint(folder: Path) -> Path | None:
    """The checkpoint with the highest accuracy, the newest of equals, or None."""
    checkpoints = all_checkpoints(folder)
    return max(
        checkpoints, key=lambda path: (read_measurements(path)[-1]["accuracy"], path.name), default=None
    )


def read_measurements(path: Path) -> list[dict]:
    """What had been measured when a checkpoint was written, the last line at its own step.

    Raises:
        InputError: the file is missing or damaged.
    """
    lines = read_json(path / MEASURED, path).get("lines")
    if not isinstance(lines, list) or not all(isinstance(x, dict) and x.keys() >= NEEDED for x in lines):
        raise InputError(f"{path / MEASURED} holds no measurements; {advise_remake(path)}")
    return lines
