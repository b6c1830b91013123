"""One command at a time works on a stage of a run, or several on parts of it that they share out.

What is locked is the folder that a stage writes, by its inode: neither a link to the run nor a file that
somebody removes lets a second command in. Whoever only reads is never kept waiting. Importing this loads
no NumPy and no JAX.
"""

import errno
import fcntl
import os
import platform
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from corpus.errors import InputError
from testbed.run.runs import Run


class Shard(NamedTuple):
    """Which part of a stage one of several processes does: every `of`-th piece, from the `number`-th on."""

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


ALL = Shard()


def shard_from(text: str) -> Shard:
    """The shard that is written so, such as 2/8; all edits where nothing is written.

    Raises:
        ValueError: it is not a number of a number that is at least as large.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})", text)
    if text and (not match or int(match[1]) > int(match[2])):
        raise ValueError(f"shard is which part of how many, from 1/8 to 8/8; {text!r} is not")
    return Shard(int(match[1]), int(match[2])) if match else ALL


HOLDER = ".holder"
"""In a folder that is locked: which process holds it, for the message of others."""
WRITE_ONLY = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW


class BusyError(InputError):
    """Another process is at work on it."""


@contextmanager
def only_one(run: Run, stage: str) -> Iterator[None]:
    """Hold a stage of a run; the system takes the lock back when the process ends, however it ends.

    Raises:
        BusyError: another process holds it; the message says which.
    """
    with _hold_lock(_folder_of(run, stage), f"the {stage} stage of {run.folder}", fcntl.LOCK_EX):
        yield


@contextmanager
def only_one_at(folder: Path) -> Iterator[None]:
    """Hold a folder that is none of a run's stages.

    Raises:
        BusyError: another process holds it; the message says which.
    """
    with _hold_lock(folder, str(folder), fcntl.LOCK_EX):
        yield


@contextmanager
def one_of_several(run: Run, stage: str, part: str) -> Iterator[None]:
    """Hold a part of a stage of a run, while other processes may hold other parts, and nobody the whole.

    Raises:
        BusyError: another process holds it, or the whole; the message says which.
    """
    folder, about = _folder_of(run, stage), f"the {stage} stage of {run.folder}"
    with (
        _hold_lock(folder, about, fcntl.LOCK_SH),
        _hold_lock(folder / f".{part.replace('/', '-of-')}", about, fcntl.LOCK_EX),
    ):
        yield


def _folder_of(run: Run, stage: str) -> Path:
    """The folder that a stage writes, which is what is locked: whatever name leads there, it is one."""
    folders = {"train": run.checkpoints.parent, "edit": run.edits, "report": run.report}
    return folders.get(stage, run.folder / "tuned" if stage == "tune" else run.folder)


@contextmanager
def _hold_lock(folder: Path, about: str, kind: int) -> Iterator[None]:
    """Lock a folder, which is made for it and removed again where nothing was written into it."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    handle, note = _lock_folder(folder, about, kind), folder / HOLDER
    try:
        text = f"process {os.getpid()} on {platform.node()} ({shlex.join(sys.argv)})\n"
        # Where nothing can be written, or a link stands in its place, others learn less.
        with (
            suppress(OSError),
            os.fdopen(os.open(note, WRITE_ONLY, 0o644), "w", errors="backslashreplace") as file,
        ):
            file.write(text)
        yield
    finally:
        with suppress(OSError):
            note.unlink(missing_ok=True)
            for path in missing:
                path.rmdir()
        os.close(handle)


def _lock_folder(folder: Path, about: str, kind: int) -> int:
    """A handle that holds the lock, of the folder that has this name when the lock is taken."""
    target, mode = folder, os.O_RDONLY
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(target, mode, 0o644)
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), target.stat()):
                return handle
        except BlockingIOError:
            os.close(handle)
            note = folder / HOLDER
            who = note.read_text(encoding="utf-8").strip() if note.is_file() and not note.is_symlink() else ""
            raise BusyError(
                f"{who or 'another process'} is at work on {about}; wait until it has ended, or choose "
                "another --run"
            ) from None
        except FileNotFoundError:
            # Its last holder has removed it in between.
            pass
        except OSError as error:
            if error.errno != errno.EBADF or target != folder:
                os.close(handle)
                raise
            # NFS locks only what is open for writing, which no folder is.
            target, mode = folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        os.close(handle)
