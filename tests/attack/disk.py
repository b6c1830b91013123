"""A disk that fails at one call: every call on files below a folder is counted, and one of them fails.

What Python itself opens, renames, links, lists, makes and removes is seen by an audit hook; besides it
`os.fsync`, and what Arrow reads and writes in C++.
"""

import errno
import os
import sys
import threading
from contextlib import contextmanager

import pyarrow.parquet as pq

EVENTS = ("open", "os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "os.listdir", "os.scandir")
"""Those of removing are of `shutil.rmtree` too."""
ARROW = ("write_table", "read_table", "read_schema")
_disks = []


class Disk:
    """A folder whose `fails`th call, from 1, ends in `error`; 0 for none. `calls` are named as they come."""

    def __init__(self, folder, fails=0, error=errno.EIO):
        self.folder, self.fails, self.error = os.path.realpath(folder), fails, error
        self.calls, self.lock = [], threading.Lock()

    def call(self, name, path):
        """Count a call; an int is a file that is open already."""
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")  # noqa: PTH115
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        path = os.path.abspath(os.fsdecode(path))  # noqa: PTH100
        if not path.startswith(self.folder):
            return
        with self.lock:
            self.calls.append(f"{name} {os.path.relpath(path, self.folder)}")
            is_failing = len(self.calls) == self.fails
        if is_failing:
            raise OSError(self.error, os.strerror(self.error), path)


def _hear(event, args):
    if _disks and event in EVENTS and args:
        _disks[-1].call(event, args[0])


sys.addaudithook(_hear)


@contextmanager
def failing_disk(folder, fails=0, error=errno.EIO):
    """Within it the folder's `fails`th call fails; yields the Disk."""
    disk = Disk(folder, fails, error)
    real = {name: getattr(pq, name) for name in ARROW}
    fsync = os.fsync

    def count_calls(name):
        def call(*args, **options):
            path = args[1] if name == "write_table" else args[0]
            disk.call(name, path)
            return real[name](*args, **options)

        return call

    def sync(handle):
        disk.call("fsync", handle)
        fsync(handle)

    _disks.append(disk)
    os.fsync = sync
    for name in ARROW:
        setattr(pq, name, count_calls(name))
    try:
        yield disk
    finally:
        _disks.remove(disk)
        os.fsync = fsync
        for name in ARROW:
            setattr(pq, name, real[name])
