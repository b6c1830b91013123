"""One command at a time works on a stage of a run, or several on parts of it that they share out.

Whoever only reads is never kept waiting. Importing this loads no NumPy and no JAX.
"""

import fcntl
import os
import platform
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


class BusyError(InputError):
    """Another process is at work on it."""


@contextmanager
def only_one(run: Run, stage: str) -> Iterator[None]:
    """Hold a stage of a run; the system takes the lock back when the process ends, however it ends.

    Raises:
        BusyError: another process holds it; the message says which.
    """
    with _hold_lock(run, stage, fcntl.LOCK_EX):
        yield


@contextmanager
def one_of_several(run: Run, stage: str, part: str) -> Iterator[None]:
    """Hold a part of a stage of a run, while other processes may hold other parts, and nobody the whole.

    Raises:
        BusyError: another process holds it, or the whole; the message says which.
    """
    with (
        _hold_lock(run, stage, fcntl.LOCK_SH),
        _hold_lock(run, f"{stage}.{part.replace('/', '-of-')}", fcntl.LOCK_EX),
    ):
        yield


@contextmanager
def _hold_lock(run: Run, stage: str, kind: int) -> Iterator[None]:
    path = run.root / ".locks" / f"{run.name}.{stage}"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Never truncated by opening it, since the one who holds it has written who it is.
    with path.open("a+", encoding="utf-8", errors="backslashreplace") as file:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            who = file.read().strip() or "another process"
            raise BusyError(
                f"{who} is at work on the {stage} stage of {run.folder}; wait until it has ended, or choose "
                "another --run"
            ) from None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()} ({shlex.join(sys.argv)})\n")
        file.flush()
        yield
