"""Folders and files that are whole or absent: written aside, checksummed, synced, renamed (DESIGN 8)."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corpus.errors import InputError

CHECKSUMS = "sha256.json"


@contextmanager
def staged_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder beside `folder` that becomes it when the block ends without an error.

    What is left of a killed attempt is cleared first; on an error the attempt is removed.
    """
    aside = partial_folder(folder)
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        yield aside
        files = sorted(p for p in aside.rglob("*") if p.is_file())
        sums = {str(p.relative_to(aside)): sha256(p) for p in files}
        (aside / CHECKSUMS).write_text(json.dumps(sums, indent=1), encoding="utf-8")
        for path in [*files, aside / CHECKSUMS]:
            _sync(path)
        os.replace(aside, folder)
        _sync(folder.parent)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def partial_folder(folder: Path) -> Path:
    """Where `staged_folder` prepares a folder."""
    return folder.with_name(f".{folder.name}.partial")


def verify_folder(folder: Path) -> None:
    """Check every file of a staged folder against the checksum written with it.

    Raises:
        InputError: the folder or a file is missing, or a file has changed.
    """
    for name, expected in read_json(folder / CHECKSUMS).items():
        path = folder / name
        if not path.is_file() or sha256(path) != expected:
            raise InputError(
                f"{path} is missing or differs from its checksum; delete {folder} and build it again"
            )


@contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` that replaces it when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.partial")
    try:
        yield aside
        _sync(aside)
        os.replace(aside, path)
        _sync(path.parent)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_json(path: Path, content: dict) -> None:
    """Write a small JSON file whole or not at all."""
    with staged_file(path) as aside:
        aside.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict:
    """Read a JSON object.

    Raises:
        InputError: it is missing, or holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} is missing; delete {path.parent} and build it again") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} is not readable as JSON ({error}); delete {path.parent} and build it again"
        ) from None
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no JSON object; delete {path.parent} and build it again")
    return content


def sha256(path: Path) -> str:
    """Checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(content: Any) -> str:
    """A short hash of something that JSON can hold."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
